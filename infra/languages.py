"""Languages: the natural language that a text is in."""

from __future__ import annotations

import re
from threading import Lock
from typing import Any

LETTERS_MIN = 40
LETTERS_MIN_OF_SYLLABLES = 10
"""Scripts in which a sign stands for a syllable or a word say more with fewer of them."""
CONFIDENCE_MIN = 0.8
CODE_CHARS = 2

_LETTERS = re.compile(r"[^\W\d_]")
_SYLLABLES = re.compile(r"[\u0e00-\u0e7f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_NO_WORDS = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`|\w+://\S+|\S*[/\\_@=<>{}]\S*", re.DOTALL)


class Languages:
    """Tells languages; its model takes .4 s and 100 MB when it is asked for the first time."""

    def __init__(self) -> None:
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
        language, confidence = self._loaded().classify(said)
        # The three letters of the others are of ISO 639-3.
        is_told = confidence >= CONFIDENCE_MIN and len(language) == CODE_CHARS
        return str(language) if is_told else None

    def _loaded(self) -> Any:
        with self._lock:
            if self._identifier is None:
                from py3langid.langid import MODEL_FILE, LanguageIdentifier

                self._identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
            return self._identifier
