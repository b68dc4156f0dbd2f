"""Cutting: what is kept of a source's contents when texts, or secrets, are taken out of all its revisions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from chronofile.domain.decoding import decode
from chronofile.domain.documents import DOCUMENTS, Extracted, NotExtracted
from chronofile.domain.erasure import without_texts
from chronofile.domain.errors import ChronofileError
from chronofile.domain.events import Event, RevisionCaptured
from chronofile.domain.formats import holds_json, slack
from chronofile.domain.formats.slack.markup import escaped
from chronofile.domain.ports import Extractor
from chronofile.infra.erasing.chains import TITLE, Chain, Cut, Read, chains
from chronofile.infra.erasing.harder import cut_harder
from chronofile.infra.erasing.quoting import Names, Unquoted, named_in
from chronofile.infra.erasing.suspects import Suspects
from chronofile.ingest import documents
from chronofile.ingest.cleaning import (
    ERASED,
    Remove,
    cut_out,
    decoded_line,
    encoded_line,
    forms,
)
from chronofile.ingest.redaction import Redacted, redact

VARIANT_LEVELS = 2
"""How often a text may have been written as JSON within the string that it stands in."""


class NotCutOut(ChronofileError):
    """The passage cannot be taken out of one of the sources that hold it; nothing was erased. Erase that source:"""


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
    is_marked_up = any(isinstance(event, RevisionCaptured) and event.format == slack.name for event in events)
    written = {*texts, *map(escaped, texts)} if is_marked_up else texts
    wanted = {variant for text in written for variant in variants(text)}
    cut = Cut()
    unquoted = Unquoted(names)

    def remove(text: str) -> tuple[str, int]:
        return without_texts(text, wanted)

    for chain in chains(events, read):
        try:
            _cut_chain(chain, remove, unquoted, cut, extractor)
        except NotExtracted as failure:
            raise NotCutOut(source) from failure
        suspects = Suspects.of(texts, chain.turns(None), after := chain.turns(cut), remove)
        cut.turns |= suspects.keys - {TITLE}
        if suspects.left(after) and not cut_harder(chain, texts, suspects, cut):
            raise NotCutOut(source)
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
            found = redact(
                content,
                encoding=event.encoding,
                records=holds_json(event.format),
                name=name,
                marked_up=event.format == slack.name,
            )
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


def variants(text: str) -> set[str]:
    """Return a text as it may stand in a string: as it is, and as JSON within it, once and twice."""
    return forms(text, VARIANT_LEVELS)


def _cut_chain(
    chain: Chain,
    remove: Remove,
    unquoted: Unquoted,
    cut: Cut,
    extractor: Extractor | None,
) -> None:
    def remove_both(text: str) -> tuple[str, int]:
        left, quoted = unquoted.string(text)
        left, count = remove(left)
        return left, quoted + count

    for event in chain.ranges:
        if event.content in cut.cleaned or (content := chain.read(event.content)) is None:
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
