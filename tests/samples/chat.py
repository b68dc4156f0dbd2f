"""A made-up chat as somebody keeps it in a Markdown file."""

from __future__ import annotations

from pathlib import Path

TEXT = """\
# Hyacinths on the balcony

Copied from the browser, January 2026.

## User (2026-01-02 10:00)

When do I plant hyacinths?
My balcony faces north. 🌱

## Claude (2026-01-02 10:01)

Plant them in **October**, about 10 cm deep:

```text
User: this line is part of the answer
```

A north-facing balcony is enough.

## User (2026-01-02 10:05)

And in pots?

## Claude (2026-01-02 10:06)

Yes. Zürich's frost does them no harm; \u201cwrap the pot\u201d below -10 °C.
"""


def write(folder: Path) -> Path:
    """Write the chat into a folder and return its path."""
    path = folder / "hyacinths.md"
    path.write_bytes(TEXT.encode())
    return path
