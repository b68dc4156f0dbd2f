"""How fast the text of documents is extracted, and how languages are told: `python -m benchmarks.documents [RUNS]`.

The documents are made up, one of each kind and some that are large; needs the extra `[documents]`. Memory is that of the
process that extracts, at its highest.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from chronofile.infra.extraction import Extraction
from chronofile.infra.languages import Languages
from tests.infra.documents import docx, epub, ipynb, paragraph, pdf, pptx, xlsx

RUNS = 5
SENTENCE = "Sentence {} tells of the quay wall, of the fish market beside it, and of the winter in which both were built."


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}\n")
    print("| document | size | text | median | text a second | memory |\n|---|---|---|---|---|---|")
    for name, format_name, content in documents():
        took, chars, memory = extracted(content, format_name, runs)
        rate = f"{chars / 1e6 / took:.1f} MB"
        print(
            f"| {name} | {len(content) / 1e6:.2f} MB | {chars / 1e6:.2f} MB | {took * 1_000:.0f} ms | {rate} | {memory >> 20} MB |"
        )
    began = time.perf_counter()
    extraction = Extraction()
    extraction.extract(pdf("One."), "pdf")
    print(f"\nThe first document of a process: {(time.perf_counter() - began) * 1_000:.0f} ms")
    extraction.close()
    tell_languages()


def documents() -> Sequence[tuple[str, str, bytes]]:
    sentences = [SENTENCE.format(number) for number in range(50_000)]
    pages = ["\n".join(sentences[start : start + 10]) for start in range(0, 50_000, 10)]
    body = "".join(map(paragraph, sentences[:20_000]))
    rows: list[list[str | float]] = [[n, sentences[n], n * 1.5] for n in range(50_000)]
    chapters = [(f"Chapter {n}", " ".join(sentences[n * 100 : n * 100 + 100])) for n in range(200)]
    page = "".join(f"<p>{sentence}</p>" for sentence in sentences[:20_000])
    return (
        ("PDF, 5,000 pages", "pdf", pdf(*pages)),
        ("Word, 20,000 paragraphs", "docx", docx(body)),
        (
            "PowerPoint, 1,000 slides",
            "pptx",
            pptx(*((f"Slide of {n}", sentences[n], "") for n in range(1_000))),
        ),
        ("Excel, 50,000 rows", "xlsx", xlsx(Rows=rows)),
        ("EPUB, 200 chapters", "epub", epub("A book", *chapters)),
        ("HTML, 20,000 paragraphs", "html", f"<!doctype html>{page}".encode()),
        ("Notebook, 2,000 cells", "ipynb", ipynb(*(("code", s, [s]) for s in sentences[:2_000]))),
    )


def extracted(content: bytes, format_name: str, runs: int) -> tuple[float, int, int]:
    """Return the seconds that it takes, at the median, the length of the text, and the memory that it took at most."""
    took, chars, memory = [], 0, 0
    for _ in range(runs):
        extraction = Extraction()
        # The process is there, with the library that it needs.
        extraction.extract(small(format_name), format_name)
        began = time.perf_counter()
        chars = len(extraction.extract(content, format_name).text)
        took.append(time.perf_counter() - began)
        memory = max(memory, peak_bytes(extraction))
        extraction.close()
    return median(took), chars, memory


def small(format_name: str) -> bytes:
    made: dict[str, Callable[[], bytes]] = {
        "docx": lambda: docx(paragraph("x")),
        "epub": lambda: epub("x", ("x", "x")),
        "html": lambda: b"<!doctype html>x",
        "ipynb": lambda: ipynb(("raw", "x", ())),
        "pdf": lambda: pdf("x"),
        "pptx": lambda: pptx(("x", "x", "")),
        "xlsx": lambda: xlsx(A=[["x"]]),
    }
    return made[format_name]()


def peak_bytes(extraction: Extraction) -> int:
    assert extraction._worker is not None
    status = Path(f"/proc/{extraction._worker._process.pid}/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM")), 0)


def tell_languages() -> None:
    languages = Languages()
    began = time.perf_counter()
    languages(SENTENCE)
    loaded = time.perf_counter() - began
    text = " ".join(SENTENCE.format(number) for number in range(100))[:4_000]
    began = time.perf_counter()
    for _ in range(200):
        languages(text)
    print(
        f"The language of 4,000 characters: {(time.perf_counter() - began) * 5:.2f} ms, of the first {loaded * 1_000:.0f} ms"
    )


if __name__ == "__main__":
    main()
