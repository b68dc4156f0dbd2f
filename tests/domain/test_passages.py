"""Passages partition their text exactly, and an edit moves none outside its own section."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.passages import cut, cut_turn, kind_of, passage_id, titles
from chronofile.domain.sections import TextKind
from chronofile.domain.turns import Part, Turn

KINDS: tuple[TextKind, ...] = ("prose", "code", "markdown")

_FRAGMENTS = [
    "# Head\n", "## Sub\n", "Title\n=====\n", "```\n", "~~~py\n", "def f(x):\n", "    def g(self):\n", "class A:\n", "@wrap\n",
    "@wrap(\n    1,\n)\n", "# note\n", "/* a\n b */\n", "\n", "\n\n", "\r\n", "\r", " ", "\t", "word ", "A sentence. ", "Why? ",
    "- item\n", "x = 1\n", "public void run() {\n", "[table]\n", "e\u0301", "👩‍👩‍👧", "👍🏽", "\ud800", "\u2028", "。", "<!-- x -->\n",
]  # fmt: skip
texts = st.lists(st.one_of(st.sampled_from(_FRAGMENTS), st.text(max_size=40)), max_size=80).map("".join)


def slices(text: str, kind: TextKind, chars_max: int = 800) -> list[str]:
    return [text[start:end] for start, end in cut(text, kind=kind, chars_max=chars_max)]


def body(word: str, lines: int = 5) -> str:
    return "".join(f"    {word}_{n} = compute_the_{word.strip()}({n})\n" for n in range(lines))


@settings(deadline=None)
@given(texts, st.sampled_from(KINDS), st.integers(1, 400))
def test_passages_partition_their_text_exactly(text: str, kind: TextKind, chars_max: int) -> None:
    spans = cut(text, kind=kind, chars_max=chars_max)

    assert "".join(text[start:end] for start, end in spans) == text
    assert all(0 < end - start <= chars_max for start, end in spans)


@settings(deadline=None)
@given(texts, st.sampled_from(KINDS), st.integers(2, 400))
def test_no_passage_ends_between_a_carriage_return_and_its_line_feed(
    text: str, kind: TextKind, chars_max: int
) -> None:
    for start, end in cut(text, kind=kind, chars_max=chars_max):
        assert text[end - 1 : end + 1] != "\r\n" or end - start == 0


@settings(deadline=None)
@given(texts, st.sampled_from(KINDS), st.integers(1, 400))
def test_every_passage_has_a_title_or_none(text: str, kind: TextKind, chars_max: int) -> None:
    spans = cut(text, kind=kind, chars_max=chars_max)

    assert len(titles(text, spans, kind)) == len(spans)


@settings(deadline=None)
@given(
    st.lists(st.integers(2, 30), min_size=3, max_size=8),
    st.integers(0, 7),
    st.integers(100, 800),
    st.booleans(),
)
def test_a_line_inserted_in_a_function_moves_no_passage_of_another(
    lines: list[int], edited: int, chars_max: int, is_class: bool
) -> None:
    edited %= len(lines)
    before = [
        f"def compute_{n}(first, second):\n{body(f'value{n}', size)}\n\n" for n, size in enumerate(lines)
    ]
    after = list(before)
    head, rest = before[edited].split("\n", 1)
    after[edited] = f"{head}\n    a_new_line = 'is inserted here'\n{rest}"

    passages, passages_after = (slices("".join(parts), "code", chars_max) for parts in (before, after))

    for n, section in enumerate(before):
        if n != edited:
            own = [p for p in passages if p in section]
            assert "".join(own) == section
            assert [p for p in passages_after if p in section] == own


def test_a_line_at_the_top_of_a_file_moves_only_its_first_passage() -> None:
    text = "".join(f"def compute_{n}():\n{body(f'value{n}', 12)}\n\n" for n in range(9))

    before, after = slices(text, "code"), slices("import something\n" + text, "code")

    assert after[0] == "import something\n" + before[0]
    assert after[1:] == before[1:]


def test_a_line_in_a_markdown_section_moves_no_passage_of_another() -> None:
    paragraph = "The port of the server is 5432, and nobody has changed it since the first release. " * 4
    parts = [f"## Part {n}\n\n{paragraph}\n\n{paragraph}\n\n{paragraph}\n\n" for n in range(5)]
    edited = [*parts]
    edited[2] = edited[2].replace("\n\n", "\n\nA new first line.\n\n", 1)

    before, after = slices("".join(parts), "markdown"), slices("".join(edited), "markdown")

    assert [p for p in before if p not in parts[2]] == [p for p in after if p not in edited[2]]


def test_an_edit_in_a_run_of_one_line_definitions_moves_few_of_its_passages() -> None:
    lines = [f"type Alias{n} = Map<string, Value{n * 7919}>;\n" for n in range(400)]
    edited = [*lines[:200], "type Another = Map<string, Something>;\n", *lines[200:]]

    before, after = slices("".join(lines), "code"), slices("".join(edited), "code")

    assert len(before) < 100
    assert len(set(before) - set(after)) <= 2


def test_headings_begin_passages_but_not_inside_fenced_code() -> None:
    filler = "This is what the section says, at some length, so that it is not a tiny one at all. " * 2
    text = f"# One\n{filler}\n```sh\n# no heading\n{filler}\n```\n{filler}\n\nTwo\n---\n{filler}\n### Three\n{filler}"

    assert [p.split("\n")[0] for p in slices(text, "markdown")] == ["# One", "Two", "### Three"]


def test_a_heading_without_text_goes_with_the_section_below_it() -> None:
    filler = "This is what the section says, at some length, so that it is not a tiny one at all. " * 2

    assert slices(f"# Guide\n\n## Install\n{filler}", "markdown") == [f"# Guide\n\n## Install\n{filler}"]


def test_comments_and_decorators_stay_with_their_definition() -> None:
    first = f"def first():\n{body('first')}\n"
    second = f"# Why it is so.\n@cached(\n    size=3,\n)\n@logged\ndef second():\n{body('second')}\n"
    third = f"/**\n * Says what it is.\n */\nexport async function third(a, b) {{\n{body('third')}}}\n"

    assert slices(first + second + third, "code") == [first, second, third]


@pytest.mark.parametrize(
    "line",
    [
        "class Store(Protocol):", "    async def read(self) -> bytes:", "pub(crate) fn read(&self) -> u8 {", "impl<T> Read for Store<T> {",
        "func (s *Store) Read() ([]byte, error) {", "type Store struct {", "export const read = async (key) => {", "interface Store {",
        "    public static void main(String[] args) {", "int main(int argc, char **argv) {", "CREATE TABLE IF NOT EXISTS turns (",
        "fun read(key: String): ByteArray {", "[tool.ruff.lint]", "build_all() {", "export default class Store extends Base {",
        "type Store = { key: string };", "trait Read {", "\tpublic function read($key) {",
    ],
)  # fmt: skip
def test_a_definition_begins_a_passage(line: str) -> None:
    before, after = f"start = 1\n{body('before')}", f"{line}\n{body('after')}"

    assert slices(before + after, "code") == [before, after]


@pytest.mark.parametrize(
    "line",
    [
        "return compute(first, second)",
        "from somewhere import (",
        "if (ready) {",
        "    class_name = 3",
        "typed = call(",
        "type(x)",
    ],
)
def test_a_statement_begins_no_passage(line: str) -> None:
    text = f"start = 1\n{body('before')}{line}\n{body('after')}"

    assert slices(text, "code") == [text]


def test_prose_is_cut_at_paragraphs_before_sentences_and_words() -> None:
    paragraph = "One sentence stands here. Another one follows it.\n\n"

    passages = slices(paragraph * 10, "prose", 120)
    sentences = slices("Some sentence of six words here. " * 20, "prose", 120)
    words = slices("word " * 100, "prose", 120)

    assert passages == [paragraph * 2] * 5
    assert all(p.endswith("here. ") for p in sentences)
    assert all(p.endswith("word ") for p in words)


def test_a_fenced_block_that_fits_is_not_divided() -> None:
    block = "```py\n" + "call()\n\n" * 20 + "```\n"
    text = "Words before the block. " * 8 + "\n" + block + "Words after it. " * 10

    assert any(block in p for p in slices(text, "prose", 260))


def test_what_is_read_as_one_character_is_not_divided() -> None:
    for unit in ("e\u0301", "👩‍👩‍👧", "👍🏽", "\ud83d\ude00"):
        assert all(p.startswith(unit[0]) for p in slices(unit * 100, "prose", 50))


def test_titles_name_what_encloses_a_passage() -> None:
    text = f"class Store:\n    def read(self):\n{body('    deep', 40)}\ntop = 1\n" + "more = 2\n" * 120
    spans = cut(text, kind="code")
    first_lines = [text[start:end].partition("\n")[0] for start, end in spans]
    found = dict(zip(first_lines, titles(text, spans, "code"), strict=True))

    assert found["class Store:"] is None
    assert "def read(self):" in found.values()
    assert found["more = 2"] is None


def test_titles_of_markdown_are_the_headings_above() -> None:
    text = "# Guide\n\n## Install ##\n" + "Do this and then that, as it is written. " * 60
    spans = cut(text, kind="markdown")

    assert titles(text, spans, "markdown") == (None, *["Install"] * (len(spans) - 1))


def test_a_turn_is_cut_so_that_no_passage_holds_two_types_of_parts() -> None:
    parts = (
        Part("thinking", "Hm."),
        Part("text", "I look."),
        Part("text", "Now."),
        Part("tool_call", "Read\npath: a.py"),
    )
    turn = Turn("m", ("a",), "assistant", None, None, parts)

    spans = cut_turn(turn)

    assert [turn.text[start:end].strip() for start, end in spans] == [
        "Hm.",
        "I look.\n\nNow.",
        "Read\npath: a.py",
    ]
    assert "".join(turn.text[start:end] for start, end in spans) == turn.text


def test_kinds_come_from_the_name() -> None:
    assert [kind_of(n) for n in ("a/README.md", "b.py", "Makefile", "notes.txt", "LICENSE", "C:\\x\\y.TS")] == [
        "markdown", "code", "code", "prose", "prose", "code",
    ]  # fmt: skip


def test_equal_texts_of_a_source_have_ids_of_their_own() -> None:
    ids = {
        passage_id("s", turn, text, k, b"key")
        for turn in (None, "", "t")
        for text in ("a", "\ud800")
        for k in (0, 1)
    }

    assert len(ids) == 12
    assert all(len(one) == 32 for one in ids)
