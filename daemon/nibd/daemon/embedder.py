"""The embedder: `python -m nibd.daemon.embedder`, the child that holds the model.

It speaks over stdio with the daemon, started on demand, and ends itself when nothing is asked for a
while. Its methods:

- `load {model?, threads?, allow_download?, precision?}` → `{profile, description, dimension, seconds}`.
  First of all; with the same values again it answers at once.
- `embed_query {texts}` → `{profile, vectors}`: base64 of little-endian float32, one a text.
- `load_reranker {model, allow_download?}` → `{seconds}`. Beside the model, which needs not be loaded.
- `rerank {query, texts}` → `{model, scores}`: one score a text.
- `run {embeddings_db, profile}` → `{done, seconds, stopped, left}`: embeds what is on the spool. It reports
  `progress {done, total, per_second}` about itself. Each pass is stored before the next, in one
  transaction, so a kill loses one pass. Cancelling it, or `stop`, ends it after the pass at work.
- `stop {}` → `{}`.

One thread does it all: a request that comes in while a spool is drained is served between two passes,
which take some 40 ms each. So a query waits for one pass at most.
"""

from __future__ import annotations

import argparse
import base64
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.repair.embedding import DEFAULT_MODEL, Embedder, EmbeddingError
from nibd.repair.reranking import Reranker
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.errors import StoreError
from nibd.stores.types import ProfileId

IDLE_S = 600.0
TAKEN_TEXTS = 1024
"""Taken from the spool at a time: enough of each length to fill passes."""
REPORT_S = 0.25
NICENESS = 5
"""Below what the user runs, above what is done in the background elsewhere: queries come here too."""
KERNEL_VARIABLES = (
    "ATEN_CPU_CAPABILITY",
    "DNNL_DEFAULT_FPMATH_MODE",
    "DNNL_MAX_CPU_ISA",
    "MKL_CBWR",
    "MKL_ENABLE_INSTRUCTIONS",
    "ONEDNN_DEFAULT_FPMATH_MODE",
    "ONEDNN_MAX_CPU_ISA",
)
"""They choose other kernels, and so other bits, than the profile says."""


class SpoolJob:
    """One `run`: the spool of a profile, drained a pass at a time."""

    def __init__(self, request: ChildRequest, store: EmbeddingStore, embedder: Embedder) -> None:
        self.request = request
        self.stopped = False
        self._store = store
        self._profile = embedder.profile
        self._passes = self._drain(embedder)
        self._done = 0
        self._began = self._reported = time.monotonic()

    @property
    def ending(self) -> bool:
        """It was stopped or cancelled: the next step ends it."""
        return self.stopped or self.request.cancelled.is_set()

    def step(self) -> bool:
        """Do one pass and store it; whether there may be another."""
        if self.ending:
            return False
        count = next(self._passes, 0)
        self._done += count
        if count and time.monotonic() - self._reported >= REPORT_S:
            self._report()
        return count > 0

    def finish(self) -> None:
        """Answer the request."""
        self._report()
        seconds = time.monotonic() - self._began
        left = self._store.spool.pending(self._profile)
        self._store.close()
        if self.request.cancelled.is_set():
            self.request.fail(RpcError(ErrorCode.CANCELLED, f"stopped with {left} texts left"))
        else:
            self.request.reply(
                {"done": self._done, "seconds": seconds, "stopped": self.stopped, "left": left}
            )

    def fail(self, error: Exception) -> None:
        self._store.close()
        self.request.fail(RpcError(ErrorCode.INTERNAL, str(error)))

    def _drain(self, embedder: Embedder) -> Iterator[int]:
        while texts := self._store.spool.take(self._profile, TAKEN_TEXTS):
            for indices, vectors in embedder.passes([content for _, content in texts]):
                if not np.isfinite(vectors).all():
                    raise EmbeddingError("the model gives vectors that are not finite")
                self._store.put_many(
                    self._profile,
                    {texts[i][0]: _bytes(vector) for i, vector in zip(indices, vectors, strict=True)},
                )
                yield len(indices)

    def _report(self) -> None:
        self._reported = now = time.monotonic()
        total = self._done + self._store.spool.pending(self._profile)
        per_second = self._done / max(now - self._began, 1e-9)
        self.request.notify("progress", {"done": self._done, "total": total, "per_second": per_second})


