"""A made-up history of Aider: two sessions, prompts of several lines, code with marks in it, odd characters."""

from __future__ import annotations

from pathlib import Path

FIRST, SECOND = "2026-05-06 07:08:09", "2026-05-06 08:00:00"
HISTORY = f"""
# aider chat started at {FIRST}

> Aider v0.80.0  
> Git repo: .git with 3 files  

#### /add oven.py  

> Added oven.py to the chat  

#### Why does the oven beep?  
####   
#### # It began yesterday 🍞  

It beeps since the door is open:

```python
#### not a prompt
> not printed
# aider chat started at 2020-01-01 00:00:00
print("beep")
```


Close it.

> Tokens: 1.2k sent, 300 received.  

# aider chat started at {SECOND}

> Aider v0.80.0  

#### Thanks!  

You are welcome.

"""  # noqa: W291


def write(folder: Path) -> Path:
    """Write the history where Aider keeps it and return its path."""
    path = folder / ".aider.chat.history.md"
    path.write_bytes(HISTORY.encode())
    return path
