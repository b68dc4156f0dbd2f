"""Search latency and rebuild time in a home that is already filled: `python benchmarks/latency.py HOME QUERIES`.

QUERIES are lines {"id", "query"}. Passages without a transformer vector get one first: that of a passage
that has one, drawn by a fixed seed, with a little noise, so that a home of 100,000 passages needs 20,000 real
ones. It then prints median and p95 of warm searches over every scope, one after the other in one process, by
step, and how long passages, words and instant vectors take to be built again from the log.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from statistics import median, quantiles
from typing import LiteralString

import numpy as np
import psycopg
import psycopg.conninfo
import sqlalchemy as sa
from psycopg.sql import SQL

from chronofile.infra.config import load
from chronofile.infra.memory import Memory
from chronofile.infra.migrate import migrate
from chronofile.infra.wiring import memory_of
from chronofile.projections import control, embedding, runner
from chronofile.projections.bulk import copy_rows

SEED = 20_261_130
NOISE = 0.02
CHUNK = 5_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("home", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--rebuild", action="store_true")
    options = parser.parse_args()
    config = load({"home": str(options.home)}, {})
    with memory_of(config, caller="python") as memory:
        memory.catch_up()
        fill(memory)
        print(f"{memory.status().passages} passages, load average {os.getloadavg()[0]:.1f}\n")
        print("| what | median | p95 |\n|---|---|---|")
        questions = [json.loads(line)["query"] for line in options.queries.read_text("utf-8").splitlines()]
        measure(memory, questions[: options.searches])
        if options.rebuild:
            rebuild(memory)


def measure(memory: Memory, questions: list[str]) -> None:
    for question in questions[:5]:
        memory.search(question, scope="all")
    whole, inner = [], []
    for question in questions:
        started = time.perf_counter()
        answer = memory.search(question, scope="all")
        whole.append((time.perf_counter() - started) * 1000)
        inner.append(float(answer.took_ms))
    for name, took in (("search, whole call", whole), ("of it answering", inner)):
        print(f"| {name} | {median(took):.0f} ms | {quantiles(took, n=20)[-1]:.0f} ms |")


def fill(memory: Memory) -> None:
    """Give every passage that waits for its vector a real one of another passage, with noise."""
    parts = memory._parts
    runner.catch_up(parts.engine, parts.store, [parts.vectors])
    rng = np.random.default_rng(SEED)
    with parts.engine.begin() as conn:
        serving = control.read_active(conn)
        here, tables = control.translated(conn, serving), embedding.tables(serving)
        waiting = here.execute(sa.select(tables.pending).order_by(tables.pending.c.passage_no)).all()
        if not waiting:
            return
        real = here.execute(
            sa.select(tables.vector.c.vector).order_by(tables.vector.c.passage_no).limit(20_000)
        )
        pool = np.array([row.vector for row in real], dtype=np.float32)
        for start in range(0, len(waiting), CHUNK):
            rows = waiting[start : start + CHUNK]
            drawn = pool[rng.integers(0, len(pool), len(rows))]
            noisy = drawn + rng.normal(0, NOISE, drawn.shape)
            noisy /= np.linalg.norm(noisy, axis=1, keepdims=True)
            made = [(*row[:4], vector.astype(np.float16)) for row, vector in zip(rows, noisy, strict=True)]
            copy_rows(here, tables.vector, made)
        here.execute(sa.delete(tables.pending))


def rebuild(memory: Memory) -> None:
    """Copy the log and its contents into a database of their own and build every projection from them."""
    conninfo = memory._parts.conninfo
    fresh = psycopg.conninfo.make_conninfo(conninfo, dbname="rebuild")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("DROP DATABASE IF EXISTS rebuild")
        conn.execute("CREATE DATABASE rebuild")
    migrate(fresh)
    with psycopg.connect(conninfo) as source, psycopg.connect(fresh) as target:
        target.execute("TRUNCATE log.store")
        for table in ("log.store", "log.content", "log.events"):
            copy_table(source, target, table)
    with memory_of(load({"database_url": fresh}, {}), caller="python") as copy:
        total = 0.0
        for projection in copy._parts.projections:
            started = time.perf_counter()
            runner.catch_up(copy._parts.engine, copy._parts.store, [projection])
            took = time.perf_counter() - started
            total += took
            print(f"| rebuild of {projection.name} | {took:.1f} s | |")
        print(f"| rebuild, all {copy.status().passages} passages | {total:.1f} s | |")
    with psycopg.connect(conninfo, autocommit=True) as conn:
        conn.execute("DROP DATABASE rebuild")


def copy_table(source: psycopg.Connection, target: psycopg.Connection, table: LiteralString) -> None:
    with (
        source.cursor().copy(SQL("COPY {} TO STDOUT (FORMAT BINARY)").format(SQL(table))) as rows,
        target.cursor().copy(SQL("COPY {} FROM STDIN (FORMAT BINARY)").format(SQL(table))) as copy,
    ):
        for block in rows:
            copy.write(block)


if __name__ == "__main__":
    main()
