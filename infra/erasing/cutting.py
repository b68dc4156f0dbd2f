"""Cutting: what is kept of a source's contents when texts, or secrets, are taken out of all its revisions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from chronofile.domain.decoding import decode
from chronofile.domain.documents import DOCUMENTS, Extracted, NotExtracted
from chronofile.domain.erasure import MARK, without_texts
from chronofile.domain.errors import ChronofileError
from chronofile.domain.events import Event, RevisionCaptured
from chronofile.domain.formats import FORMATS, holds_json
from chronofile.domain.ports import Extractor
from chronofile.domain.turns import State, Turn
from chronofile.infra.erasing.quoting import Names, Unquoted, named_in
from chronofile.ingest import documents
from chronofile.ingest.cleaning import (
    ERASED,
    FIELDS_KEPT,
    Remove,
    cut_out,
    decoded_line,
    encoded_line,
    forms,
    literal,
    literals,
    rewritten,
)
from chronofile.ingest.redaction import Redacted, redact

PIECE_CHARS_MIN = 4
"""A shorter piece of a text that is spread over several strings stays: it tells nothing."""
VARIANT_LEVELS = 2
"""How often a text may have been written as JSON within the string that it stands in."""
SPAN_CHARS_MIN = 12
"""A shorter piece is not looked for when its source is captured again: it would be found too often."""

Read = Callable[[str], bytes | None]
"""Returns the content of a key, None where it was erased."""


class NotCutOut(ChronofileError):
    """The passage cannot be taken out of one of the sources that hold it; nothing was erased. Erase that source:"""


@dataclass(slots=True)
class Cut:
    """What cutting came to: the cleaned content of each key that held something, and the texts that were taken out."""

    cleaned: dict[str, Redacted] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)

    @property
    def places(self) -> int:
        return sum(sum(found.counts.values()) for found in self.cleaned.values())


def cut_texts(
    source: str,
    events: Sequence[Event],
    texts: Collection[str],
    read: Read,
    names: Names = frozenset(),
    extractor: Extractor | None = None,
) -> Cut:
    """Take texts out of every revision of a source, and our quotations of what is known by `names`.

    `source` is how the source is called where that fails. Raises NotCutOut where a text would still be read from what
    is left, and where a document cannot be read: of one that holds a text only its own text is kept.
    """
    wanted = {variant for text in texts for variant in variants(text)}
    cut = Cut()
    unquoted = Unquoted(names)

    def remove(text: str) -> tuple[str, int]:
        return without_texts(text, wanted)

    for chain in chains(events):
        try:
            _cut_chain(chain, remove, unquoted, read, cut, extractor)
        except NotExtracted as failure:
            raise NotCutOut(source) from failure
        harder = iter((_without_pieces(texts, cut.removed), _without_words(remove, cut.removed)))
        while left := _turns_with(chain, remove, read, cut):
            if (change := next(harder, None)) is None:
                raise NotCutOut(source)
            _cut_turns(chain, left, change, read, cut)
    cut.removed |= wanted | unquoted.removed if cut.cleaned else set()
    return cut


def cut_secrets(events: Sequence[Event], name: str, read: Read, extractor: Extractor | None = None) -> Cut:
    """Take secrets out of every revision of a source; `name` is its file's name. Documents are left without extractor."""
    cut = Cut()
    for event in {e.content: e for e in events if isinstance(e, RevisionCaptured)}.values():
        content = read(event.content)
        if content is None:
            continue
        if event.format in DOCUMENTS and extractor is not None:
            found = _redacted_document(content, event, name, extractor)
        else:
            found = redact(content, encoding=event.encoding, records=holds_json(event.format), name=name)
        if found.counts:
            cut.cleaned[event.content] = found
    return cut


def _redacted_document(content: bytes, event: RevisionCaptured, name: str, extractor: Extractor) -> Redacted:
    def extract(document: bytes) -> Extracted:
        return extractor.extract(document, event.format)

    try:
        return documents.without_secrets(content, event.format, extract, encoding=event.encoding, name=name)
    except NotExtracted:
        # Whatever it says is in no passage either.
        return Redacted(content, {})


def chains(events: Iterable[Event]) -> list[list[RevisionCaptured]]:
    """Return the source's revisions: each a whole and the ranges that continue it."""
    found: list[list[RevisionCaptured]] = []
    for event in events:
        if isinstance(event, RevisionCaptured):
            if event.start == 0 or not found:
                found.append([])
            found[-1].append(event)
    return found


def variants(text: str) -> set[str]:
    """Return a text as it may stand in a string: as it is, and as JSON within it, once and twice."""
    return forms(text, VARIANT_LEVELS)


def _cut_chain(
    chain: Sequence[RevisionCaptured],
    remove: Remove,
    unquoted: Unquoted,
    read: Read,
    cut: Cut,
    extractor: Extractor | None,
) -> None:
    def remove_both(text: str) -> tuple[str, int]:
        left, quoted = unquoted.string(text)
        left, count = remove(left)
        return left, quoted + count

    for event in chain:
        if event.content in cut.cleaned or (content := read(event.content)) is None:
            continue
        if event.format in DOCUMENTS:
            text, count = remove_both(_text_of(content, event, extractor))
            if count:
                cut.cleaned[event.content] = Redacted(text.encode(), {ERASED: count}, is_text=True)
            continue
        records = holds_json(event.format)
        content, quoted = _unquoted_records(content, unquoted) if records else (content, 0)
        found = cut_out(content, remove_both, encoding=event.encoding, records=records)
        if not records:
            found = _decoded(found, event.encoding, remove_both)
        if count := quoted + found.counts.get(ERASED, 0):
            cut.cleaned[event.content] = Redacted(found.content, {ERASED: count})


