"""Hits for people: verbatim text, indented, under a line that says where it is from, when, and how it ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from chronofile.domain.times import own_clock
from chronofile.infra.cli.rendering import age, indented, table
from chronofile.query.answer import Context, Git, Hit

if TYPE_CHECKING:
    from chronofile.query.catalogue import Said

_FILE = "file://"
COMMIT_CHARS = 12
"""So much of a commit's id is shown; --json has all of it."""


def hit_lines(
    hit: Hit, rank: int | None = None, *, explain: bool = False, git: Git | None = None
) -> Iterator[str]:
    """Yield the lines of a hit. `explain` adds what each stage said of it, `git` where its repository stood."""
    number = "" if rank is None else f"{rank}. "
    score = "" if rank is None else f"  score {hit.score:.3f}"
    yield f"{number}{where_from(hit)}{_at(git)}"
    yield f"    {'  '.join(_labels(hit))}{score}"
    yield ""
    yield from indented(hit.text)
    if explain and hit.stages:
        yield ""
        yield from indented("\n".join(_stage_table(hit)))
    yield ""


def context_lines(context: Context) -> Iterator[str]:
    """Yield the lines of a passage and of those around it, and its source's whole text where that was asked for."""
    if context.whole is not None:
        yield where_from(context.hit) + _at(context.git)
        yield ""
        yield from indented(context.whole)
        return
    for hit in (*context.before, context.hit, *context.after):
        yield from hit_lines(hit, git=context.git if hit is context.hit else None)


def conversation_lines(hit: Hit, turns: Iterable[Said]) -> Iterator[str]:
    """Yield the lines of a whole conversation: each turn's text under who said it and when."""
    yield f"session {hit.session}"
    for said in turns:
        yield ""
        yield _said_by(said) or "turn"
        yield ""
        yield from indented(said.text)


def where_from(hit: Hit) -> str:
    """Return where a passage stands: a file and its lines, or a session, its title, the speaker and the time."""
    if hit.session is None:
        lines = f":{hit.lines[0]}-{hit.lines[1]}" if hit.lines else ""
        return place(hit.source.uri) + lines
    title = f'"{" ".join(hit.title.split())}"' if hit.title else ""
    return ", ".join(part for part in (f"session {hit.session}", title, _said_by(hit)) if part)


def place(uri: str) -> str:
    """Return a URI as a path, from the working directory where it is below that."""
    if not uri.startswith(_FILE):
        return uri
    path = Path(unquote(uri.removeprefix(_FILE), errors="surrogateescape"))
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def _at(git: Git | None) -> str:
    """Return at which commit and on which branch a file was captured, and whether it was changed since that commit."""
    if git is None:
        return ""
    commit = "before the first commit" if git.commit is None else f"at commit {git.commit[:COMMIT_CHARS]}"
    branch = f"on branch {git.branch}" if git.branch else "on no branch"
    state = {True: "changed since", False: "as committed", None: ""}[git.dirty]
    return ", ".join(["", commit, branch, *([state] if state else [])])


def _said_by(said: Hit | Said) -> str:
    speaker = f"{said.speaker} ({said.role})" if said.speaker and said.speaker != said.role else said.role
    return ", ".join(part for part in (speaker, _time(said.event_time)) if part)


def _labels(hit: Hit) -> list[str]:
    labels = [f"id {hit.id}", hit.scope]
    labels += [f"topic {hit.topic}"] if hit.topic else []
    labels += [f"kind {hit.kind}"] if hit.kind else []
    labels += [f"part {hit.part}"] if hit.part not in ("text", "file", "memory") else []
    labels += ["superseded"] if hit.superseded else []
    labels += [age(hit.age_s)] if hit.age_s is not None else []
    labels += [f"trust {hit.trust:.2f}"] if hit.trust is not None else []
    return labels


def _stage_table(hit: Hit) -> list[str]:
    rows: list[tuple[object, ...]] = [("stage", "rank", "score", "model")]
    for name, stage in (hit.stages or {}).items():
        score = "-" if stage.score is None else f"{stage.score:.4f}"
        rows.append((name, "-" if stage.rank is None else stage.rank, score, stage.model or ""))
    return table(rows, right=(1, 2))


def _time(text: str | None) -> str | None:
    moment = own_clock(text)
    return text if moment is None else moment.strftime("%Y-%m-%d %H:%M")
