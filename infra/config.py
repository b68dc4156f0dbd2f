"""Configuration: flag over environment over config.toml over default, and where each value came from."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from chronofile.domain.errors import ChronofileError

FILE_NAME = "config.toml"
LATE_INTERACTION = "late-interaction"
NONE = "none"
ON, OFF = "on", "off"


class UnknownSetting(ChronofileError):
    """config.toml has a key that means nothing here:"""


class BadSetting(ChronofileError):
    """A setting cannot be used:"""


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing that can be set: its environment variable, its default, and what it means."""

    name: str
    variable: str
    default: str | None
    meaning: str


SETTINGS = (
    Setting("database_url", "CHRONOFILE_DATABASE_URL", None, "an external PostgreSQL with pgvector"),
    Setting("embedder", "CHRONOFILE_EMBEDDER", "minilm", "what computes the vectors: provider:name"),
    Setting("reranker", "CHRONOFILE_RERANKER", LATE_INTERACTION, "what reads the best candidates closely"),
    Setting("llm", "CHRONOFILE_LLM", NONE, "a language model for later stages"),
    Setting("broker_url", "CHRONOFILE_BROKER_URL", None, "a broker for workers on other machines"),
    Setting(
        "language", "CHRONOFILE_LANGUAGE", "english", "the language of the words: a stemmer's, or simple"
    ),
    Setting(
        "redaction", "CHRONOFILE_REDACTION", ON, "on: secrets are taken out before anything is stored; or off"
    ),
)


@dataclass(frozen=True, slots=True)
class Value:
    """An effective value and its origin: `flag`, an environment variable's name, `config.toml` or `default`."""

    value: str | None
    origin: str


@dataclass(frozen=True, slots=True)
class Config:
    """Every effective value of this process."""

    home: Path
    home_origin: str
    values: Mapping[str, Value]

    def __getitem__(self, name: str) -> str | None:
        return self.values[name].value


def load(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> Config:
    """Return the configuration. An empty variable counts as unset.

    Raises UnknownSetting, BadSetting, UnknownEmbedder, UnknownLanguage.
    """
    home, origin = _home(flags.get("home"), environment.get("CHRONOFILE_HOME"))
    file = _read(home / FILE_NAME)
    values = {setting.name: _value(setting, flags, environment, file) for setting in SETTINGS}
    _check(values)
    return Config(home, origin, values)


def _home(flag: str | None, variable: str | None) -> tuple[Path, str]:
    if flag:
        return _folder(flag), "flag"
    if variable:
        return _folder(variable), "CHRONOFILE_HOME"
    from platformdirs import user_data_path

    return user_data_path("chronofile", appauthor=False), "default"


def _folder(named: str) -> Path:
    try:
        return Path(named).expanduser().absolute()
    except RuntimeError as error:
        raise BadSetting(f"home = {named!r}: there is no such user.") from error


def _read(path: Path) -> Mapping[str, str]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise BadSetting(f"{path}: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadSetting(f"{path}: {error}.") from error
    known = {setting.name for setting in SETTINGS}
    if unknown := sorted(set(found) - known):
        raise UnknownSetting(f"{unknown[0]!r} in {path}. Known are {', '.join(sorted(known))}.")
    for name, value in found.items():
        if not isinstance(value, str):
            raise BadSetting(f"{name} in {path} must be a string in quotes.")
    return found


def _value(
    setting: Setting, flags: Mapping[str, str | None], environment: Mapping[str, str], file: Mapping[str, str]
) -> Value:
    if flag := flags.get(setting.name):
        return Value(flag, "flag")
    if variable := environment.get(setting.variable):
        return Value(variable, setting.variable)
    if setting.name in file:
        return Value(file[setting.name], FILE_NAME)
    return Value(setting.default, "default")


def _check(values: Mapping[str, Value]) -> None:
    for name, only in (("reranker", LATE_INTERACTION), ("llm", NONE), ("broker_url", None)):
        if values[name].value != only:
            raise BadSetting(
                f"{name} = {values[name].value!r}: this version knows {only or 'no broker'} alone."
            )
    if values["redaction"].value not in (ON, OFF):
        raise BadSetting(f"redaction = {values['redaction'].value!r}: it is {ON} or {OFF}.")
    _check_names(values["embedder"], values["language"])
    if (url := values["database_url"]).value is not None:
        _check_url(url)


def _check_names(embedder_name: Value, language: Value) -> None:
    """A name that means nothing is an error at once, also where an earlier choice still serves."""
    if embedder_name.origin != "default":
        from chronofile.infra.embedders import embedder

        embedder(str(embedder_name.value))
    if language.origin != "default":
        from chronofile.projections.words import LANGUAGES, UnknownLanguage

        if language.value not in LANGUAGES:
            raise UnknownLanguage(str(language.value))


def _check_url(url: Value) -> None:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict

    try:
        conninfo_to_dict(str(url.value))
    except psycopg.Error:
        # What the client says of it would show the password.
        raise BadSetting(
            f"database_url (from {url.origin}) is no URL such as postgresql://user@host/name."
        ) from None


def from_environment(flags: Mapping[str, str | None]) -> Config:
    """Return the configuration of this process."""
    return load(flags, os.environ)
