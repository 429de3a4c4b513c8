"""Texts in, vectors out: a sentence-transformers model run so that equal texts give equal bits.

`SentenceTransformer.encode` pads a batch to its longest text, so a vector's last bits depend on the
batch's other texts. Here every text goes through the model in a shape that its own length decides
(`nibd.repair.embedding_shapes`). And every pass runs on one thread: libraries that share a product among
threads cut it at places that depend on their number (a dense layer's rows differed in their last bits
between one thread and two). `threads` passes run side by side instead, which can change nothing. What does
matter is in the profile (`nibd.repair.embedding_profile`).

Documents and queries are separate: they may have different prompts, and a query goes alone, in one row,
since it has to be quick. Both are pure functions of the text and the profile.

torch and sentence-transformers take seconds and 800 MB: only the embedder process imports this module's
`Embedder.load`. Nothing here reads a store, the environment or the network.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from nibd.repair.embedding_profile import (
    DEFAULT_MODEL,
    EmbeddingError,
    Precision,
    Runtime,
    missing_dense,
    runtime,
    runtime_profile,
)
from nibd.repair.embedding_shapes import MAX_LENGTH, Batch, batches
from nibd.stores.types import ProfileId

__all__ = ["DEFAULT_MODEL", "Embedder", "EmbeddingError", "missing_dense", "runtime", "runtime_profile"]

Floats = npt.NDArray[np.float32]
Role = Literal["document", "query"]

_PROMPTS: dict[Role, tuple[str, ...]] = {"document": ("document", "passage", "corpus"), "query": ("query",)}
"""The names under which a model keeps its prompts, as `encode_document` and `encode_query` look for them."""


class Embedder:
    """A loaded model. Called from one thread, whose own work it adds to its `threads`. Made by `load`."""

    def __init__(self, model: Any, how: Runtime, threads: int) -> None:
        self._model = model
        self._threads = threads
        self._pool = ThreadPoolExecutor(threads, "embedding", initializer=_compute_on_one_thread)
        _compute_on_one_thread()
        self._runtime = how
        self._tokenizer = _padding_tokenizer(model)
        self._max_length = min(model.max_seq_length or MAX_LENGTH, MAX_LENGTH)
        # First passes: they tell the dimension and have the libraries set themselves up for short queries.
        self.dimension = int(self.embed_queries(["warm", "warm up " * 10]).shape[1])

    @staticmethod
    def load(
        model: str | Path = DEFAULT_MODEL,
        threads: int = 1,
        allow_download: bool = False,
        precision: Precision | None = None,
    ) -> Embedder:
        """Raises EmbeddingError: not found, not the published weights, not runnable."""
        how = runtime(model, allow_download, precision)
        # Here, so that processes which only want the profile stay light.
        import sentence_transformers  # noqa: PLC0415
        import torch  # noqa: PLC0415
        import transformers  # noqa: PLC0415

        found, wanted = torch.backends.cpu.get_cpu_capability(), how.description["capability"]
        if how.description["processor"]["machine"] == "x86_64" and found != wanted:
            raise EmbeddingError(
                f"torch runs {found} kernels where {wanted} are expected: unset ATEN_CPU_CAPABILITY"
            )
        transformers.utils.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            loaded = sentence_transformers.SentenceTransformer(
                str(how.folder), device="cpu", trust_remote_code=False, local_files_only=True
            )
        except (OSError, ValueError, KeyError, ImportError, RuntimeError, AttributeError) as error:
            raise EmbeddingError(
                f"the model {how.name} can't be loaded from {how.folder}: {error}"
            ) from error
        loaded.eval().float()
        if how.precision == "bf16":
            _to_bfloat16(loaded)
        return Embedder(loaded, how, threads)

    @property
    def profile(self) -> ProfileId:
        return self._runtime.profile

    @property
    def description(self) -> dict[str, Any]:
        """What the profile stands for, as JSON values."""
        return self._runtime.description

    def embed(self, texts: Sequence[str]) -> Floats:
        """The vectors of documents, one a row, of length 1."""
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for indices, part in self.passes(texts):
            vectors[list(indices)] = part
        return vectors

    def passes(self, texts: Sequence[str]) -> Iterator[tuple[tuple[int, ...], Floats]]:
        """The same, one pass at a time: indices into `texts` and their vectors. The shortest come first.

        Between two passes the caller may store what it has, stop, or embed a query; the next ones are
        already at work.
        """
        inputs = self._inputs(self._prompted(texts, "document"), self._runtime.several_rows)
        ahead: deque[tuple[tuple[int, ...], Future[Floats]]] = deque()
        try:
            for indices, features in inputs:
                ahead.append((indices, self._pool.submit(self._forward, features, "document")))
                if len(ahead) > self._threads:
                    yield _finished(ahead.popleft())
            while ahead:
                yield _finished(ahead.popleft())
        finally:
            for _, future in ahead:
                future.cancel()

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        """The vectors of queries, one a row, of length 1; each goes alone, about 10 ms."""
        found: dict[int, Floats] = {}
        for indices, features in self._inputs(self._prompted(texts, "query"), several_rows=False):
            found[indices[0]] = self._forward(features, "query")[0]
        return np.stack([found[i] for i in range(len(texts))])

    def _prompted(self, texts: Sequence[str], role: Role) -> list[str]:
        prompts = self._model.prompts or {}
        prompt = next((prompts[name] for name in _PROMPTS[role] if name in prompts), None)
        if prompt is None:
            prompt = prompts.get(self._model.default_prompt_name) or ""
        return [prompt + text for text in texts]

    def _inputs(
        self, texts: Sequence[str], several_rows: bool
    ) -> Iterator[tuple[tuple[int, ...], dict[str, Any]]]:
        """What goes through the model in each pass. By the calling thread: tokenizers bear only one."""
        if not texts:
            return
        if self._tokenizer is None:
            for index, text in enumerate(texts):
                yield (index,), _preprocessed(self._model, text)
            return
        tokens = self._tokenizer(list(texts), truncation=True, max_length=self._max_length)
        for batch in batches([len(ids) for ids in tokens["input_ids"]], several_rows):
            yield batch.texts, self._features(tokens, batch)

    def _features(self, tokens: Any, batch: Batch) -> dict[str, Any]:
        """The batch padded to its shape; empty places hold copies of its first text."""
        rows = batch.texts + batch.texts[:1] * (batch.rows - len(batch.texts))
        assert self._tokenizer is not None
        padded = self._tokenizer.pad(
            {key: [values[row] for row in rows] for key, values in tokens.items()},
            padding="max_length",
            max_length=batch.length,
            return_tensors="pt",
        )
        return dict(padded)

    def _forward(self, features: dict[str, Any], role: Role) -> Floats:
        import torch  # noqa: PLC0415 - loaded long since; see the module

        with torch.inference_mode():
            output = self._model(features, task=role)["sentence_embedding"].float()
            vectors: Floats = torch.nn.functional.normalize(output, dim=1).numpy()
        return vectors


def _finished(work: tuple[tuple[int, ...], Future[Floats]]) -> tuple[tuple[int, ...], Floats]:
    """Without the rows that fill up the shape."""
    indices, future = work
    return indices, future.result()[: len(indices)]


def _compute_on_one_thread() -> None:
    """For the calling thread: OpenMP keeps the number by thread."""
    import torch  # noqa: PLC0415 - loaded long since; see the module

    torch.set_num_threads(1)


def _padding_tokenizer(model: Any) -> Any | None:
    """The tokenizer of a model whose first module takes padded sequences; None for other kinds.

    Lower-casing by the module, which old models ask for, is done by its own `preprocess` only.
    """
    first = model[0]
    tokenizer = getattr(first, "tokenizer", None)
    plain = type(first).__name__ == "Transformer" and hasattr(tokenizer, "pad")
    return tokenizer if plain and not getattr(first, "do_lower_case", False) else None


def _preprocessed(model: Any, text: str) -> dict[str, Any]:
    """What the first module takes, by its own means. `preprocess` was `tokenize` before version 6."""
    prepare = getattr(model, "preprocess", None) or model.tokenize
    return dict(prepare([text]))


def _to_bfloat16(model: Any) -> None:
    """The first module, which is the transformer, alone: pooling and what follows add up in float32."""
    import torch  # noqa: PLC0415 - loaded long since; see the module

    def widen(module: Any, inputs: Any, features: dict[str, Any]) -> dict[str, Any]:
        return {
            name: value.float() if isinstance(value, torch.Tensor) and value.is_floating_point() else value
            for name, value in features.items()
        }

    model[0].to(torch.bfloat16)
    model[0].register_forward_hook(widen)
