"""Part `encode`: units embedded per second, against `SentenceTransformer.encode` with its defaults.

The same texts, spread over those of the repository, go through each in turns. Each turn is a process of
its own (`python -m nibd.bench.encode_rate HOW FILE`), so that none finds threads or caches as another left
them; loading the model and a first pass are not counted. nibd runs as its embedder does.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nibd.bench.rebuild import rebuild, transition
from nibd.bench.report import Report
from nibd.bench.world import BenchError
from nibd.query.comparison import evenly
from nibd.repair.dense import DenseSetting
from nibd.repair.embedding import Embedder
from nibd.repair.embedding_profile import DEFAULT_MODEL, Precision, resolve, runtime
from nibd.repair.transition import repair
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.types import ProfileId

TEXTS = 1000
ROUNDS = 3
WARM_UP = 16
BAR = 1.4


def measure(name: str, repository: Path, report: Report) -> None:
    with tempfile.TemporaryDirectory(prefix="nibd-bench-") as folder:
        texts = _texts(repository, Path(folder))
        file = Path(folder) / "texts.json"
        file.write_text(json.dumps(texts), encoding="utf-8")
        native: Precision = "bf16" if runtime().precision == "bf16" else "fp32"
        ways = ["encode", "fp32", *(["bf16"] if native == "bf16" else [])]
        rates: dict[str, list[float]] = {how: [] for how in ways}
        for _ in range(ROUNDS):
            for how in ways:
                rates[how].append(len(texts) / _turn(how, file))
    medians = {how: statistics.median(found) for how, found in rates.items()}
    report.details[f"{name}: units embedded per second"] = rates
    report.add(f"{name}: SentenceTransformer.encode, defaults", f"{medians['encode']:.1f} units/s")
    for how in ways[1:]:
        ratio = medians[how] / medians["encode"]
        value = f"{medians[how]:.1f} units/s, {ratio:.2f} times (n={ROUNDS}, {len(texts)} texts)"
        used = ", used here" if how == native else ""
        bar = f">= {BAR:g} times" if how == "fp32" else ""
        report.add(f"{name}: nibd's embedder, {how}{used}", value, bar, ratio >= BAR if bar else None)


def _texts(repository: Path, folder: Path) -> list[str]:
    """The texts of HEAD, at most `TEXTS` spread over all, in the order of their ids: lengths are mixed."""
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True
    ).stdout.strip()
    rebuild(repository, commit, folder / "views")
    profile = ProfileId("bench")
    store = EmbeddingStore.open(folder / "embeddings.db")
    with transition(repository, commit, folder / "views", DenseSetting(profile, store)) as (step, target):
        waiting = repair(step, target).dense_missing
    contents = dict(store.spool.take(profile, max(1, waiting)))
    store.close()
    return [contents[text] for text in evenly(contents, TEXTS)]


def _turn(how: str, file: Path) -> float:
    done = subprocess.run(
        [sys.executable, "-m", "nibd.bench.encode_rate", how, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise BenchError(f"embedding by {how} failed; see what was printed above")
    return float(done.stdout)


def embed_seconds(how: str, texts: list[str]) -> float:
    """In this process: by `encode`, or by nibd's embedder in the precision `how`."""
    if how == "encode":
        # Loads torch: seconds and 800 MB, in the child only.
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415

        model = SentenceTransformer(str(resolve(DEFAULT_MODEL)), device="cpu")
        model.encode(texts[:WARM_UP])
        started = time.perf_counter()
        model.encode(texts)
        return time.perf_counter() - started
    precision: Precision = "bf16" if how == "bf16" else "fp32"
    embedder = Embedder.load(threads=len(os.sched_getaffinity(0)), precision=precision)
    embedder.embed(texts[:WARM_UP])
    started = time.perf_counter()
    embedder.embed(texts)
    return time.perf_counter() - started


def main() -> int:
    how, file = sys.argv[1:]
    print(embed_seconds(how, json.loads(Path(file).read_text(encoding="utf-8"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
