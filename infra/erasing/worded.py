"""Worded: a conversation that somebody wrote down as text, without the lines that make up a text."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chronofile.domain.decoding import decode
from chronofile.domain.erasure import MARK
from chronofile.infra.erasing.pieces import SPAN_CHARS_MIN


def without_lines(
    content: bytes, encoding: str, texts: Collection[str], removed: set[str]
) -> tuple[bytes, int]:
    """Return a content without the lines that say a text one after the other, and how many were cut.

    A reader leaves out marks at the beginning of lines, white space, and lines with nothing else. What is taken out is
    added to `removed`.
    """
    lines = decode(content, encoding)[0].split("\n")
    bare = [(number, line.strip()) for number, line in enumerate(lines) if any(map(str.isalnum, line))]
    cuts: set[tuple[int, str]] = set()
    for text in texts:
        wanted = [line.strip() for line in text.split("\n") if any(map(str.isalnum, line))]
        for at in range(len(bare) - len(wanted) + 1):
            if wanted and _are_there([line for _, line in bare[at : at + len(wanted)]], wanted):
                cuts |= {(bare[at + place][0], said) for place, said in enumerate(wanted)}
    for number, said in cuts:
        lines[number] = lines[number].replace(said, MARK)
        if len(said) >= SPAN_CHARS_MIN:
            removed.add(said)
    return ("\n".join(lines).encode(encoding, "replace"), len(cuts)) if cuts else (content, 0)


def _are_there(lines: Sequence[str], wanted: Sequence[str]) -> bool:
    """Tell whether lines say what is wanted; between the first and the last whole lines, but for marks before them."""
    last = len(wanted) - 1
    return all(
        said in line and (place in (0, last) or line.endswith(said))
        for place, (line, said) in enumerate(zip(lines, wanted, strict=True))
    )
