"""Documents as they are captured: their bytes, their text, and what of them is kept where they hold a secret."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chronofile.domain.documents import Extracted, NotExtracted, packed_format, plain_format
from chronofile.domain.events import RevisionCaptured
from chronofile.domain.rejection import REJECTION_SENTENCES
from chronofile.ingest.archives.shelves import opened_zip
from chronofile.query import catalogue
from tests.builders import add, repository, turn_line, write
from tests.infra.documents import docx, ipynb, packed, paragraph, pdf, pptx, xlsx
from tests.projections.taking_back import reverse
from tests.world import World

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD_IN_LINK = "https://mara:Tr0ub4dor9x3@harbour.invalid/berths"
WORDS = "The east quay of the harbour needs three hundred and forty new piles before the winter comes."


@dataclass(slots=True)
class Reader:
    """An extractor that gives the texts it was told of by the bytes of their documents; others it refuses."""

    texts: Mapping[bytes, Extracted] = field(default_factory=dict)

    def extract(self, content: bytes, format_name: str) -> Extracted:
        if content not in self.texts:
            raise NotExtracted("document-broken", "It was not told of it.")
        return self.texts[content]


@pytest.fixture
def reading(world: World) -> Iterator[World]:
    """A world with the extra."""
    pytest.importorskip("pypdfium2", reason="the extra [documents] is not installed")
    from chronofile.infra.extraction import Extraction

    extraction = Extraction()
    world.extractor = extraction
    world.__post_init__()
    yield world
    extraction.close()


def passages(world: World) -> list[str]:
    rows = world.rows(
        "SELECT p.text FROM {passages}.passage p JOIN {passages}.occurrence o ON o.passage_no = p.no"
        " WHERE p.recorded_to > 1000000000 AND o.recorded_to > 1000000000 ORDER BY p.source, o.seq"
    )
    return [row[0].decode() for row in rows]


def revisions(world: World) -> list[RevisionCaptured]:
    return [event for event in world.events() if isinstance(event, RevisionCaptured)]


def stored(world: World) -> list[bytes]:
    keys = [event.content for event in revisions(world)]
    return [world.read([key])[key] for key in keys]


def saved(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def listed(world: World) -> dict[str, catalogue.SourceEntry]:
    return {entry.uri.rpartition("/")[2]: entry for entry in catalogue.list_sources(world.engine)}


def test_documents_are_captured_as_they_are_and_found_by_their_text(reading: World, tmp_path: Path) -> None:
    folder = tmp_path / "papers"
    written = {
        "plan.docx": docx(paragraph(WORDS)),
        "report.pdf": pdf("The kettle is beside the window.", title="Kettle report"),
        "talk.pptx": pptx(("Herons", "They land at dawn.", "")),
        "costs.xlsx": xlsx(Budget=[["Piles", 340]]),
        "page.html": b"<!doctype html><p>The lighthouse is white.</p>",
    }
    for name, content in written.items():
        saved(folder / name, content)

    captured = reading.capture(folder)
    reading.catch_up()

    assert captured.rejected == []
    assert sorted(stored(reading)) == sorted(written.values())
    assert {event.format for event in revisions(reading)} == {"docx", "pdf", "pptx", "xlsx", "html"}
    text = "\n".join(passages(reading))
    for said in (
        WORDS,
        "## Page 1",
        "# Kettle report",
        "## Slide 1: Herons",
        "| Piles | 340 |",
        "The lighthouse is white.",
    ):
        assert said in text
    assert listed(reading)["plan.docx"].kind_of_file == "docx"
    assert listed(reading)["plan.docx"].language == "en"
    assert reading.dump() == reading.rebuilt()


def test_a_second_capture_of_documents_changes_nothing(reading: World, tmp_path: Path) -> None:
    saved(tmp_path / "papers" / "plan.docx", docx(paragraph(WORDS)))
    reading.capture(tmp_path / "papers")
    again = reading.capture(tmp_path / "papers", again=True)
    assert (again.revisions, again.unchanged) == (0, 1)


def test_a_document_that_was_edited_keeps_the_passages_that_stayed(reading: World, tmp_path: Path) -> None:
    def ids() -> set[str]:
        rows = reading.rows("SELECT id FROM {passages}.passage WHERE recorded_to > 1000000000")
        return {row[0] for row in rows}

    path = saved(tmp_path / "papers" / "report.pdf", pdf(WORDS, "The kettle is in the kitchen. " * 5))
    reading.capture(path)
    reading.catch_up()
    before = ids()
    saved(path, pdf(WORDS, "The lighthouse is white, and is painted anew each spring. " * 5))
    reading.capture(path)
    reading.catch_up()
    assert len(before) == len(ids()) == 2
    assert len(before & ids()) == 1
    assert "lighthouse" in "".join(passages(reading))


def test_without_the_extra_a_document_is_rejected_each_time_and_taken_once_it_is_there(
    world: World, tmp_path: Path
) -> None:
    content = docx(paragraph(WORDS))
    path = saved(tmp_path / "papers" / "plan.docx", content)
    for _ in range(2):
        (rejected,) = world.capture(tmp_path / "papers").rejected
        assert (rejected.path, rejected.reason) == (path, "documents-extra")
        assert "chronofile[documents]" in REJECTION_SENTENCES[rejected.reason]

    world.extractor = Reader({content: Extracted(f"{WORDS}\n")})
    captured = world.capture(tmp_path / "papers")
    assert (captured.rejected, captured.revisions) == ([], 1)


def test_a_captured_document_stays_captured_when_a_run_without_the_extra_sees_it(
    world: World, tmp_path: Path
) -> None:
    content = docx(paragraph(WORDS))
    path = saved(tmp_path / "papers" / "plan.docx", content)
    world.extractor = Reader({content: Extracted(f"{WORDS}\n")})
    world.capture(tmp_path / "papers")
    head = world.store.position()

    world.extractor = None
    for again in (False, True):
        path.touch()
        captured = world.capture(tmp_path / "papers", again=again)
        assert (captured.rejected, captured.unchanged, captured.batch) == ([], 1, None)
    assert world.store.position() == head
    world.catch_up()
    assert (listed(world)["plan.docx"].state, rejections(world)) == ("captured", [None])


def test_a_document_that_moved_is_known_again_without_the_extra(world: World, tmp_path: Path) -> None:
    content = docx(paragraph(WORDS))
    path = saved(tmp_path / "papers" / "plan.docx", content)
    world.extractor = Reader({content: Extracted(f"{WORDS}\n")})
    world.capture(tmp_path / "papers")
    path.rename(path.with_name("old plan.docx"))
    world.extractor = None
    captured = world.capture(tmp_path / "papers")
    assert (captured.rejected, captured.moved, captured.revisions) == ([], 1, 0)


def test_a_newer_state_that_cannot_be_read_without_the_extra_is_told_and_taken_later(
    world: World, tmp_path: Path
) -> None:
    first, second = docx(paragraph(WORDS)), docx(paragraph(f"{WORDS} And so on."))
    path = saved(tmp_path / "papers" / "plan.docx", first)
    reader = Reader({first: Extracted(WORDS), second: Extracted(f"{WORDS} And so on.")})
    world.extractor = reader
    world.__post_init__()
    world.capture(tmp_path / "papers")

    world.extractor = None
    saved(path, second)
    for _ in range(2):
        assert [one.reason for one in world.capture(tmp_path / "papers").rejected] == ["documents-extra"]
    world.catch_up()
    # What is captured is captured; that somebody could not read what came after says nothing of it.
    assert rejections(world) == [None]

    world.extractor = reader
    captured = world.capture(tmp_path / "papers")
    assert (captured.rejected, captured.revisions) == ([], 1)


def test_a_broken_document_stays_broken_when_a_run_without_the_extra_sees_it(
    world: World, tmp_path: Path
) -> None:
    path = saved(tmp_path / "papers" / "report.pdf", pdf("Words."))
    assert [one.reason for one in world.capture(path).rejected] == ["documents-extra"]
    world.catch_up()
    assert rejections(world) == ["documents-extra"]
    world.extractor = Reader({})
    assert [one.reason for one in world.capture(path).rejected] == ["document-broken"]
    world.extractor = None
    assert [one.reason for one in world.capture(path, again=True).rejected] == ["documents-extra"]
    world.catch_up()
    assert rejections(world) == ["document-broken"]
    assert world.dump() == world.rebuilt()


def rejections(world: World) -> list[str | None]:
    return [row[0] for row in world.rows("SELECT rejection FROM {sources}.source ORDER BY uri")]


def test_a_document_that_was_not_read_when_it_was_new_is_captured_once_more(
    world: World, tmp_path: Path
) -> None:
    content = docx(paragraph(WORDS))
    path = saved(tmp_path / "papers" / "plan.docx", content)
    reader = Reader({content: Extracted(WORDS)})
    world.extractor = reader
    world.capture(path)
    # The projections were made without it.
    world.catch_up()
    (reason,) = [entry.failure for entry in listed(world).values()]
    assert reason is not None
    assert "chronofile ingest" in reason
    assert world.capture(path, dry_run=True).revisions == 1

    world.__post_init__()
    assert [world.capture(path).revisions for _ in range(2)] == [1, 0]
    world.catch_up()
    assert "".join(passages(world)) == WORDS
    assert [entry.failure for entry in listed(world).values()] == [None]
    head = world.store.position()
    assert world.capture(path).unchanged == 1
    assert world.store.position() == head


def test_an_undo_shows_again_why_a_document_could_not_be_read(world: World, tmp_path: Path) -> None:
    content = docx(paragraph(WORDS))
    path = saved(tmp_path / "papers" / "plan.docx", content)
    world.extractor = Reader({content: Extracted(WORDS)})
    world.capture(path)
    world.catch_up()
    before = world.rows("SELECT revision, reason FROM {passages}.failure")
    again = world.capture(path)
    world.catch_up()
    assert [revision for revision, _ in world.rows("SELECT revision, reason FROM {passages}.failure")] == [2]
    undo = reverse(world, str(again.batch))
    world.catch_up()
    assert world.rows("SELECT revision, reason FROM {passages}.failure") == before
    reverse(world, undo)
    world.catch_up()
    assert [revision for revision, _ in world.rows("SELECT revision, reason FROM {passages}.failure")] == [2]
    assert world.dump() == world.rebuilt()


def test_an_undo_and_its_restoration_keep_the_language_of_a_conversation(
    world: World, tmp_path: Path
) -> None:
    def language() -> str | None:
        world.catch_up()
        (entry,) = listed(world).values()
        return entry.language

    path = write(tmp_path / "s.turns.jsonl", turn_line("ok"))
    world.capture(path)
    add(path, turn_line("Die Kaimauer wurde im Winter gebaut, und der Markt folgte später.", turn="2"))
    german = world.capture(path)
    add(path, turn_line(WORDS * 9, turn="3"))
    english = world.capture(path)
    assert language() == "de"
    undo = reverse(world, str(english.batch))
    assert language() == "de"
    reverse(world, undo)
    assert language() == "de"
    live = world.dump()
    undo = reverse(world, str(german.batch))
    assert language() is None
    reverse(world, undo)
    assert language() == "de"
    columns = "SELECT id, language, title, kind_of_file FROM {passages}.source"
    assert world.rows(columns) == [(row[0], "de", row[2], "chat") for row in world.rows(columns)]
    assert world.dump().keys() == live.keys()
    assert world.dump() == world.rebuilt()


def test_a_text_that_is_called_a_document_is_a_text_and_a_notebook_has_one_name(
    world: World, tmp_path: Path
) -> None:
    saved(tmp_path / "papers" / "fake.pdf", WORDS.encode())
    saved(tmp_path / "papers" / "study.ipynb", ipynb(("markdown", "# Study", ())))
    world.capture(tmp_path / "papers")
    world.catch_up()
    kinds = {name: entry.kind_of_file for name, entry in listed(world).items()}
    assert kinds == {"fake.pdf": "text", "study.ipynb": "ipynb"}


def test_without_the_extra_html_and_notebooks_are_texts(world: World, tmp_path: Path) -> None:
    saved(tmp_path / "papers" / "page.html", b"<!doctype html><p>White.</p>")
    saved(tmp_path / "papers" / "study.ipynb", ipynb(("markdown", "# Study", ())))
    assert world.capture(tmp_path / "papers").rejected == []
    assert {event.format for event in revisions(world)} == {"text"}


def test_html_in_a_repository_is_source_code_and_a_notebook_is_a_document(
    reading: World, tmp_path: Path
) -> None:
    project = repository(tmp_path / "site")
    saved(project / "index.html", b"<!doctype html><p>White.</p>")
    saved(project / "study.ipynb", ipynb(("code", "print(1)", ["1\n"])))
    reading.capture(project)
    reading.catch_up()
    assert sorted(event.format for event in revisions(reading)) == ["ipynb", "text"]
    assert "<p>White.</p>" in "".join(passages(reading))
    assert listed(reading)["index.html"].kind_of_file == "html"


def test_a_projection_without_the_extra_notes_that_it_could_not_read_a_document(
    world: World, tmp_path: Path
) -> None:
    content = docx(paragraph(WORDS))
    path = saved(tmp_path / "papers" / "plan.docx", content)
    # Only the capture has it: the projections were made before.
    world.extractor = Reader({content: Extracted(WORDS)})
    world.capture(path)
    world.catch_up()
    ((reason,),) = world.rows("SELECT reason FROM {passages}.failure")
    assert "chronofile[documents]" in reason
    assert stored(world) == [content]


def test_a_secret_in_a_document_never_reaches_the_store(reading: World, tmp_path: Path) -> None:
    content = docx(
        paragraph(WORDS)
        + f"<w:p><w:r><w:t>The token is {TOKEN[:12]}</w:t></w:r><w:r><w:t>{TOKEN[12:]}.</w:t></w:r></w:p>"
    )
    path = saved(tmp_path / "papers" / "plan.docx", content)
    captured = reading.capture(path)
    reading.catch_up()

    assert captured.redactions == {"github-token": 1}
    (kept,) = stored(reading)
    assert kept.decode() == f"{WORDS}\n\nThe token is [redacted: github-token].\n"
    (event,) = revisions(reading)
    assert (event.format, event.encoding) == ("text", "utf-8")
    assert event.original is not None
    assert event.end == len(content)
    assert reading.capture(path, again=True).revisions == 0
    assert listed(reading)["plan.docx"].kind_of_file == "docx"
    assert reading.dump() == reading.rebuilt()


@pytest.mark.parametrize(
    "place", ["link", "properties", "deleted words", "sheet's link", "sheet's formula", "sheet's connection"]
)
def test_a_secret_that_a_reader_does_not_see_never_reaches_the_store(
    reading: World, tmp_path: Path, place: str
) -> None:
    content = {
        "link": docx(paragraph(WORDS), related=[("hyperlink", PASSWORD_IN_LINK)]),
        "properties": docx(paragraph(WORDS), more={"docProps/custom.xml": f"<p><v>{TOKEN}</v></p>"}),
        "deleted words": docx(
            f"<w:p><w:r><w:t>{WORDS}</w:t></w:r><w:del><w:r><w:delText>{TOKEN}</w:delText></w:r></w:del></w:p>"
        ),
        "sheet's link": packed(
            {
                **_parts(xlsx(Budget=[[WORDS]])),
                "xl/worksheets/_rels/sheet1.xml.rels": f"<R><L Target='{PASSWORD_IN_LINK}'/></R>",
            }
        ),
        "sheet's formula": packed(
            {
                name: part.replace(
                    b"</row>",
                    b'<c r="B1"><f>HYPERLINK("%s")</f><v>1</v></c></row>' % PASSWORD_IN_LINK.encode(),
                )
                for name, part in _parts(xlsx(Budget=[[WORDS]])).items()
            }
        ),
        "sheet's connection": packed(
            {
                **_parts(xlsx(Budget=[[WORDS]])),
                "xl/connections.xml": f'<connections><dbPr connection="Server=x;Password=hK8zQ2vL9xW4;url={PASSWORD_IN_LINK}"/></connections>',
            }
        ),
    }[place]
    saved(tmp_path / "papers" / ("a.xlsx" if "sheet" in place else "a.docx"), content)
    captured = reading.capture(tmp_path / "papers")
    (kept,) = stored(reading)
    assert WORDS in kept.decode()
    assert sum(captured.redactions.values()) >= 1
    assert revisions(reading)[0].format == "text"


def _parts(content: bytes) -> dict[str, bytes]:
    import zipfile
    from io import BytesIO

    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_html_with_a_secret_stays_html_without_it(reading: World, tmp_path: Path) -> None:
    page = f"<!doctype html><p>{WORDS} {TOKEN}</p><script>var t = '{TOKEN}'</script>"
    saved(tmp_path / "page.html", page.encode())
    reading.capture(tmp_path / "page.html")
    (kept,) = stored(reading)
    assert kept.decode() == page.replace(TOKEN, "[redacted: github-token]")
    assert revisions(reading)[0].format == "html"


def test_a_secret_that_markup_takes_apart_is_found_in_the_text(reading: World, tmp_path: Path) -> None:
    page = f"<!doctype html><p>{WORDS} {TOKEN[:12]}<b>{TOKEN[12:]}</b></p>"
    saved(tmp_path / "page.html", page.encode())
    reading.capture(tmp_path / "page.html")
    (kept,) = stored(reading)
    assert kept.decode() == f"{WORDS} [redacted: github-token]\n"
    assert revisions(reading)[0].format == "text"


def test_a_scan_without_text_is_captured_and_says_so(reading: World, tmp_path: Path) -> None:
    saved(tmp_path / "scan.pdf", pdf("", ""))
    reading.capture(tmp_path / "scan.pdf")
    reading.catch_up()
    assert listed(reading)["scan.pdf"].omissions == {"pages without text": 2}
    assert passages(reading) == []


@pytest.mark.parametrize("name", ["plan.docx", "report.pdf", "book.epub"])
def test_what_is_broken_is_rejected_and_not_looked_at_again_until_it_changes(
    reading: World, tmp_path: Path, name: str
) -> None:
    whole = pdf("Words.")[:60] if name.endswith("pdf") else docx(paragraph(WORDS))[:300]
    path = saved(tmp_path / "papers" / name, whole)
    (rejected,) = reading.capture(tmp_path / "papers").rejected
    assert rejected.reason == "document-broken"
    saved(path, pdf("Words.") if name.endswith("pdf") else docx(paragraph(WORDS)))
    assert reading.capture(tmp_path / "papers").rejected == []


def test_an_office_file_with_a_password_is_told_from_other_binary_files(
    reading: World, tmp_path: Path
) -> None:
    compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    saved(tmp_path / "papers" / "locked.docx", compound + "EncryptedPackage".encode("utf-16-le"))
    saved(tmp_path / "papers" / "old.doc", compound)
    rejected = {one.path.name: one.reason for one in reading.capture(tmp_path / "papers").rejected}
    assert rejected == {"locked.docx": "encrypted", "old.doc": "binary"}


def test_a_locked_pdf_is_rejected_as_such(reading: World, tmp_path: Path) -> None:
    locked = pdf("Words.").replace(
        b"/Root 1 0 R",
        b"/Root 1 0 R /ID [<00><00>] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <%s> /U <%s> >>"
        % (b"41" * 32, b"42" * 32),
    )
    saved(tmp_path / "locked.pdf", locked)
    (rejected,) = reading.capture(tmp_path / "locked.pdf").rejected
    assert rejected.reason == "encrypted"


def test_an_archive_that_is_no_document_stays_an_archive(reading: World, tmp_path: Path) -> None:
    path = saved(tmp_path / "export.zip", packed({"conversations.json": json.dumps([])}))
    with opened_zip(path) as shelf:
        assert packed_format(shelf.names()) is None
    assert [one.reason for one in reading.capture(path).rejected] == ["no-conversation"]


def test_texts_that_only_speak_of_documents_are_texts() -> None:
    def form(name: str, text: str) -> str | None:
        return plain_format(name, text.encode(), text, is_source_code=False)

    assert form("notes.md", "A PDF begins with %PDF-1.7, HTML with <html>.") is None
    assert form("a.json", '{"cells": []}') is None
    assert form("empty.html", "") is None
    assert form("x.ipynb", "cells") is None
    assert form("mail.htm", "<div>Hello</div>") == "html"
    assert form("no-suffix", "<!-- saved --> <!DOCTYPE html><title>x</title>") == "html"


def test_the_language_is_that_of_the_words_and_null_where_it_cannot_be_told(
    world: World, tmp_path: Path
) -> None:
    texts = {
        "brief.md": "Die Kaimauer wurde im Winter gebaut, und der Fischmarkt folgte zwei Jahre später. " * 3,
        "note.txt": WORDS,
        "short.txt": "ok\n",
        "main.py": "def answer(question):\n    return question.strip().lower()\n" * 20,
        "Dockerfile": "FROM debian\n",
    }
    for name, text in texts.items():
        saved(tmp_path / "papers" / name, text.encode())
    world.capture(tmp_path / "papers")
    world.catch_up()
    found = {name: (entry.kind_of_file, entry.language) for name, entry in listed(world).items()}
    assert found == {
        "brief.md": ("markdown", "de"),
        "note.txt": ("text", "en"),
        "short.txt": ("text", None),
        "main.py": ("python", None),
        "Dockerfile": ("dockerfile", None),
    }


def test_a_conversation_has_the_language_of_its_first_turns(world: World, tmp_path: Path) -> None:
    path = write(tmp_path / "s.turns.jsonl", turn_line("ok"))
    world.capture(path)
    world.catch_up()
    assert [entry.language for entry in listed(world).values()] == [None]
    add(path, turn_line("Die Kaimauer wurde im Winter gebaut, und der Markt folgte später.", turn="2"))
    world.capture(path)
    add(path, turn_line(WORDS * 9, turn="3"))
    world.capture(path)
    world.catch_up(1)
    (entry,) = listed(world).values()
    assert (entry.kind_of_file, entry.language) == ("chat", "de")
    assert world.dump() == world.rebuilt()