class EmbedderProcess:
    """The loop, and what is loaded."""

    def __init__(self, endpoint: ChildEndpoint, idle_s: float) -> None:
        self._endpoint = endpoint
        self._idle_s = idle_s
        self._loaded: tuple[JsonObject, Embedder] | None = None
        self._reranker: Reranker | None = None
        self._job: SpoolJob | None = None

    def serve(self) -> None:
        """Until nothing was asked for `idle_s`; the end of stdin ends the process wherever it is."""
        while True:
            message = self._endpoint.receive(0.0 if self._job is not None else self._idle_s)
            if isinstance(message, ChildRequest):
                self._answer(message)
            elif message is None and self._job is None:
                return
            elif message is None:
                self._work()

    def _work(self) -> None:
        job = self._job
        assert job is not None
        try:
            if not job.step():
                self._job = None
                job.finish()
        except (EmbeddingError, StoreError, RuntimeError) as error:  # RuntimeError: what torch raises
            self._job = None
            job.fail(error)

    def _answer(self, request: ChildRequest) -> None:
        try:
            match request.method:
                case "load":
                    request.reply(self._load(request.params))
                case "embed_query":
                    request.reply(self._embed_query(request.params))
                case "load_reranker":
                    request.reply(self._load_reranker(request.params))
                case "rerank":
                    request.reply(self._rerank(request.params))
                case "run":
                    self._run(request)
                case "stop":
                    if self._job is not None:
                        self._job.stopped = True
                    request.reply({})
                case method:
                    raise RpcError(ErrorCode.METHOD_NOT_FOUND, f"the embedder has no method {method}")
        except RpcError as error:
            request.fail(error)
        except (KeyError, TypeError, ValueError) as error:
            request.fail(RpcError(ErrorCode.INVALID_PARAMS, f"{request.method}: {error!r}"))
        except (EmbeddingError, StoreError, RuntimeError) as error:
            request.fail(RpcError(ErrorCode.INTERNAL, str(error)))

    def _load(self, params: JsonObject) -> Json:
        began = time.monotonic()
        if self._loaded is None or self._loaded[0] != params:
            if self._job is not None:
                raise RpcError(ErrorCode.BUSY, "another model can't be loaded while a spool is drained")
            self._loaded = None  # two models at once would take twice the memory
            self._loaded = params, _load(params)
        embedder = self._loaded[1]
        return {
            "profile": embedder.profile,
            "description": embedder.description,
            "dimension": embedder.dimension,
            "seconds": time.monotonic() - began,
        }

    def _embed_query(self, params: JsonObject) -> Json:
        embedder = self._embedder()
        texts = _texts(params)
        vectors = embedder.embed_queries(texts) if texts else ()
        encoded: list[Json] = [base64.b64encode(_bytes(vector)).decode() for vector in vectors]
        return {"profile": embedder.profile, "vectors": encoded}

    def _load_reranker(self, params: JsonObject) -> Json:
        began = time.monotonic()
        name = str(params["model"])
        if self._reranker is None or self._reranker.name != name:
            _stay_offline(params)
            self._reranker = None
            self._reranker = Reranker.load(name, bool(params.get("allow_download")))
        return {"seconds": time.monotonic() - began}

    def _rerank(self, params: JsonObject) -> Json:
        if self._reranker is None:
            raise ValueError("no reranker is loaded; call load_reranker first")
        query, texts = params["query"], _texts(params)
        if not isinstance(query, str):
            raise TypeError("query is to be a string")
        scores: list[Json] = [*self._reranker.scores(query, texts)]
        return {"model": self._reranker.name, "scores": scores}

    def _run(self, request: ChildRequest) -> None:
        embedder = self._embedder()
        if self._job is not None and self._job.ending:
            self._work()
        if self._job is not None:
            raise RpcError(ErrorCode.BUSY, "a spool is being drained")
        profile = ProfileId(str(request.params["profile"]))
        if profile != embedder.profile:
            raise ValueError(f"the loaded model has profile {embedder.profile}, {profile} is wanted")
        store = EmbeddingStore.open(Path(str(request.params["embeddings_db"])))
        store.describe(profile, embedder.description)
        self._job = SpoolJob(request, store, embedder)

    def _embedder(self) -> Embedder:
        if self._loaded is None:
            raise ValueError("no model is loaded; call load first")
        return self._loaded[1]


def _texts(params: JsonObject) -> list[str]:
    texts: Any = params["texts"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise TypeError("texts is to be a list of strings")
    return texts


def _stay_offline(params: JsonObject) -> None:
    if not params.get("allow_download"):
        os.environ["HF_HUB_OFFLINE"] = "1"  # read by huggingface_hub when it is imported


def _load(params: JsonObject) -> Embedder:
    _stay_offline(params)
    precision: Any = params.get("precision")
    if precision not in (None, "fp32", "bf16"):
        raise ValueError(f"precision {precision}")
    return Embedder.load(
        str(params.get("model") or DEFAULT_MODEL),
        threads=int(str(params.get("threads") or 1)),
        allow_download=bool(params.get("allow_download")),
        precision=precision,
    )


def _bytes(vector: Any) -> bytes:
    data: bytes = vector.astype("<f4", copy=False).tobytes()
    return data


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="nibd-embedder", description="Embed texts for the nibd daemon.")
    parser.add_argument("--idle-s", type=float, default=IDLE_S, help="end after so long without a request")
    options = parser.parse_args(arguments)
    endpoint = ChildEndpoint.over_stdio()
    os.nice(NICENESS)
    for variable in KERNEL_VARIABLES:
        os.environ.pop(variable, None)
    EmbedderProcess(endpoint, options.idle_s).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
