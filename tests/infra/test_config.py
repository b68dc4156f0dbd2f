"""Configuration: which value wins, what is an error, and what is shown of secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from chronofile.domain.errors import ChronofileError
from chronofile.infra.config import BadSetting, UnknownSetting, load
from chronofile.infra.embedders.errors import UnknownEmbedder
from chronofile.infra.failures import masked
from chronofile.projections.words import UnknownLanguage
from tests.infra.command_line import CommandLine

TOML, ENVIRONMENT, FLAG = "german", "french", "spanish"


def written(home: Path, text: str) -> dict[str, str | None]:
    """Write config.toml, and return flags that name its home."""
    (home / "config.toml").write_text(text)
    return {"home": str(home)}


def test_a_flag_wins_over_the_environment_over_the_file_over_the_default(home: Path) -> None:
    flags = written(home, f'language = "{TOML}"\n')
    variables = {"CHRONOFILE_LANGUAGE": ENVIRONMENT}

    found = [
        load(given, environment).values["language"]
        for given, environment in (
            ({"home": str(home / "none")}, {}),
            (flags, {}),
            (flags, variables),
            ({**flags, "language": FLAG}, variables),
        )
    ]

    assert [value.value for value in found] == ["english", TOML, ENVIRONMENT, FLAG]
    assert [value.origin for value in found] == ["default", "config.toml", "CHRONOFILE_LANGUAGE", "flag"]


def test_an_empty_variable_counts_as_unset(home: Path) -> None:
    config = load({"home": str(home)}, {"CHRONOFILE_DATABASE_URL": "", "CHRONOFILE_HOME": ""})

    assert config["database_url"] is None


def test_the_home_comes_from_the_variable_where_no_flag_says_otherwise(home: Path) -> None:
    config = load({}, {"CHRONOFILE_HOME": str(home)})

    assert (config.home, config.home_origin) == (home, "CHRONOFILE_HOME")


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ('colour = "red"', UnknownSetting, "'colour' in"),
        ("language = 3", BadSetting, "must be a string"),
        ("language =", BadSetting, "config.toml"),
        ('language = "klingon"', UnknownLanguage, "'klingon'"),
        ('embedder = "nonsense"', UnknownEmbedder, "'nonsense'"),
        ('reranker = "nonsense"', BadSetting, "late-interaction"),
        ('database_url = "made-up secret"', BadSetting, "config.toml"),
    ],
)
def test_what_means_nothing_is_an_error(home: Path, text: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence) as raised:
        load(written(home, text), {})

    assert "made-up" not in str(raised.value)


def test_a_home_that_is_a_file_and_one_of_nobody_are_errors(home: Path) -> None:
    (home / "file").touch()

    for named in (str(home / "file"), "~nobody-by-this-name/memory"):
        with pytest.raises(ChronofileError):
            load({"home": named}, {})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@host/name", "postgresql://me:***@host/name"),
        ("postgresql://me:se@cr:et@host/name", "postgresql://me:***@host/name"),
        ("postgresql://me@host/name?password=secret&x=1", "postgresql://me@host/name?password=***&x=1"),
        ("host=h password='se cret' user=me", "host=h password=*** user=me"),
        ("redis://:secret@host:6379/0", "redis://:***@host:6379/0"),
        ("postgresql:///name", "postgresql:///name"),
    ],
)
def test_passwords_are_masked(url: str, shown: str) -> None:
    assert masked(url) == shown


def test_config_shows_every_value_its_origin_and_no_password(home: Path, tmp_path: Path) -> None:
    written(home, 'database_url = "postgresql://me:made-up-secret@host/name"\n')
    line = CommandLine(home, tmp_path)

    shown, values = line.run("config"), line.run("config", "--json").json

    assert "made-up-secret" not in shown.out
    assert values["database_url"] == {"value": "postgresql://me:***@host/name", "from": "config.toml"}
    assert values["home"]["from"] == "CHRONOFILE_HOME"
    assert values["embedder"] == {"value": "minilm", "from": "default"}


def test_an_unknown_key_stops_every_command_with_a_sentence(home: Path, tmp_path: Path) -> None:
    written(home, 'colour = "red"\n')

    ran = CommandLine(home, tmp_path).run("status")

    assert (ran.status, ran.out) == (1, "")
    assert "'colour' in" in ran.err
