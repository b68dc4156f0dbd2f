"""The verdict on small stores, with the real models: what is there matches, what is not does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from chronofile.infra.embedders import embedder
from chronofile.infra.embedders.static import L2Supercat
from chronofile.projections.recipe import embedding_text
from chronofile.projections.words import passage_terms, query_terms
from chronofile.query.interaction import Tokens, token_weights
from chronofile.query.ranking import Candidates, Reading, rank, read_closely, worth_reading
from chronofile.query.scores import bm25
from chronofile.query.verdict import features_of, matched, unseen_share

MINILM = embedder("minilm")
STATIC = L2Supercat()

ONE = ["The port is 5432."]

NOTES = [
    "The port of the staging database is 5433.",
    "We decided to keep invoices for ten years because the auditors asked for it.",
    "Nina prefers tabs over spaces and hates trailing commas.",
    "The nightly backup runs at 02:30 and takes about twenty minutes.",
    "Retries are capped at five, with a jitter of 200 ms.",
]

CODE = [
    "def retry_limit(settings: Settings) -> int:\n    return min(settings.retries, RETRIES_MAX)",
    "class InvoiceStore:\n    def save(self, invoice: Invoice) -> None:\n        self.rows[invoice.number] = invoice",
    "def parse_duration(text: str) -> timedelta:\n    return timedelta(seconds=int(text[:-1]) * SECONDS[text[-1]])",
    "RETRIES_MAX = 5\nTIMEOUT_S = 30.0",
]


def answer(texts: Sequence[str], question: str) -> tuple[str, bool]:
    """The best passage of a store that holds these texts, and the verdict."""
    n = len(texts)
    shown = [embedding_text(text) for text in texts]
    dense = (MINILM.embed(shown) @ MINILM.embed([question])[0]).astype(np.float64)
    asked = list(dict.fromkeys(STATIC.tokens([question])[0]))
    tokens = STATIC.tokens(shown)
    lexical, df = words(texts, query_terms(question))
    missing = np.full(n, np.nan)
    no = np.zeros(n, dtype=np.bool_)
    nowhere = np.full(n, -1, dtype=np.int64)
    found = Candidates(
        lexical, dense, missing, lexical, dense, missing, nowhere, nowhere, np.arange(n), no, no, no, no,
        np.zeros(n), np.zeros(n),
    )  # fmt: skip
    indexes = worth_reading(found)
    flat = Tokens.of([tokens[i] for i in indexes])
    distinct, ids = np.unique(flat.ids, return_inverse=True)
    rows = STATIC.rows(distinct.tolist())
    weights = token_weights(asked, Tokens.of(tokens))
    late = read_closely(found, Reading(indexes, Tokens(ids, flat.starts), rows, STATIC.rows(asked), weights))
    ranked = rank(found, late)
    best = int(ranked.order[0])
    return texts[best], matched(features_of(found, ranked, unseen_share(df, n), n, ~no))[0]


def words(
    texts: Sequence[str], terms: Sequence[str]
) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], list[int]]:
    counts = [Counter(passage_terms(text)) for text in texts]
    lengths = [count.total() for count in counts]
    distinct = list(dict.fromkeys(terms))
    df = [sum(term in count for count in counts) for term in distinct]
    scores = np.zeros(len(texts))
    for term, held in zip(distinct, df, strict=True):
        tf = [count[term] for count in counts]
        scores += bm25(tf, held, lengths, n=len(texts), average_length=float(np.mean(lengths)))
    return scores, df


@pytest.mark.parametrize(
    ("store", "question", "beginning"),
    [
        (ONE, "What is the port?", "The port"),
        (ONE, "which port?", "The port"),
        (NOTES, "What is the port?", "The port"),
        (NOTES, "How long do we keep invoices?", "We decided"),
        (NOTES, "When does the backup run?", "The nightly"),
        (NOTES, "What does Nina like?", "Nina"),
        (NOTES, "how many retries", "Retries"),
        (CODE, "where is the retry limit set?", "def retry_limit"),
        (CODE, "InvoiceStore.save", "class InvoiceStore"),
        (CODE, "how is a duration parsed?", "def parse_duration"),
    ],
)
def test_a_question_that_the_store_answers_matches(store: list[str], question: str, beginning: str) -> None:
    best, verdict = answer(store, question)

    assert best.startswith(beginning)
    assert verdict


@pytest.mark.parametrize("store", [ONE, NOTES, CODE])
@pytest.mark.parametrize(
    "question",
    [
        "flurb gnarx wibbleton",
        "asdf qwerty zxcv",
        "Who won the regatta in Bergen?",
        "Which moss grows on the north wall of the cloister?",
        "How many barrels does the refinery run a day?",
    ],
)
def test_a_question_about_nothing_in_the_store_does_not_match(store: list[str], question: str) -> None:
    assert not answer(store, question)[1]
