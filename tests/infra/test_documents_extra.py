"""What is read of documents, and what of those that are broken, locked, or made to do harm."""

from __future__ import annotations

import os
import signal
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("lxml", reason="the extra [documents] is not installed")
pytest.importorskip("pypdfium2", reason="the extra [documents] is not installed")
pytest.importorskip("python_calamine", reason="the extra [documents] is not installed")

from chronofile.domain.documents import DOCUMENTS, Extracted, NotExtracted
from chronofile.infra.doctor import examine
from chronofile.infra.extraction import Extraction
from chronofile.infra.extraction.worker import answered
from chronofile.infra.memory import Memory
from tests.infra.documents import docx, epub, ipynb, packed, paragraph, pdf, pptx, word, xlsx
from tests.infra.erasures import dumped, opened, rebuilt, tables_with

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
WORDS = "The east quay of the harbour needs three hundred and forty new piles."
BIG_HEADING = '<w:pStyle w:val="H1"/>'
STYLES = {"word/styles.xml": word("styles", '<w:style w:styleId="H1"><w:name w:val="heading 1"/></w:style>')}
STYLED = [("styles", "styles.xml")]


@pytest.fixture(scope="module")
def extraction() -> Iterator[Extraction]:
    found = Extraction()
    yield found
    found.close()


def refused(extraction: Extraction, content: bytes, format_name: str) -> str:
    with pytest.raises(NotExtracted) as failure:
        extraction.extract(content, format_name)
    return failure.value.reason


def test_a_word_document_is_read_in_its_order(extraction: Extraction) -> None:
    body = (
        paragraph("The quay", '<w:pStyle w:val="Kop1"/>')
        + paragraph("It has “oak” piles, 漢字.")
        + paragraph("First", '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="3"/></w:numPr>')
        + paragraph("Within", '<w:numPr><w:ilvl w:val="1"/><w:numId w:val="3"/></w:numPr>')
        + f"<w:tbl><w:tr><w:tc>{paragraph('Item')}</w:tc><w:tc>{paragraph('Cost')}</w:tc></w:tr>"
        + f"<w:tr><w:tc>{paragraph('Piles')}</w:tc><w:tc>{paragraph('340')}</w:tc></w:tr></w:tbl>"
        + f"<w:sdt><w:sdtContent>{paragraph('A field of a form.')}</w:sdtContent></w:sdt>"
        + "<w:p><w:r><w:t>Tab</w:t><w:tab/><w:t>and</w:t><w:br/><w:t>break</w:t></w:r><w:ins><w:r><w:t> added</w:t></w:r></w:ins>"
        + "<w:del><w:r><w:delText> removed</w:delText></w:r></w:del>"
        + '<w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
    )
    more = {
        "word/styles.xml": word(
            "styles",
            '<w:style w:styleId="Kop1"><w:name w:val="heading 1"/><w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>',
        ),
        "word/footnotes.xml": word("footnotes", f'<w:footnote w:id="2">{paragraph("A note.")}</w:footnote>'),
        "word/header1.xml": word("hdr", paragraph("For the harbour master")),
        "word/comments.xml": word(
            "comments", f'<w:comment w:id="1" w:author="Mara">{paragraph("Really?")}</w:comment>'
        ),
    }
    related = [(name, f"{name}.xml") for name in ("styles", "footnotes", "comments")] + [
        ("header", "header1.xml")
    ]

    found = extraction.extract(docx(body, more=more, related=related), "docx")

    assert found.text == (
        "# The quay\n\nIt has “oak” piles, 漢字.\n\n- First\n  - Within\n\n| Item | Cost |\n| Piles | 340 |\n\n"
        "A field of a form.\n\nTab\tand\nbreak added[^f2]\n\n[^f2]: A note.\n\n## Comments\n\n- Mara: Really?\n\n"
        "## Headers and footers\n\nFor the harbour master\n"
    )
    assert "removed" in found.beside


def test_slides_come_with_their_numbers_titles_and_notes(extraction: Extraction) -> None:
    found = extraction.extract(pptx(("Plan", "Two piles", "Say it slowly."), ("", "Costs", "")), "pptx")
    assert found.text == "## Slide 1: Plan\n\nTwo piles\n\nNotes:\nSay it slowly.\n\n## Slide 2\n\nCosts\n"


