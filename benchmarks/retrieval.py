"""Retrieval on neutral turns with gold ids, through the public commands: `python benchmarks/retrieval.py FOLDER`.

FOLDER holds `*.turns.jsonl`, `queries.jsonl` ({"id", "query", "scope"?, "at"?}) and `gold.jsonl` ({"id",
"category", "turns", "sessions"}). It ingests into a home (a new one, or `--home`, which keeps its vectors),
runs `search --batch --limit 100` and prints any@k, all@k, MRR and NDCG@10 by category as a Markdown table.
`--wait words` measures what there is before any transformer vector.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

LIMIT = 100
COLUMNS = ("any@1", "any@5", "any@10", "all@5", "all@10", "all@50", "ndcg@10", "mrr")

Row = Mapping[str, Any]


def main() -> None:
    options = arguments()
    with tempfile.TemporaryDirectory() as folder:
        home = options.home or Path(folder) / "home"
        files = sorted(str(path) for path in options.folder.glob("*.turns.jsonl"))
        started = time.perf_counter()
        report = json.loads(chronofile(home, "ingest", *files, "--wait", options.wait, "--json"))
        ingested_s = time.perf_counter() - started
        queries = options.folder / "queries.jsonl"
        answers = list(lines(chronofile(home, "search", "--batch", str(queries), "--limit", str(LIMIT))))
    gold = {row["id"]: row for row in lines((options.folder / "gold.jsonl").read_text("utf-8"))}
    print(
        f"{report['passages']} passages, {report['pending_vectors']} without a vector, in {ingested_s:.0f} s\n"
    )
    print_table({answer["id"]: answer for answer in answers}, gold, options.unit)
    took = [answer["took_ms"] for answer in answers]
    print(f"\n{len(took)} searches: median {median(took):.0f} ms, p95 {quantiles(took, n=20)[-1]:.0f} ms")
    matched = sum(answer["matched"] for answer in answers)
    print(f"matched: {matched} of {len(answers)}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--unit", choices=("turns", "sessions"), default="turns")
    parser.add_argument("--wait", choices=("words", "all"), default="all")
    parser.add_argument("--home", type=Path)
    return parser.parse_args()


def chronofile(home: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "chronofile.infra.cli", "--home", str(home), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def lines(text: str) -> Iterator[dict[str, Any]]:
    for line in filter(None, text.split("\n")):
        yield json.loads(line)


def print_table(answers: Mapping[str, Row], gold: Mapping[str, Row], unit: str) -> None:
    groups: dict[str, list[dict[str, float]]] = {"all": []}
    for identifier, row in gold.items():
        if row[unit]:
            scores = scored(ranked(answers.get(identifier, {}), unit), set(row[unit]))
            groups["all"].append(scores)
            groups.setdefault(row["category"], []).append(scores)
    print(f"| group | n | {' | '.join(COLUMNS)} |")
    print(f"|---|---|{'---|' * len(COLUMNS)}")
    for group, rows in sorted(groups.items()):
        means = (sum(row[name] for row in rows) / len(rows) for name in COLUMNS)
        print(f"| {group} | {len(rows)} | {' | '.join(f'{mean:.3f}' for mean in means)} |")


def ranked(answer: Row, unit: str) -> list[str]:
    """Return the distinct ids in the order of the hits; a hit may cover several turns."""
    found: dict[str, None] = {}
    for hit in answer.get("hits", ()):
        for name in [hit["session"]] if unit == "sessions" else hit["turns"]:
            found.setdefault(name, None)
    return list(found)


def scored(order: Sequence[str], gold: set[str]) -> dict[str, float]:
    """Return any@k, all@k, NDCG@10 (binary gains, the full ideal) and the reciprocal rank of the first gold id."""
    places = {name: place for place, name in enumerate(order, start=1)}
    ranks = sorted(places.get(name, math.inf) for name in gold)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(10, len(gold)) + 1))
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank <= 10)
    row = {"ndcg@10": gain / ideal, "mrr": 0.0 if math.isinf(ranks[0]) else 1 / ranks[0]}
    for k in (1, 5, 10, 50):
        row[f"any@{k}"] = float(ranks[0] <= k)
        row[f"all@{k}"] = float(ranks[-1] <= k)
    return row


if __name__ == "__main__":
    main()
