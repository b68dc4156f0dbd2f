"""Words: what the analyser makes of text, of questions and of what is known about a passage."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.projections.recipe import embedding_text
from chronofile.projections.words import (
    ENGLISH_STOP_WORDS,
    LANGUAGES,
    TERM_CHARS_MAX,
    UnknownLanguage,
    analyse,
    passage_terms,
    query_terms,
    term_hash,
)


def test_english_words_are_stemmed_and_stop_words_left_out() -> None:
    assert analyse("The ports were listening on the hosts") == ["port", "listen", "host"]


def test_terms_keep_their_order_and_repeats() -> None:
    assert analyse("port, host, port") == ["port", "host", "port"]


def test_contractions_are_stop_words_and_possessives_are_their_owner() -> None:
    assert analyse("don't I'm they've what's") == []
    assert analyse("Ann's Ann’s ANN") == ["ann", "ann", "ann"]


@pytest.mark.parametrize("name", ["snake_case", "snakeCase", "SnakeCase", "SNAKE_CASE", "snake.case"])
def test_an_identifier_is_found_whole_and_by_each_of_its_words(name: str) -> None:
    terms = analyse(name)

    assert terms[0] in {"snake_case", "snakecas", "snake.case"}
    assert terms[1:] == ["snake", "case"]


def test_the_same_identifier_is_one_term_however_it_is_capitalised() -> None:
    assert set(analyse("chromadb")) <= set(analyse("ChromaDB"))
    assert set(analyse("getusers")) <= set(analyse("getUsers"))


def test_a_dotted_path_is_found_whole_by_segment_and_by_word() -> None:
    assert analyse("app.get_user") == ["app.get_user", "app", "get_user", "get", "user"]


def test_acronyms_within_a_name_are_words() -> None:
    assert analyse("HTTPServer")[1:] == ["http", "server"]


@pytest.mark.parametrize("asked", ["1.2.3", "v1.2.3"])
@pytest.mark.parametrize("written", ["1.2.3", "v1.2.3"])
def test_a_version_is_found_with_and_without_its_letter(asked: str, written: str) -> None:
    assert "1.2.3" in set(query_terms(asked)) & set(analyse(f"released {written} today"))


def test_a_hex_id_is_found_by_its_first_seven_characters() -> None:
    assert set(query_terms("8199be6f69")) & set(analyse("commit 8199be6f699a395f99f89df9"))
    assert not set(query_terms("8199be7")) & set(analyse("commit 8199be6f699a395f99f89df9"))


def test_numbers_lose_their_grouping_and_a_days_zero() -> None:
    assert analyse("1,200,000 on 05") == ["1200000", "5"]


def test_words_joined_by_a_hyphen_are_words() -> None:
    assert analyse("dry-run") == ["dri", "run"]


def test_languages_with_signs_in_their_names_are_terms() -> None:
    assert analyse("C++ or C#?") == ["c++", "c#"]


def test_accents_and_compatibility_forms_do_not_matter() -> None:
    assert analyse("Cafés ﬁne Ｐｏｒｔ") == analyse("cafes fine port")


def test_text_without_spaces_gives_pairs_of_characters() -> None:
    assert analyse("東京都庁") == ["東京", "京都", "都庁"]
    assert set(query_terms("東京")) <= set(analyse("私は東京に住んでいます。"))
    assert analyse("猫") == ["猫"]
    assert analyse("Python入門") == ["python", "入門"]


def test_vowel_signs_stay_in_their_word() -> None:
    assert analyse("हिन्दी में", "simple") == ["हिन्दी", "में"]


def test_simple_words_have_no_stems_and_no_stop_words() -> None:
    assert analyse("The Ports", "simple") == ["the", "ports"]


def test_another_language_has_its_own_stems() -> None:
    assert analyse("les chevaux", "french")[1:] == analyse("cheval", "french")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_known_language_can_be_analysed(language: str) -> None:
    assert analyse("Porto 5432 été", language)


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UnknownLanguage, match=r"klingon.*english"):
        analyse("nuqneH", "klingon")


def test_a_question_of_stop_words_alone_keeps_them() -> None:
    assert query_terms("who is it?") == ["who", "is", "it"]


def test_the_stop_words_are_as_the_analyser_sees_words() -> None:
    assert all(analyse(word, "simple") == [word] for word in ENGLISH_STOP_WORDS)


@pytest.mark.parametrize("question", ['"unbalanced (AND OR', "a:b^2~", "-- ';", "\x00\ud800", "🎉", ""])
def test_no_question_is_a_syntax_error(question: str) -> None:
    assert isinstance(query_terms(question), list)


@given(st.text(max_size=200))
def test_terms_are_short_without_space_and_hashable_whatever_the_text(text: str) -> None:
    for term in analyse(text):
        assert 0 < len(term) <= TERM_CHARS_MAX
        assert not any(map(str.isspace, term))
        assert -(2**63) <= term_hash(term) < 2**63


@given(st.text(max_size=60))
def test_a_question_in_the_words_of_a_text_finds_it(text: str) -> None:
    assert set(analyse(text)) == set(analyse(f"{text}\n{text}"))


def test_the_hash_of_a_term_is_fixed() -> None:
    assert term_hash("port") == int.from_bytes(bytes.fromhex("1f939f483813bf72"), "big", signed=True)


@pytest.mark.parametrize("question", ["8 May 2023", "May 8, 2023", "in May", "2023-05-08", "2023-05"])
def test_a_passage_is_found_by_its_day(question: str) -> None:
    terms = passage_terms("We moved.", at=datetime(2023, 5, 8, 13, 56))

    # The month's number alone is no term of the day: too many other numbers would be like it.
    assert set(query_terms(question)) - {"5"} <= set(terms)


def test_a_passage_is_found_by_its_speaker_and_its_title() -> None:
    terms = passage_terms("We moved.", speaker="Ann Lee", title="src/app/main.py")

    assert {"ann", "lee", "main.py", "main", "app", "move"} <= set(terms)


def test_the_recipe_names_speaker_and_day_before_the_text() -> None:
    day = datetime(2023, 5, 8)

    assert embedding_text("We moved.", speaker="Ann", at=day) == "Ann (8 May 2023): We moved."
    assert embedding_text("x = 1", title="src/app.py") == "src/app.py: x = 1"
    assert embedding_text("We moved.") == "We moved."
