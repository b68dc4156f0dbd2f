"""Search: from a question to its answer, in one reading of the projections."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sqlalchemy as sa
import structlog
from numpy.typing import NDArray

from chronofile.domain.errors import BadRequest
from chronofile.domain.ports import Embedder, StaticVectors
from chronofile.domain.scopes import GLOBAL
from chronofile.projections import control, instant, lexical, passages, sources, vectors
from chronofile.projections.control import Generation
from chronofile.projections.words import query_terms, term_hash
from chronofile.query import candidates, legs
from chronofile.query.answer import Answer, Hit, Stage
from chronofile.query.candidates import Pool
from chronofile.query.hits import hits
from chronofile.query.identifiers import looks_up
from chronofile.query.interaction import Tokens, token_weights
from chronofile.query.question import Question, Within, require_scopes, within
from chronofile.query.ranking import Candidates, Ranked, Reading, rank, read_closely, worth_reading
from chronofile.query.verdict import features_of, matched, unseen_share

MODE = "standard"
READ = (sources.NAME, passages.NAME, lexical.NAME, instant.NAME)
"""The projections that every answer reads: its position is the lowest of their checkpoints."""
QUESTION_TOKENS_MAX = 256

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Models:
    """What turns a question into vectors. `embedder` gives the embedder that a generation was built with.

    It raises where that model is not to be had; the answer then goes without that leg and says so.
    """

    static: StaticVectors
    embedder: Callable[[Mapping[str, Any]], Embedder]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question as each leg takes it."""

    keys: tuple[int, ...]
    static: NDArray[np.float32] | None
    """None where the instant vectors are of another table than this process has: nothing compares to them."""
    tokens: tuple[int, ...]
    dense: NDArray[np.float32] | None
    pending: int
    """How many passages in scope have no transformer vector yet."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """The candidates with their scores, and the token ids of the candidates and of the background's passages."""

    candidates: Candidates
    tokens: Sequence[NDArray[np.uint16]]
    background_tokens: Sequence[NDArray[np.uint16]]


def search(engine: sa.Engine, models: Models, question: Question, head: int) -> Answer:
    """Answer a question from one reading; `head` is the log's last position, to say how far behind it is.

    Raises BadRequest for a question without a word, UnknownScope for a scope that nobody created.
    """
    if not question.text.strip():
        raise BadRequest("the question is empty.")
    started = time.perf_counter()
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as conn, conn.begin():
        serving = control.read_active(conn)
        here = control.translated(conn, serving)
        legs.settle(here)
        position = min(serving[name].position for name in READ)
        known = {row.name: row.no for row in here.execute(sa.select(passages.scope)).all()}
        _require_known(here, question, known)
        as_of = position if question.as_of is None else min(max(question.as_of, 0), position)
        where = within(question, as_of, known)
        asked, degraded = _asked(here, models, question, serving, where)
        if position < head:
            degraded.append(f"log: {head - position} events not applied yet")
        found = _found(here, models, serving, where, question, asked)
    scopes = question.filters.scopes
    return Answer(
        query=question.text,
        scopes=tuple(sorted(known)) if scopes is None else scopes,
        mode=MODE,
        position=position,
        as_of=question.as_of,
        matched=found.matched,
        degraded=tuple(degraded),
        took_ms=round((time.perf_counter() - started) * 1000),
        hits=tuple(found.hits),
    )


@dataclass(frozen=True, slots=True)
class _Found:
    hits: Sequence[Hit]
    matched: bool


def _found(
    conn: sa.Connection,
    models: Models,
    serving: Mapping[str, Generation],
    where: Within,
    question: Question,
    asked: _Asked,
) -> _Found:
    tables = legs.vector_tables(serving)
    terms = legs.weigh(conn, where, asked.keys)
    legs_found = [legs.by_words(conn, where, terms)]
    if tables is not None and asked.dense is not None:
        legs_found.append(legs.by_vectors(conn, where, tables, asked.dense, terms.n))
    if asked.static is not None and (asked.dense is None or asked.pending):
        legs_found.append(legs.by_instant_vectors(conn, where, tables, asked.static))
    found = list(dict.fromkeys(number for leg in legs_found for number in leg))
    if not found:
        return _Found((), matched=False)
    pool = candidates.pool(conn, where, question.words, found)
    if not pool.numbers:
        return _Found((), matched=False)
    base = legs.background(conn, where)
    measured = _measured(conn, tables, terms, asked, pool, base)
    scored = measured.candidates
    late = None if asked.static is None else read_closely(scored, _reading(models, asked, measured))
    ranked = rank(scored, late)
    order = _distinct(pool, ranked)
    features = features_of(scored, ranked, unseen_share(terms.df, terms.n), terms.n, pool.eligible)
    chosen = order[: max(question.limit, 1)]  # The verdict looks at the best hit also where none is wanted.
    stages = {pool.numbers[i]: _stages(ranked, i, serving) for i in chosen} if question.explain else None
    loaded = hits(
        conn,
        [pool.numbers[i] for i in chosen],
        position=where.position,
        at=question.at,
        scores={pool.numbers[i]: float(ranked.final[i]) for i in chosen},
        stages=stages,
    )
    answered = bool(order) and matched(features)[0]
    answered = answered or any(looks_up(question.words, hit.text) for hit in loaded[:1])
    return _Found(loaded[: question.limit], answered)


def _require_known(conn: sa.Connection, question: Question, known: Mapping[str, int]) -> None:
    """Raise UnknownScope; a scope that was created and holds nothing yet is known too."""
    wanted = set(question.filters.scopes or ()) - {GLOBAL, *known}
    if wanted:
        created = set(conn.scalars(sa.select(sources.scope.c.name)))
        require_scopes(sorted(wanted), created)


