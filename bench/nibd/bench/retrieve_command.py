"""`python -m nibd.bench.retrieve --rows FILE --repositories FOLDER --cache FOLDER`, or with `--repository`.

Each question is put to its commit's views by each plan, by the library, without a daemon: at L0 for files,
and at any level for symbols.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nibd.bench import asking, retrieve_views
from nibd.bench.report import Report
from nibd.bench.retrieve_ablations import Ablated, ablated, report_ablations
from nibd.bench.retrieve_answers import Answered, answered
from nibd.bench.retrieve_figures import report_answers
from nibd.bench.retrieve_neighbours import Searched, report_neighbours, searched
from nibd.bench.retrieve_plans import NEED_VECTORS, PLANS, Asker
from nibd.bench.retrieve_views import Embedding, Opened
from nibd.query.planning import Plan
from nibd.repair.embedding import DEFAULT_MODEL


@dataclass(slots=True)
class _Results:
    """Of one file of rows."""

    answers: list[Answered] = field(default_factory=list)
    ablations: list[Ablated] = field(default_factory=list)
    indices: list[Searched] = field(default_factory=list)


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser()
    options = parser.parse_args(arguments)
    asking.check(parser, options)
    report = Report("nibd: what ranked search finds")
    results: defaultdict[str, _Results] = defaultdict(_Results)
    wants_vectors = options.indices or bool(NEED_VECTORS & set(options.plans))
    with retrieve_views.embedding(options.cache, options.model if wants_vectors else None) as embedding:
        how = retrieve_views.How(options.workers, embedding, options.servers if options.relations else None)
        for asked in asking.asked(options):
            started = time.perf_counter()
            where = f"{asked.repository} {asked.commit[:10]}"
            with (
                report.guarded(where),
                retrieve_views.opened(asked.mirror, asked.commit, asked.folder, how) as opened,
            ):
                opened_s = time.perf_counter() - started
                made = _answers(opened, asked, options, embedding, results[asked.title])
                recalls = ", ".join(f"{plan} {_recall(of):.3f}" for plan, of in made.items())
                print(f"  {where}: views {opened_s:.0f} s, file R@10 {recalls}", flush=True)
    for title, found in results.items():
        report_answers(title, found.answers, report)
        if found.ablations:
            report_ablations(title, found.ablations, report)
        report_neighbours(title, found.indices, report)
    print(f"\n{report.text()}", flush=True)
    if options.json:
        report.save(options.json)
    if options.page:
        report.save_page(options.page)
    return 1 if report.failed or not results else 0


def _answers(
    opened: Opened,
    asked: asking.Asked,
    options: argparse.Namespace,
    embedding: Embedding | None,
    results: _Results,
) -> dict[str, list[Answered]]:
    made = {
        plan: [answered(Asker(opened, plan, embedding), question) for question in asked.questions]
        for plan in options.plans
    }
    for of in made.values():
        results.answers += of
    if options.ablations:
        results.ablations += [ablated(opened, question) for question in asked.questions]
    if options.indices and embedding:
        queries = [question.query for question in asked.questions]
        results.indices += searched(asked.repository, opened, embedding, queries)
    return made


def _recall(answers: Sequence[Answered]) -> float:
    return sum(each.figures["file R@10"] for each in answers) / len(answers)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nibd.bench.retrieve", description=__doc__)
    asking.configure(parser)
    parser.add_argument(
        "--plans", nargs="+", default=[Plan.LEXICAL.value], choices=PLANS, metavar="PLAN",
        help=f"plans to compare: {', '.join(PLANS)} (default: lexical); the dense view is built for those "
        "that need it",
    )  # fmt: skip
    parser.add_argument(
        "--model", default=DEFAULT_MODEL, metavar="NAME", help=f"embeds (default: {DEFAULT_MODEL})"
    )
    parser.add_argument(
        "--relations", action="store_true", help="make relations first, for the structural plan"
    )
    parser.add_argument(
        "--servers", type=Path, action="append", default=[], metavar="DIR",
        help="for --relations: where language servers are looked for, before PATH (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--ablations", action="store_true", help="rank without each kind of evidence and each penalty too"
    )
    parser.add_argument(
        "--indices", action="store_true", help="compare FAISS's Flat, HNSW and IVF over the dense view"
    )
    return parser