def _text_of(content: bytes, event: RevisionCaptured, extractor: Extractor | None) -> str:
    """Return a document's text. Raises NotExtracted."""
    if extractor is None:
        raise NotExtracted("documents-extra")
    return extractor.extract(content, event.format).text


def _unquoted_records(content: bytes, unquoted: Unquoted) -> tuple[bytes, int]:
    """Take quotations out of answers that are no strings: clients keep them as objects of a record."""
    if not unquoted.names or unquoted.names.isdisjoint(named_in(content)):
        return content, 0
    lines, total = content.split(b"\n"), 0
    for number, line in enumerate(lines):
        left, count = unquoted.record(decoded_line(line))
        if count:
            lines[number], total = encoded_line(left), total + count
    return b"\n".join(lines) if total else content, total


def _decoded(found: Redacted, encoding: str, remove: Remove) -> Redacted:
    """Take out also what can only be seen once bytes that are invalid have become U+FFFD, as passages have it."""
    text, _ = decode(found.content, encoding)
    cleaned, count = remove(text)
    if not count:
        return found
    return Redacted(cleaned.encode(encoding, "replace"), {ERASED: count + found.counts.get(ERASED, 0)})


def _turns_with(chain: Sequence[RevisionCaptured], remove: Remove, read: Read, cut: Cut) -> list[Turn]:
    """Return the turns of a revision as it would be read now that still hold one of the texts."""
    state: State | None = None
    left: list[Turn] = []
    for event in chain:
        fold = FORMATS.get(event.format)
        content = cut.cleaned[event.content].content if event.content in cut.cleaned else read(event.content)
        if fold is None or content is None:
            continue
        lines = decode(content, event.encoding)[0].removesuffix("\n").split("\n")
        folded = fold.fold(state, lines)
        state = folded.state
        left += [turn for turn in folded.turns if remove(turn.text)[1]]
    return left


Change = Callable[[str | None, str], str]
"""Returns what is left of a string, given the name of the field that it stands in."""


def _cut_turns(
    chain: Sequence[RevisionCaptured], left: Sequence[Turn], change: Change, read: Read, cut: Cut
) -> None:
    """Change the strings of the records that turns are made of."""
    marks = {literal(native) for turn in left for native in turn.native_ids}
    for event in chain:
        before = cut.cleaned.get(event.content)
        content = before.content if before else read(event.content)
        if content is None:
            continue
        lines, count = content.split(b"\n"), 0
        for number, line in enumerate(lines):
            text = decoded_line(line)
            if not any(mark in text for mark in marks):
                continue
            changes = [
                (start, end, changed)
                for start, end, name, said in literals(text)
                if (changed := change(name, said)) != said
            ]
            if changes:
                lines[number] = encoded_line(rewritten(text, changes))
                count += len(changes)
        if count:
            earlier = before.counts.get(ERASED, 0) if before else 0
            cut.cleaned[event.content] = Redacted(b"\n".join(lines), {ERASED: earlier + count})


def _without_pieces(texts: Collection[str], removed: set[str]) -> Change:
    """Return what takes out of a string what it shares with a text that is put together from several."""

    def change(name: str | None, said: str) -> str:
        if name in FIELDS_KEPT:
            return said
        shown = literal(said)[1:-1]
        for text in texts:
            if len(said.strip()) >= PIECE_CHARS_MIN and (said.strip() in text or shown in text):
                return _marked(said, said.strip(), removed)
            if end := _shared(said, text):
                said = _marked(said, said[-end:], removed)
            if start := _shared(text, said):
                said = _marked(said, said[:start], removed)
        return said

    return change


def _without_words(remove: Remove, removed: set[str]) -> Change:
    """Return what takes all out of a string: the last resort. What a record is read by goes only if it says the text."""

    def change(name: str | None, said: str) -> str:
        is_kept = name in FIELDS_KEPT and not remove(said)[1]
        return said if is_kept or not said.strip() or said == MARK else _marked(said, said, removed)

    return change


def _marked(said: str, piece: str, removed: set[str]) -> str:
    if len(piece) >= SPAN_CHARS_MIN:
        removed.add(piece)
    return said.replace(piece, MARK)


def _shared(first: str, second: str) -> int:
    """Return how many characters the end of the one and the beginning of the other have in common, 0 for few."""
    for size in range(min(len(first), len(second)), PIECE_CHARS_MIN - 1, -1):
        if first.endswith(second[:size]):
            return size
    return 0


def counts_of(cut: Cut, event: RevisionCaptured) -> Mapping[str, int]:
    """Return what was taken out of a range in all: before, and now."""
    now = cut.cleaned[event.content].counts if event.content in cut.cleaned else {}
    return {name: event.redactions.get(name, 0) + now.get(name, 0) for name in {*event.redactions, *now}}
