"""FAISS's Flat, HNSW and IVF over the vectors of a tree: how alike their answers are, and what they take.

Flat is the product's own search (`nibd.stores.dense`), exact and complete with ties. The others are built
from the same rows in memory. *Overlap* is the share of Flat's first k rows that are among an index's first k,
rows that tie with the k-th one counted as good as any. The queries are the questions' own.
"""

from __future__ import annotations

import importlib
import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nibd.bench.charts import Bars
from nibd.bench.intervals import mean
from nibd.bench.page import Table
from nibd.bench.report import Report
from nibd.bench.retrieve_views import Embedding, Opened
from nibd.stores.dense_rows import members

FIRST = 10
LINKS, BUILD_WIDTH = 32, 200
SEARCH_WIDTHS = (32, 128)
PROBES = (4, 16)
TRAINED_PER_LIST = 39
"""FAISS warns of less."""
LISTS_PER_ROOT = 4
FLAT = "Flat"


@dataclass(frozen=True, slots=True)
class Searched:
    """One index over one tree; `milliseconds` and `overlap` by query. Those of a kind are built once."""

    repository: str
    index: str
    rows: int
    build_s: float
    milliseconds: Sequence[float]
    overlap: Sequence[float]


def searched(repository: str, opened: Opened, embedding: Embedding, queries: Sequence[str]) -> list[Searched]:
    """Nothing for a tree without a text."""
    if opened.dense is None:
        return []
    store, rows = opened.dense
    numbers = members(rows)
    matrix = np.ascontiguousarray(store.vectors(numbers.tolist()))
    vectors = embedding.embedder.embed_queries(list(queries))
    places = {int(row): at for at, row in enumerate(numbers)}
    wanted = min(FIRST, len(numbers))

    def flat(vector: Any) -> list[int]:
        return [places[int(row)] for row in store.search(rows, vector, wanted)[0]]

    took, exact = _timed(flat, vectors)
    found = [Searched(repository, FLAT, len(numbers), 0.0, took, [1.0] * len(took))]
    for name, build_s, search in indices(matrix, wanted):
        took, rows_of = _timed(search, vectors)
        overlap = [overlap_of(old, new, wanted) for old, new in zip(exact, rows_of, strict=True)]
        found.append(Searched(repository, name, len(numbers), build_s, took, overlap))
    return found


def overlap_of(exact: Sequence[int], found: Sequence[int], wanted: int) -> float:
    """`exact` may have more than `wanted`: what ties with the last."""
    return len(set(exact) & set(found[:wanted])) / wanted


def indices(matrix: Any, wanted: int) -> list[tuple[str, float, Callable[[Any], list[int]]]]:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)
    count, dimension = matrix.shape

    def search(index: Any, parameters: Any) -> Callable[[Any], list[int]]:
        def run(vector: Any) -> list[int]:
            return [int(row) for row in index.search(vector[None, :], wanted, params=parameters)[1][0]]

        return run

    started = time.perf_counter()
    hnsw = faiss.IndexHNSWFlat(dimension, LINKS, faiss.METRIC_INNER_PRODUCT)
    hnsw.hnsw.efConstruction = BUILD_WIDTH
    hnsw.add(matrix)
    built = time.perf_counter() - started
    made = [
        (f"HNSW {LINKS}, efSearch {width}", built, search(hnsw, faiss.SearchParametersHNSW(efSearch=width)))
        for width in SEARCH_WIDTHS
    ]
    lists = max(1, min(int(LISTS_PER_ROOT * math.sqrt(count)), count // TRAINED_PER_LIST))
    started = time.perf_counter()
    coarse = faiss.IndexFlatIP(dimension)
    ivf = faiss.IndexIVFFlat(coarse, dimension, lists, faiss.METRIC_INNER_PRODUCT)
    ivf.train(matrix)
    ivf.add(matrix)
    built = time.perf_counter() - started
    return made + [
        (f"IVF, nprobe {probes}", built, search(ivf, faiss.SearchParametersIVF(nprobe=min(probes, lists))))
        for probes in PROBES
    ]


def _timed(search: Callable[[Any], list[int]], vectors: Any) -> tuple[list[float], list[list[int]]]:
    """Each query once to warm up, then timed."""
    found = [search(vector) for vector in vectors]
    took = []
    for vector in vectors:
        started = time.perf_counter()
        search(vector)
        took.append((time.perf_counter() - started) * 1000)
    return took, found


def report_neighbours(title: str, found: Sequence[Searched], report: Report) -> None:
    if not found:
        return
    report.details[f"{title}: indices"] = [asdict(each) for each in found]
    names = list(dict.fromkeys(each.index for each in found))
    rows, overlaps, medians = [], [], []
    for name in names:
        of = [each for each in found if each.index == name]
        overlap = mean((each.repository, value) for each in of for value in each.overlap)
        took = [value for each in of for value in each.milliseconds]
        built = sum(each.build_s for each in of)
        assert overlap is not None, "there is a query"
        overlaps.append(overlap)
        medians.append(statistics.median(took))
        text = f"overlap@{FIRST} {overlap.text()}, p50 {medians[-1]:.3f} ms, built in {built:.2f} s"
        report.add(f"{title}: {name}", f"{text} ({len(of)} trees, {sum(each.rows for each in of)} rows)")
        rows.append([name, overlap.text(), f"{medians[-1]:.3f}", f"{built:.2f}"])
    head = ("index", f"overlap@{FIRST} with Flat", "p50, ms", "built in, s")
    report.parts.append(Table(f"{title}: indices over the dense view", head, rows))
    report.parts.append(Bars(f"{title}: overlap@{FIRST} with Flat", names, {"overlap": overlaps}))
    report.parts.append(Bars(f"{title}: a search, p50 in ms", names, {"milliseconds": medians}))
