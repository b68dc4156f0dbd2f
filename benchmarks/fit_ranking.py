"""Fit the weights of the ranking, and report what they reach on conversations that they were not fitted on.

    python benchmarks/fit_ranking.py FOLDER... [--cache DIR] [--fit] [--pending]

A folder holds `*.turns.jsonl`, `queries.jsonl` and `gold.jsonl`. Without --fit the shipped weights are scored;
--pending scores a store whose transformer vectors are still to come. Vectors are kept in the cache folder.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chronofile.domain.passages import cut
from chronofile.domain.ports import Embedder, StaticVectors
from chronofile.projections.recipe import embedding_text
from chronofile.projections.words import passage_terms, query_terms, term_hash
from chronofile.query.interaction import Tokens, best_matches, token_weights
from chronofile.query.people import asks_of_self, named_person
from chronofile.query.ranking import FITTED, Candidates, Ranked, Weights, late_scores, rank, worth_reading
from chronofile.query.scores import Floats, Ints, bm25

LEG_MAX = 100
BACKGROUND_MAX = 512
FOLDS = 5
GRID: dict[str, Sequence[float]] = {
    "dense": (0.4, 0.5, 0.6, 0.7),
    "late": (0.0, 0.3, 0.5, 0.7, 1.0),
    "late_neighbours": (0.0, 0.5, 0.7, 0.9),
    "asks": (0.0, -0.3, -0.6, -0.9),
    "previous": (0.0, 0.2, 0.3, 0.4),
    "following": (0.0, 0.1, 0.15, 0.2),
    "second_previous": (0.0, 0.1, 0.2, 0.3),
    "second_following": (0.0, 0.05, 0.1),
    "group": (0.0, 0.15, 0.3, 0.5, 0.8),
    "person": (0.0, 0.5, 1.0, 1.5),
    "self_said": (0.0, 0.25, 0.5, 0.75),
}


@dataclass(frozen=True, slots=True)
class Passage:
    turn: str
    session: str
    speaker: str | None
    role: str
    at: datetime | None
    text: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The passages of one scope in their order, and all that is computed of them once."""

    passages: list[Passage]
    vectors: NDArray[np.float32]
    static: NDArray[np.float32]
    tokens: list[list[int]]
    postings: dict[str, dict[int, int]]
    lengths: Floats
    background: Ints
    previous: Ints
    following: Ints
    group: Ints


@dataclass(frozen=True, slots=True)
class Case:
    """A question with its candidates; `matches` has a column for each of them."""

    scope: str
    category: str
    unit: str
    gold: frozenset[str]
    names: list[str]
    candidates: Candidates
    matches: NDArray[np.float32]
    question_weights: Floats


def read_cases(
    folder: Path, embedder: Embedder, static: StaticVectors, cache: Path, pending: bool
) -> list[Case]:
    scopes = {
        name: scope_of(passages, embedder, static, cache)
        for name, passages in passages_of(folder.glob("*.turns.jsonl")).items()
    }
    gold = {row["id"]: row for row in rows_of(folder / "gold.jsonl")}
    questions = [row for row in rows_of(folder / "queries.jsonl") if row["scope"] in scopes]
    vectors = cached_vectors([row["query"] for row in questions], embedder, cache)
    cases = []
    for row, vector in zip(questions, vectors, strict=True):
        answer = gold[row["id"]]
        unit = "turns" if answer["turns"] else "sessions"
        if answer[unit]:
            scope = scopes[row["scope"]]
            indexes, candidates = candidates_of(row["query"], vector, scope, static, pending)
            matches, weights = matches_of(row["query"], scope, indexes, static)
            names = [getattr(scope.passages[i], unit[:-1]) for i in indexes]
            cases.append(
                Case(
                    row["scope"],
                    answer["category"],
                    unit,
                    frozenset(answer[unit]),
                    names,
                    candidates,
                    matches,
                    weights,
                )
            )
    return cases


