"""Names of code in questions, and the passages in which they stand."""

from __future__ import annotations

import pytest

from chronofile.query.identifiers import identifiers, looks_up, standing


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("where is read_many called?", ("read_many",)),
        ("class QuerySet", ("QuerySet",)),
        ("What does os.path.join do with read_many and os.path.join?", ("os.path.join", "read_many")),
        ("When did Melanie go to the lake?", ()),
        ("it ended. Then what", ()),
        ("e-mail ... ??? \ud800", ()),
    ],
)
def test_names_of_code_are_told_from_prose(question: str, names: tuple[str, ...]) -> None:
    assert identifiers(question) == names


def test_a_name_stands_whole_or_not_at_all() -> None:
    assert standing(["read_many"], "self.read_many(x)") == (1.0, 0.0)
    assert standing(["read_many"], "read_many_more()") == (0.0, 0.0)
    assert standing(["read_many", "QuerySet"], "def read_many(self):") == (0.5, 0.5)
    assert standing([], "anything") == (0.0, 0.0)


def test_a_question_of_one_or_two_words_is_answered_where_both_stand() -> None:
    assert looks_up("the café?", "We met at the Café.")
    assert not looks_up("café terrace", "We met at the Café.")
    assert not looks_up("where did Ann meet Bob", "where did Ann meet Bob")
    assert not looks_up("?", "?")