def test_sheets_come_with_their_names_and_without_empty_rows(extraction: Extraction) -> None:
    content = xlsx(Budget=[["Item", "Cost"], [], ["Piles", 340], ["Sum", 340.5]], Names=[["Mara | Quill"]])
    found = extraction.extract(content, "xlsx")
    assert found.text == (
        "## Sheet: Budget\n\n| Item | Cost |\n| Piles | 340 |\n| Sum | 340.5 |\n\n## Sheet: Names\n\n| Mara | Quill |\n"
    )


def test_large_whole_numbers_in_sheets_are_written_with_all_their_digits(extraction: Extraction) -> None:
    numbers = [[1e15, 1e16, 12_345_678_901_234_567_890.0, -1e21, 0.5, 1e-9]]
    found = extraction.extract(xlsx(Accounts=numbers), "xlsx")
    assert "| 1000000000000000 | 10000000000000000 | 12345678901234567000 |" in found.text
    assert "| -1000000000000000000000 | 0.5 | 1e-09 |" in found.text


def test_a_book_is_read_in_the_order_of_its_spine(extraction: Extraction) -> None:
    found = extraction.extract(epub("The quay", ("One", "First &amp; foremost."), ("Two", "Last.")), "epub")
    assert found.text == "# The quay\n\n# One\n\nFirst & foremost.\n\n# Two\n\nLast.\n"


def test_pages_come_with_their_numbers_and_those_without_text_are_counted(extraction: Extraction) -> None:
    found = extraction.extract(
        pdf("The east quay\nhas (oak) piles.", "", "The end.", title="Quay report"), "pdf"
    )
    assert found.text == (
        "# Quay report\n\n## Page 1\n\nThe east quay\nhas (oak) piles.\n\n## Page 3\n\nThe end.\n"
    )
    assert found.omitted == {"pages without text": 1}
    scanned = extraction.extract(pdf("", "", title="Scan of a letter"), "pdf")
    assert scanned == Extracted("", scanned.beside, {"pages without text": 2})


def test_a_page_of_html_is_read_without_its_scripts(extraction: Extraction) -> None:
    content = (
        "<!doctype html><html><head><title>Quay</title><style>p {}</style><script>var x = 1</script></head><body>"
        "<h2>Piles</h2><p>Some <b>oak</b>\n &amp; steel,<br>caf&eacute;.</p><ul><li>one<ul><li>inner</ul><li>two</ul>"
        "<table><tr><th>a<th>b<tr><td>1<td>2</table><pre>x\n  y</pre><noscript>no</noscript><img alt='a crane'></body></html>"
    )
    found = extraction.extract(content.encode("latin-1"), "html")
    assert found.text == (
        "# Quay\n\n## Piles\n\nSome oak & steel,\ncafé.\n\n- one\n  - inner\n- two\n\n| a | b |\n| 1 | 2 |\n\n"
        "```\nx\n  y\n```\n\n[image a crane]\n"
    )


def test_a_notebook_is_read_with_what_it_printed(extraction: Extraction) -> None:
    found = extraction.extract(ipynb(("markdown", "# Study", ()), ("code", "print(2)", ["2\n"])), "ipynb")
    assert found.text == "# Study\n\n```python\nprint(2)\n```\n\n```\n2\n```\n"


@pytest.mark.parametrize("format_name", sorted(DOCUMENTS - {"html"}))
def test_what_is_broken_is_refused(extraction: Extraction, format_name: str) -> None:
    for content in (b"", b"PK\x03\x04 cut off", b"%PDF-1.7\n" + bytes(range(256)) * 9, packed({"x": "y"})):
        assert refused(extraction, content, format_name) == "document-broken"


@pytest.mark.parametrize("bomb", ["one part", "many parts"])
def test_an_archive_that_unpacks_to_far_more_is_not_unpacked(extraction: Extraction, bomb: str) -> None:
    zeros = b"0" * (100 << 20)
    count = 1 if bomb == "one part" else 12
    content = docx(paragraph("x"), more={f"word/media/{number}.bin": zeros for number in range(count)})
    began = time.monotonic()
    assert refused(extraction, content, "docx") == "zip-bomb"
    assert time.monotonic() - began < 5