def rows_of(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def passages_of(paths: Iterable[Path]) -> dict[str, list[Passage]]:
    scopes: dict[str, list[Passage]] = {}
    for row in (row for path in sorted(paths) for row in rows_of(path)):
        at = datetime.fromisoformat(row["at"]) if row.get("at") else None
        for start, end in cut(row["text"], kind="prose"):
            passage = Passage(
                row["turn"], row["session"], row.get("speaker"), row["role"], at, row["text"][start:end]
            )
            scopes.setdefault(row["scope"], []).append(passage)
    return scopes


def cached_vectors(texts: list[str], embedder: Embedder, cache: Path) -> NDArray[np.float32]:
    key = blake2b("\0".join([embedder.identity, *texts]).encode(), digest_size=12).hexdigest()
    path = cache / f"{key}.npy"
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        np.save(path, embedder.embed(texts))
    vectors: NDArray[np.float32] = np.load(path)
    return vectors


def scope_of(passages: list[Passage], embedder: Embedder, static: StaticVectors, cache: Path) -> Scope:
    texts = [embedding_text(p.text, speaker=p.speaker, at=p.at) for p in passages]
    tokens = static.tokens(texts)
    postings: dict[str, dict[int, int]] = {}
    lengths = np.zeros(len(passages))
    for i, p in enumerate(passages):
        counted = Counter(passage_terms(p.text, speaker=p.speaker, at=p.at))
        lengths[i] = counted.total()
        for term, often in counted.items():
            postings.setdefault(term, {})[i] = often
    numbers = {session: n for n, session in enumerate(dict.fromkeys(p.session for p in passages))}
    group = np.array([numbers[p.session] for p in passages])
    same = group[1:] == group[:-1]
    index = np.arange(len(passages))
    hashes = np.array([term_hash(f"{i} {text}") for i, text in enumerate(texts)])
    return Scope(
        passages, cached_vectors(texts, embedder, cache), static.pool(tokens), tokens, postings, lengths,
        np.argsort(hashes)[:BACKGROUND_MAX],
        np.concatenate([[-1], np.where(same, index[:-1], -1)]), np.concatenate([np.where(same, index[1:], -1), [-1]]),
        group,
    )  # fmt: skip


def candidates_of(
    question: str, vector: NDArray[np.float32], scope: Scope, static: StaticVectors, pending: bool
) -> tuple[Ints, Candidates]:
    """Return the best of both legs with their neighbours: their places in the scope, and what is known of them."""
    lexical = lexical_scores(query_terms(question), scope)
    dense = (scope.vectors @ vector).astype(np.float64)
    instant = (scope.static @ static.pool(static.tokens([question]))[0]).astype(np.float64)
    legs = (lexical, instant) if pending else (lexical, dense)
    dense = np.full_like(dense, np.nan) if pending else dense
    core = np.unique(np.concatenate([np.argsort(-leg, kind="stable")[:LEG_MAX] for leg in legs]))
    indexes = with_neighbours(with_neighbours(core, scope), scope)
    place = np.full(len(scope.passages) + 1, -1)
    place[indexes] = np.arange(len(indexes))
    chosen = [scope.passages[i] for i in indexes]
    named = named_person(question, [p.speaker for p in scope.passages if p.speaker])
    return indexes, Candidates(
        lexical[indexes], dense[indexes], instant[indexes],
        lexical[scope.background], dense[scope.background], instant[scope.background],
        place[scope.previous[indexes]], place[scope.following[indexes]], scope.group[indexes],
        np.array([p.text.rstrip().endswith("?") for p in chosen]), np.array([p.speaker == named is not None for p in chosen]),
        np.array([p.role == "user" and asks_of_self(question) for p in chosen]),
        np.zeros(len(chosen), dtype=np.bool_), np.zeros(len(chosen)), np.zeros(len(chosen)),
    )  # fmt: skip


def with_neighbours(indexes: Ints, scope: Scope) -> Ints:
    near = np.concatenate([indexes, scope.previous[indexes], scope.following[indexes]])
    return np.unique(near[near >= 0])


def lexical_scores(terms: list[str], scope: Scope) -> Floats:
    scores = np.zeros(len(scope.passages))
    for held in (scope.postings.get(term, {}) for term in dict.fromkeys(terms)):
        where = np.fromiter(held, dtype=np.int64, count=len(held))
        tf = np.fromiter(held.values(), dtype=np.float64, count=len(held))
        lengths, mean = scope.lengths[where], float(scope.lengths.mean())
        scores[where] += bm25(tf, len(held), lengths, n=len(scope.passages), average_length=mean)
    return scores


def matches_of(
    question: str, scope: Scope, indexes: Ints, static: StaticVectors
) -> tuple[NDArray[np.float32], Floats]:
    asked = list(dict.fromkeys(static.tokens([question])[0]))
    weights = token_weights(asked, Tokens.of([scope.tokens[i] for i in scope.background]))
    tokens = Tokens.of([scope.tokens[i] for i in indexes])
    distinct, ids = np.unique(tokens.ids, return_inverse=True)
    matches = best_matches(static.rows(asked), static.rows(distinct.tolist()), Tokens(ids, tokens.starts))
    return matches, weights


def ranked(case: Case, weights: Weights) -> Ranked:
    read = worth_reading(case.candidates, weights)
    late = late_scores(case.candidates, read, case.matches[:, read], case.question_weights, weights)
    return rank(case.candidates, late if weights.late else None, weights)


def measures(case: Case, weights: Weights) -> dict[str, float]:
    names = list(dict.fromkeys(case.names[i] for i in ranked(case, weights).order[:100]))
    ranks = sorted(names.index(name) if name in names else 10**9 for name in case.gold)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(ranks))))
    return {
        "any@1": ranks[0] < 1, "any@10": ranks[0] < 10, "all@5": ranks[-1] < 5, "all@10": ranks[-1] < 10,
        "all@50": ranks[-1] < 50, "MRR": 1 / (1 + ranks[0]) if ranks[0] < 10**9 else 0.0,
        "NDCG@10": sum(1 / math.log2(r + 2) for r in ranks if r < 10) / ideal,
    }  # fmt: skip


