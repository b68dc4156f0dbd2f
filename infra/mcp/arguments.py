"""Arguments: what each tool takes, as a client reads it and as it is checked."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from chronofile.domain.memories import KEY_CHARS_MAX, KIND_DEFAULT, REASON_CHARS_MAX, TEXT_CHARS_MAX

LIMIT_MAX = 50
CONTEXT_MAX = 50
TOKEN_BUDGET_MIN = 200
FORGOTTEN_MAX = 50
"""So many memories at a time: each is shown before it is forgotten."""

_EMPTY_IS_NONE = BeforeValidator(lambda value: None if value == "" else value)
Optional = Annotated[str | None, _EMPTY_IS_NONE]
"""A text that may be left out. Models that fill in every argument leave it empty."""


class Arguments(BaseModel):
    """What every tool's arguments have in common: names that are not known are refused, not dropped."""

    model_config = ConfigDict(extra="forbid")


class SearchArguments(Arguments):
    query: Annotated[
        str,
        Field(
            description="What to look for, as a question or in words. Names, file names, error messages and "
            "dates help. Of more than 20,000 characters the last count."
        ),
    ]
    scope: Annotated[
        Optional,
        Field(
            description="A scope's name as in a hit's `scope`, such as project:api, or `all` for every scope. "
            "Default: the scope that this server was started with, else the scopes of its working "
            "directory and `global`, else every scope. The answer's `scopes` names those searched."
        ),
    ] = None
    topic: Annotated[Optional, Field(description="Only passages of this topic, as in a hit's `topic`.")] = (
        None
    )
    kind: Annotated[
        Optional,
        Field(
            description="Only memories of this kind, as in a hit's `kind`, such as note or decision. Passages of "
            "sessions and files are not classified yet: their `kind` is null."
        ),
    ] = None
    session: Annotated[
        Optional, Field(description="Only passages of this session, by its own id as in a hit's `session`.")
    ] = None
    speaker: Annotated[
        Optional, Field(description="Only what this speaker said, in any case, as in a hit's `speaker`.")
    ] = None
    source: Annotated[
        Optional,
        Field(description="Only passages from this source: a `source.uri` of a hit, or a file's path."),
    ] = None
    since: Annotated[
        Optional,
        Field(
            description="Only what happened at or after this time, ISO-8601: 2026-05-08 or "
            "2026-05-08T14:30:00+02:00; without an offset in this machine's time zone."
        ),
    ] = None
    until: Annotated[
        Optional,
        Field(description="Only what happened at or before this time; a bare date includes its whole day."),
    ] = None
    as_of: Annotated[
        int | str | None,
        _EMPTY_IS_NONE,
        Field(
            description="Search the memory as it was then: a position of the log (digits), or a time, which is "
            "the last position recorded by then. Default: now."
        ),
    ] = None
    limit: Annotated[int, Field(ge=1, le=LIMIT_MAX, description="How many passages at most.")] = 10
    explain: Annotated[
        bool, Field(description="Add to each hit what every stage of the ranking said of it, as `stages`.")
    ] = False
    token_budget: Annotated[
        int | None,
        Field(
            ge=TOKEN_BUDGET_MIN,
            description="Bounds the text that comes back, at four characters a token. Whole passages are "
            "kept, best first, as they fit; `omitted` lists those that were left out.",
        ),
    ] = None


class PassageArguments(Arguments):
    id: Annotated[str, Field(min_length=1, description="A passage's id: the `id` of a hit.")]
    context: Annotated[
        int,
        Field(ge=0, le=CONTEXT_MAX, description="How many passages of the same source before and after it."),
    ] = 0
    whole: Annotated[
        bool,
        Field(
            description="Add the whole text of the passage's source, its first 200,000 characters: a long "
            "text, which `context` often spares."
        ),
    ] = False


class RememberArguments(Arguments):
    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=TEXT_CHARS_MAX,
            description="What to remember, in words that can be understood without this conversation: names, "
            "dates and reasons rather than `it` and `yesterday`.",
        ),
    ]
    scope: Annotated[
        Optional,
        Field(
            description="The scope's name, such as project:api or global; one that there is not is made. Default: "
            "the scope that this server was started with, else that of its working directory, else `global`."
        ),
    ] = None
    kind: Annotated[
        str,
        BeforeValidator(lambda value: KIND_DEFAULT if value in ("", None) else value),
        Field(
            pattern="^[a-z0-9_-]{1,40}$",
            description="What it is, by which it can be searched: note, decision, preference, fact, problem...",
        ),
    ] = KIND_DEFAULT
    key: Annotated[
        Annotated[str, Field(max_length=KEY_CHARS_MAX)] | None,
        _EMPTY_IS_NONE,
        Field(
            description="An idempotency key of your own, such as staging-port: within a scope it stands for one "
            "memory, so that a call can be repeated without harm. With another text it is a conflict.",
        ),
    ] = None


class CorrectArguments(Arguments):
    id: Annotated[
        str,
        Field(
            min_length=1,
            description="The memory's id as remember returned it, or the `id` of a hit that is a passage of it.",
        ),
    ]
    text: Annotated[
        str,
        Field(
            min_length=1,
            max_length=TEXT_CHARS_MAX,
            description="The whole text that takes the place of the former.",
        ),
    ]


class ForgetArguments(Arguments):
    ids: Annotated[
        list[Annotated[str, Field(min_length=1)]],
        Field(
            min_length=1,
            max_length=FORGOTTEN_MAX,
            description="The memories' ids as remember returned them, or the `id` of hits that are passages of them.",
        ),
    ]
    token: Annotated[
        Optional,
        Field(
            description="From the preview of this very list. Without it nothing is forgotten and the preview is returned."
        ),
    ] = None
    reason: Annotated[
        Annotated[str, Field(max_length=REASON_CHARS_MAX)] | None,
        _EMPTY_IS_NONE,
        Field(description="Why, for whoever looks at the log later."),
    ] = None


class NoArguments(Arguments):
    """Of a tool that takes none."""