def test_entities_are_not_expanded_and_no_file_is_read(extraction: Extraction, tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("a private word")
    tenfold = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
    for declared in (
        f'<!ENTITY e0 "ten">{tenfold}',
        f'<!ENTITY e11 SYSTEM "{(tmp_path / "private.txt").as_uri()}">',
    ):
        part = f"<!DOCTYPE x [{declared}]>" + word("document", f"<w:body>{paragraph('&e11;')}</w:body>")
        assert refused(extraction, docx("", more={"word/document.xml": part}), "docx") == "document-broken"


def test_what_is_nested_without_end_is_refused(extraction: Extraction) -> None:
    tables = "<w:tbl><w:tr><w:tc>" * 50_000 + "</w:tc></w:tr></w:tbl>" * 50_000
    assert refused(extraction, docx(tables), "docx") == "document-broken"
    assert refused(extraction, b"<html>" + b"<div>" * 100_000 + b"words", "html") == "document-broken"
    assert refused(extraction, b'{"cells": ' + b"[" * 100_000, "ipynb") == "document-broken"


def test_a_sheet_with_a_cell_in_its_last_corner_costs_neither_time_nor_memory(extraction: Extraction) -> None:
    corner = '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    sheet = f'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1"><v>1</v></c></row>{corner}</sheetData></worksheet>'
    workbook = xlsx(Budget=[[1]])
    with zipfile.ZipFile(BytesIO(workbook)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert (
        refused(extraction, packed(parts | {"xl/worksheets/sheet1.xml": sheet}), "xlsx") == "document-costly"
    )


def test_five_thousand_pages_take_seconds(extraction: Extraction) -> None:
    content = pdf(*(f"Sentence {number} tells of the quay wall." for number in range(5_000)))
    began = time.monotonic()
    found = extraction.extract(content, "pdf")
    assert time.monotonic() - began < 20
    assert "## Page 5000\n\nSentence 4999 tells of the quay wall.\n" in found.text


def test_a_book_with_locked_chapters_is_locked(extraction: Extraction) -> None:
    with zipfile.ZipFile(BytesIO(epub("The quay", ("One", "First.")))) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    locked = (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><EncryptedData '
        'xmlns="http://www.w3.org/2001/04/xmlenc#"><CipherData><CipherReference URI="book/part%200.xhtml"/>'
        "</CipherData></EncryptedData></encryption>"
    )
    assert refused(extraction, packed(parts | {"META-INF/encryption.xml": locked}), "epub") == "encrypted"


def test_a_worker_that_dies_takes_one_document_with_it() -> None:
    extraction = Extraction()
    try:
        assert extraction.extract(pdf("One."), "pdf").text == "## Page 1\n\nOne.\n"
        assert extraction._worker is not None
        os.kill(extraction._worker._process.pid, signal.SIGKILL)
        extraction._worker._process.wait()
        assert extraction.extract(pdf("Two."), "pdf").text == "## Page 1\n\nTwo.\n"
    finally:
        extraction.close()


def test_several_threads_may_ask_at_once() -> None:
    extraction = Extraction()
    try:
        with ThreadPoolExecutor(4) as threads:
            asked = [threads.submit(extraction.extract, pdf(f"Page of {n}."), "pdf") for n in range(20)]
            assert [one.result().text for one in asked] == [f"## Page 1\n\nPage of {n}.\n" for n in range(20)]
    finally:
        extraction.close()


def test_closing_leaves_no_process_behind() -> None:
    extraction = Extraction()
    extraction.extract(pdf("One."), "pdf")
    assert extraction._worker is not None
    process = extraction._worker._process
    extraction.close()
    assert process.returncode is not None


def test_links_and_properties_stand_beside_the_text(extraction: Extraction) -> None:
    content = docx(
        paragraph("A link."),
        more={"docProps/core.xml": "<p><creator>Mara Quill</creator></p>"},
        related=[("hyperlink", "https://harbour.invalid/berth")],
    )
    found = extraction.extract(content, "docx")
    assert "harbour.invalid/berth" not in found.text
    assert "harbour.invalid/berth" in found.beside
    assert "Mara Quill" in found.beside


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(DOCUMENTS)), st.binary(max_size=400), st.integers(0, 4_000), st.integers(0, 50))
def test_whatever_stands_there_a_document_is_read_or_refused(
    format_name: str, noise: bytes, at: int, dropped: int
) -> None:
    whole = {
        "docx": docx(paragraph("Words.")),
        "epub": epub("Title", ("One", "Words.")),
        "html": b"<html><p>Words.</p></html>",
        "ipynb": ipynb(("code", "1", ["1"])),
        "pdf": pdf("Words."),
        "pptx": pptx(("Title", "Words.", "")),
        "xlsx": xlsx(A=[["Words."]]),
    }[format_name]
    place = at % len(whole)
    said, content = answered(format_name, whole[:place] + noise + whole[place + dropped :])
    assert said.get("reason") in (None, "document-broken", "document-costly", "encrypted", "zip-bomb")
    assert len(content) == said.get("text", 0) + said.get("beside", 0)


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