class Bench:
    """The cases with the measures that are known of them already."""

    def __init__(self, cases: list[Case]) -> None:
        self.cases = cases
        self._known: dict[Weights, list[dict[str, float]]] = {}
        scopes = list(dict.fromkeys(case.scope for case in cases))
        self.fold = [scopes.index(case.scope) % FOLDS for case in cases]

    def rows(self, weights: Weights) -> list[dict[str, float]]:
        if weights not in self._known:
            self._known[weights] = [measures(case, weights) for case in self.cases]
        return self._known[weights]

    def objective(self, weights: Weights, without: int | None) -> float:
        """Return what is fitted: the mean of each unit's measures, sessions counting three tenths."""
        total = 0.0
        for unit, share, names in (
            ("turns", 0.7, ("any@1", "any@10", "all@10", "all@50", "MRR")),
            ("sessions", 0.3, ("any@1", "all@5", "NDCG@10")),
        ):
            kept = [
                sum(row[name] for name in names) / len(names)
                for row, case, fold in zip(self.rows(weights), self.cases, self.fold, strict=True)
                if case.unit == unit and fold != without
            ]
            total += share * float(np.mean(kept)) if kept else 0.0
        return total


def fit(bench: Bench, without: int | None = None, start: Weights = FITTED, rounds: int = 2) -> Weights:
    """Search one weight after the other over the grid, leaving one fold out."""
    best = start
    for _ in range(rounds):
        for name, values in GRID.items():
            tried = [replace(best, **{name: value}) for value in values]
            best = max([best, *tried], key=lambda weights: bench.objective(weights, without))
    return best


def table(title: str, cases: list[Case], rows: list[dict[str, float]]) -> None:
    groups: dict[str, list[dict[str, float]]] = {}
    for case, row in zip(cases, rows, strict=True):
        groups.setdefault(case.unit, []).append(row)
        groups.setdefault(f"{case.unit}: {case.category}", []).append(row)
    names = list(rows[0])
    print(f"\n{title:40s}{'n':>6s}" + "".join(f"{name:>9s}" for name in names))
    for group, members in sorted(groups.items()):
        means = "".join(f"{np.mean([row[name] for row in members]):9.3f}" for name in names)
        print(f"{group:40s}{len(members):6d}{means}", flush=True)


def report(bench: Bench, fitting: bool) -> None:
    table("shipped weights", bench.cases, bench.rows(FITTED))
    if not fitting:
        return
    held: list[dict[str, float]] = [{}] * len(bench.cases)
    for fold in range(FOLDS):
        weights = fit(bench, without=fold)
        print(f"without fold {fold}:", weights, flush=True)
        for i, row in enumerate(bench.rows(weights)):
            held[i] = row if bench.fold[i] == fold else held[i]
    table("held out", bench.cases, held)
    weights = fit(bench)
    table(
        "fitted on all: " + " ".join(f"{f.name}={getattr(weights, f.name)}" for f in fields(weights)),
        bench.cases,
        bench.rows(weights),
    )


def main() -> None:
    from chronofile.infra.embedders import embedder
    from chronofile.infra.embedders.static import L2Supercat

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".cache/vectors"))
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--pending", action="store_true")
    options = parser.parse_args()
    model, static = embedder("minilm"), L2Supercat()
    cases = [c for f in options.folders for c in read_cases(f, model, static, options.cache, options.pending)]
    report(Bench(cases), options.fit)


if __name__ == "__main__":
    main()
