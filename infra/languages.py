"""Languages: the natural language that a text is in."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from threading import Lock
from typing import Any

FOLDER = "cache"
"""Where in a home the unpacked model lies; it can be removed at any time."""
LETTERS_MIN = 40
LETTERS_MIN_OF_SYLLABLES = 10
"""Scripts in which a sign stands for a syllable or a word say more with fewer of them."""
CONFIDENCE_MIN = 0.8
CODE_CHARS = 2
WRITTEN_AS = {"wuu": "zh", "yue": "zh"}
"""Languages that the model tells apart and that are mostly written as another: what it gives them is the other's."""

_LETTERS = re.compile(r"[^\W\d_]")
_SYLLABLES = re.compile(r"[\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# A word is looked at once, from its beginning: text without spaces is one word of any length.
_NO_WORDS = re.compile(
    r"```.*?(?:```|\Z)|`[^`\n]*`|(?<![^\s`])[^\s`/\\_@=<>{}]*+[/\\_@=<>{}][^\s`]*", re.DOTALL
)


class Languages:
    """Tells languages; its model is loaded when it is asked for the first time.

    In `folder` the model is kept unpacked, 68 MB, to be mapped: .03 s and 15 MB. Without a folder it is unpacked by
    each process: .5 s and 75 MB.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._lock = Lock()
        self._identifier: Any = None

    def __call__(self, text: str) -> str | None:
        """Return the language of a text as ISO 639-1 has it; None where it is too short or none stands out.

        Code between backticks, addresses and paths count for nothing.
        """
        said = _NO_WORDS.sub(" ", text)
        if (
            len(_LETTERS.findall(said)) < LETTERS_MIN
            and len(_SYLLABLES.findall(said)) < LETTERS_MIN_OF_SYLLABLES
        ):
            return None
        likely: Counter[str] = Counter()
        for language, probability in self._loaded().rank(said):
            likely[WRITTEN_AS.get(str(language), str(language))] += probability
        ((language, confidence),) = likely.most_common(1)
        # The three letters of the others are of ISO 639-3.
        is_told = confidence >= CONFIDENCE_MIN and len(language) == CODE_CHARS
        return language if is_told else None

    def _loaded(self) -> Any:
        with self._lock:
            if self._identifier is None:
                from chronofile.infra.language_model import mapped, unpacked

                self._identifier = (self._folder and mapped(self._folder)) or unpacked()
            return self._identifier