def formats(memory: Memory) -> set[str | None]:
    return {entry.format for entry in memory.sources()}


def test_a_hit_in_a_document_tells_its_page_and_its_whole_text_can_be_had(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "report.pdf").write_bytes(pdf("The kettle is in the kitchen.", WORDS))
    memory.ingest([tmp_path / "report.pdf"])
    hit = memory.search("how many piles does the east quay need?", scope="all").hits[0]
    assert hit.source.format == "pdf"
    text = memory.get(hit.id, source=True).whole or ""
    assert text == f"## Page 1\n\nThe kettle is in the kitchen.\n\n## Page 2\n\n{WORDS}\n"
    assert text[hit.span[0] : hit.span[1]] == hit.text
    verified = memory.verify()
    assert (verified.disagreements, verified.listed) == ((), ())


def test_an_erased_passage_goes_from_a_document_and_stays_away(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    path, said = tmp_path / "plan.docx", paragraph("Berths", BIG_HEADING) + paragraph(WORDS * 3)
    path.write_bytes(docx(said, more=STYLES, related=STYLED))
    memory.ingest([path], wait="all")
    hit = memory.search("how many piles does the east quay need?", scope="all").hits[0]
    preview = memory.plan_erasure(passages=[hit.id])
    report = memory.erase(passages=[hit.id], token=preview.token)

    assert report.verified
    assert tables_with(conninfo, WORDS) == set()
    assert formats(memory) == {"text"}
    assert memory.ingest([path], again=True).revisions == 0
    path.write_bytes(docx(said + paragraph("A new paragraph."), more=STYLES, related=STYLED))
    memory.ingest([path])
    assert tables_with(conninfo, WORDS * 3) == set()
    assert memory.search("a new paragraph", scope="all").hits
    memory.embed()
    assert dumped(memory) == rebuilt(memory)


def test_secrets_in_documents_that_were_kept_are_found_and_taken_out(
    conninfo: str, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "plan.docx").write_bytes(docx(paragraph(WORDS) + paragraph(f"The token is {TOKEN}.")))
    (tmp_path / "page.html").write_text(f"<!doctype html><p>{WORDS}</p><script>var t = '{TOKEN}'</script>")
    with opened(conninfo, home, redaction="off") as memory:
        memory.ingest([tmp_path / "plan.docx", tmp_path / "page.html"], wait="all")
        assert formats(memory) == {"docx", "html"}
    with opened(conninfo, home) as memory:
        found = {(one.uri.rpartition("/")[2], one.rule, one.line) for one in memory.scan()}
        assert found == {("plan.docx", "github-token", 3), ("page.html", "github-token", 1)}
        preview = memory.plan_redaction()
        assert memory.redact(token=preview.token).verified
        assert list(memory.scan()) == []
        assert formats(memory) == {"text", "html"}
        assert tables_with(conninfo, TOKEN) == set()
        assert memory.verify().disagreements == ()
        memory.embed()
        assert dumped(memory) == rebuilt(memory)


def test_the_doctor_names_the_libraries_that_read_documents(home: Path) -> None:
    found = {one.check: one for one in examine({"home": str(home)}, {}, str)}
    assert found["documents"].ok
    assert "pypdfium2" in found["documents"].detail
