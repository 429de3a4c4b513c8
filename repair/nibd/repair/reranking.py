"""A query and texts in, scores out: a sentence-transformers cross-encoder, which reads both together.

Each pair goes through the model alone, on one thread, so a score is a function of the query, the text and the
model: no other text, and no order, can change a bit of it. That is slow (some 15 ms a pair for a small model
of 22 million parameters), so only the first hits of a search are scored.

Loaded by the embedder process alone, as is the model of `nibd.repair.embedding`, whose rules hold here too:
no code of a model's own runs, and nothing is fetched unless that was allowed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nibd.repair.embedding_profile import EmbeddingError, json_of, missing_dense, refuse_foreign_code, resolve

MAX_LENGTH = 512
"""Tokens of a pair; longer texts are cut by the tokenizer."""
WEIGHTS = ("*.safetensors", "*.bin")


def find(model: str | Path, allow_download: bool = False) -> Path:
    """The folder of a reranker, by its files alone: nothing of it is loaded.

    Raises EmbeddingError: not installed, not found, no cross-encoder with one score.
    """
    reason = missing_dense()
    if reason is not None:
        raise EmbeddingError(reason)
    folder = resolve(model, allow_download)
    refuse_foreign_code(folder)
    config = json_of(folder / "config.json")
    if not isinstance(config, dict):
        raise EmbeddingError(f"{folder / 'config.json'} is no object")
    named = config.get("architectures") or ()
    # Without labels transformers takes two; of another architecture a cross-encoder makes one score.
    labels = len(config.get("id2label") or (0, 1))
    if any(str(each).endswith("ForSequenceClassification") for each in named) and labels != 1:
        raise EmbeddingError(f"the reranker {model} gives {labels} scores, one is needed")
    if not any(any(folder.glob(pattern)) for pattern in WEIGHTS):
        raise EmbeddingError(f"the reranker {model} has no weights in {folder}")
    return folder


def stamp(model: str) -> tuple[tuple[str, int, int], ...]:
    """What tells that a local folder's files are others by now; empty for one that can't be looked at."""
    try:
        return tuple(sorted((file.name, *_written(file)) for file in Path(model).expanduser().iterdir()))
    except OSError:
        return ()


def _written(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:  # a link to nowhere, or removed meanwhile
        return 0, 0
    return status.st_mtime_ns, status.st_size


class Reranker:
    """A loaded cross-encoder. Called from one thread. Made by `load`."""

    def __init__(self, model: Any, name: str) -> None:
        self._model = model
        self.name = name

    @staticmethod
    def load(model: str | Path, allow_download: bool = False) -> Reranker:
        """Raises EmbeddingError: as `find`, or not runnable."""
        folder = find(model, allow_download)
        # Here, so that only the process that has it loaded bears it.
        import sentence_transformers  # noqa: PLC0415
        import torch  # noqa: PLC0415

        torch.set_num_threads(1)
        try:
            loaded = sentence_transformers.CrossEncoder(
                str(folder),
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
            )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, AttributeError) as error:
            raise EmbeddingError(f"the reranker {model} can't be loaded from {folder}: {error}") from error
        if loaded.num_labels != 1:
            raise EmbeddingError(f"the reranker {model} gives {loaded.num_labels} scores, one is needed")
        loaded.eval().float()
        # Version 6 has renamed it.
        longest = "max_seq_length" if hasattr(type(loaded), "max_seq_length") else "max_length"
        positions = getattr(loaded.config, "max_position_embeddings", MAX_LENGTH)
        setattr(loaded, longest, min(getattr(loaded, longest) or MAX_LENGTH, positions, MAX_LENGTH))
        return Reranker(loaded, str(model))

    def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One a text; greater is better. Comparable for one query only."""
        return [float(self._score(query, text)) for text in texts]

    def _score(self, query: str, text: str) -> Any:
        return self._model.predict([(query, text)], batch_size=1, show_progress_bar=False)[0]