def _asked(
    conn: sa.Connection,
    models: Models,
    question: Question,
    serving: Mapping[str, Generation],
    where: Within,
) -> tuple[_Asked, list[str]]:
    """Turn the question into what each leg takes, and say which leg goes without it or lacks passages."""
    degraded: list[str] = []
    language = str(serving[lexical.NAME].configuration["language"])
    keys = tuple(dict.fromkeys(map(term_hash, query_terms(question.words, language))))
    static: NDArray[np.float32] | None = None
    tokens: tuple[int, ...] = ()
    kept = serving[instant.NAME].configuration["vectors"]
    if models.static.identity == kept:
        static, tokens = _statically(models.static, question)
    else:
        degraded.append(f"instant: {models.static.identity} instead of {kept}")
    tables = legs.vector_tables(serving)
    if tables is None:
        return _Asked(keys, static, tokens, None, 0), [*degraded, "vectors: none are kept"]
    dense = None
    try:
        dense = models.embedder(serving[vectors.NAME].configuration).embed([question.close])[0]
    except Exception as error:  # noqa: BLE001  # Whatever a model does, the other legs answer.
        log.warning("question not embedded", error=type(error).__name__)
        degraded.append(f"vectors: {(str(error) or type(error).__name__).splitlines()[0]}")
    pending = legs.waiting(conn, where, tables, serving[vectors.NAME].position)
    if pending:
        degraded.append(f"vectors: {pending} pending")
    return _Asked(keys, static, tokens, dense, pending), degraded


def _statically(static: StaticVectors, question: Question) -> tuple[NDArray[np.float32], tuple[int, ...]]:
    """Return the question's static vector and its distinct tokens."""
    tokens = static.tokens([question.close])[0][-QUESTION_TOKENS_MAX:]
    return static.pool([tokens])[0], tuple(dict.fromkeys(tokens))


def _measured(
    conn: sa.Connection,
    tables: vectors.Tables | None,
    terms: legs.Terms,
    asked: _Asked,
    pool: Pool,
    base: Sequence[int],
) -> _Measured:
    """Score every candidate and the background exactly on every leg."""
    numbers = list(dict.fromkeys([*pool.numbers, *base]))
    n, index = len(pool.numbers), {number: i for i, number in enumerate(numbers)}
    behind = np.array([index[number] for number in base], dtype=np.int64)
    words = legs.word_scores(conn, terms, numbers)
    nothing = np.zeros(instant.DIMENSION, dtype=np.float32)
    found = legs.measure(
        conn, tables, asked.dense, nothing if asked.static is None else asked.static, numbers
    )
    if asked.static is None:
        found = replace(found, instant=np.full(len(numbers), np.nan))
    scored = Candidates(
        lexical=words[:n],
        dense=found.dense[:n],
        instant=found.instant[:n],
        background_lexical=words[behind],
        background_dense=found.dense[behind],
        background_instant=found.instant[behind],
        previous=pool.previous,
        following=pool.following,
        group=pool.group,
        asks=pool.asks,
        named=pool.named,
        self_said=pool.self_said,
        of_file=pool.of_file,
        literal=pool.standing[:, 0],
        defines=pool.standing[:, 1],
    )
    return _Measured(scored, found.tokens[:n], [found.tokens[i] for i in behind])


def _reading(models: Models, asked: _Asked, measured: _Measured) -> Reading:
    """Lay out the tokens of the candidates that are worth reading closely."""
    indexes = worth_reading(measured.candidates)
    flat = Tokens.of([measured.tokens[i] for i in indexes])
    distinct, places = np.unique(flat.ids, return_inverse=True)
    return Reading(
        indexes=indexes,
        tokens=replace(flat, ids=places.astype(np.int64)),
        token_rows=models.static.rows(distinct.tolist()),
        question_rows=models.static.rows(asked.tokens),
        question_weights=token_weights(asked.tokens, Tokens.of(measured.background_tokens)),
    )


def _stages(ranked: Ranked, i: int, serving: Mapping[str, Generation]) -> dict[str, Stage]:
    """Return each stage's rank and score of a candidate; None where the stage did not judge it."""
    embedder = serving[vectors.NAME].configuration["embedder"] if vectors.NAME in serving else None
    static = str(serving[instant.NAME].configuration["vectors"])
    columns: list[tuple[str, NDArray[np.float64], str | None]] = [
        ("lexical", ranked.lexical, None),
        ("dense", ranked.dense, embedder),
        ("instant", ranked.instant, static),
        ("fused", ranked.mixed, None),
        ("late", ranked.late, static),
        ("context", ranked.context, None),
        ("session", ranked.group, None),
        ("final", ranked.final, None),
    ]
    found = {}
    for name, scores, model in columns:
        score = float(scores[i])
        judged = not np.isnan(score)
        place = int(np.sum(scores > score)) + 1 if judged else None
        found[name] = Stage(place, round(score, 4) if judged else None, model)
    return found


def _distinct(pool: Pool, ranked: Ranked) -> list[int]:
    """Return the indexes of the hits, best first: what passes the filters, each span once.

    A session that was resumed or copied brings its turns again in another file; the best one stands for all.
    """
    seen: set[Any] = set()
    order = []
    for i in map(int, ranked.order):
        if pool.eligible[i] and pool.spans[i] not in seen:
            seen.add(pool.spans[i])
            order.append(i)
    return order
