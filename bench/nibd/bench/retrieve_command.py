"""`python -m nibd.bench.retrieve --rows FILE --repositories FOLDER --cache FOLDER`.

Each question is put to its commit's views by the library, without a daemon: at L0 for files, and at any
level for symbols. What is measured of time is the ranking alone, asked twice.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from nibd.bench import retrieve_views
from nibd.bench.report import Report
from nibd.bench.retrieve_figures import Answered, of_files, of_symbols, report_answers
from nibd.bench.retrieve_rows import Question, read
from nibd.query.filters import Filters, select
from nibd.query.hits import Hit
from nibd.query.ranking.candidates import Tree
from nibd.query.ranking.rank import Ranking, rank
from nibd.query.symbols import components
from nibd.stores.types import Level

FILES = 1000
UNITS = 60
LAYOUTS = ("{name}", "{name}/repo")


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    report = Report("nibd: what ranked search finds")
    for rows in options.rows:
        answered = []
        questions = read([rows], options.only)
        for (repository, commit), asked in groupby(questions, lambda q: (q.repository, q.commit)):
            mirror = _mirror(options.repositories, repository)
            if mirror is None:
                print(f"  {repository}: no clone in {options.repositories}", flush=True)
                continue
            started = time.perf_counter()
            folder = options.cache / repository.replace("/", "+")
            with retrieve_views.tree(mirror, commit, folder, options.workers) as tree:
                opened_s = time.perf_counter() - started
                answers = [answer(tree, question) for question in asked]
            answered += answers
            mean = sum(each.figures["file R@10"] for each in answers) / len(answers)
            print(f"  {repository} {commit[:10]}: views {opened_s:.0f} s, R@10 {mean:.3f}", flush=True)
        report_answers(rows.stem, answered, report)
    print(f"\n{report.text()}", flush=True)
    if options.json:
        report.save(options.json)
    return 1 if report.failed else 0


def answer(tree: Tree, question: Question) -> Answered:
    within = (
        select(tree.structure, tree.listing, Filters(_Below(question.root.encode())))
        if question.root
        else None
    )

    def ask(k: int) -> Ranking:
        return rank(tree, question.query, Level.FILE, k, within=within)

    first, first_ms, first_processor = _timed(lambda: ask(FILES))
    again, again_ms, again_processor = _timed(lambda: ask(10))
    files = [hit.path.decode(errors="replace") for hit in first.hits]
    figures = of_files(files, question.files)
    if question.symbols:
        units = rank(tree, question.query, None, UNITS, within=within).hits
        figures |= of_symbols(_names(units), question.symbols, "symbol")
        named = [hit for hit in units if hit.level is not Level.FILE]
        figures |= of_symbols(_names(named), question.symbols, "symbol, no files,")
    among = sum(path in files for path in question.files) / len(question.files)
    took, computed = (first_ms, again_ms), (first_processor, again_processor)
    return Answered(question, figures, took, computed, again.explanation.milliseconds, among)


@dataclass(frozen=True, slots=True)
class _Below:
    """Paths below a folder."""

    folder: bytes

    def accept(self, path: bytes) -> bool:
        return path.startswith(self.folder.rstrip(b"/") + b"/")


def _names(hits: list[Hit]) -> list[tuple[str, str]]:
    return [(hit.path.decode(errors="replace"), (components(hit.name) or [""])[-1]) for hit in hits]


def _timed(run: Callable[[], Ranking]) -> tuple[Ranking, float, float]:
    """With milliseconds by the clock and of the processor."""
    started, computed = time.perf_counter(), time.process_time()
    result = run()
    return result, (time.perf_counter() - started) * 1000, (time.process_time() - computed) * 1000


def _mirror(folder: Path, repository: str) -> Path | None:
    """A clone or a bare mirror: FOLDER/owner+name, or a folder `repo` in that."""
    names = [folder / layout.format(name=repository.replace("/", "+")) for layout in LAYOUTS]
    return next((path for path in reversed(names) if path.is_dir()), None)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nibd.bench.retrieve", description=__doc__)
    parser.add_argument(
        "--rows", type=Path, action="append", required=True, metavar="FILE", help="questions (JSONL)"
    )
    parser.add_argument(
        "--repositories", type=Path, required=True, metavar="FOLDER", help="has clones or mirrors: owner+name"
    )
    parser.add_argument(
        "--cache", type=Path, required=True, metavar="FOLDER", help="where views are kept between runs"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="OWNER/NAME", help="ask about these alone")
    parser.add_argument("--workers", type=int, default=None, metavar="N", help="processes of a build")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save all samples there")
    return parser
