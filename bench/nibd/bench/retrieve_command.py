"""`python -m nibd.bench.retrieve --rows FILE --repositories FOLDER --cache FOLDER`, or with `--repository`.

Each question is put to its commit's views by each plan, by the library, without a daemon: at L0 for files,
and at any level for symbols.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from nibd.bench import asking, retrieve_views
from nibd.bench.report import Report
from nibd.bench.retrieve_ablations import ablated, report_ablations
from nibd.bench.retrieve_answers import Answered, answered
from nibd.bench.retrieve_figures import report_answers
from nibd.bench.retrieve_journal import Found, Journal
from nibd.bench.retrieve_neighbours import report_neighbours, searched
from nibd.bench.retrieve_plans import NEED_VECTORS, PLANS, Asker
from nibd.bench.retrieve_relations import identities
from nibd.bench.retrieve_views import Embedding
from nibd.query.planning import Plan
from nibd.repair.embedding import DEFAULT_MODEL

DECIDING = ("plans", "model", "relations", "servers", "ablations", "indices")
"""Options that decide what a commit's questions find."""


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser()
    options = parser.parse_args(arguments)
    asking.check(parser, options)
    report = Report("nibd: what ranked search finds")
    results: defaultdict[str, Found] = defaultdict(Found)
    for title, found in _of_commits(options, report):
        results[title].add(found)
    for title, whole in results.items():
        report_answers(title, whole.answers, report)
        if whole.ablations:
            report_ablations(title, whole.ablations, report)
        report_neighbours(title, whole.indices, report)
    return report.end(options.json, options.page) or int(not results)


def _of_commits(options: argparse.Namespace, report: Report) -> Iterator[tuple[str, Found]]:
    """Of each commit, with the title of its rows."""
    commits = [*asking.asked(options)]
    began = time.perf_counter()
    wants_vectors = options.indices or bool(NEED_VECTORS & set(options.plans))
    with retrieve_views.embedding(options.cache, options.model if wants_vectors else None) as embedding:
        how = retrieve_views.How(
            options.workers, embedding, tuple(options.servers) if options.relations else None
        )
        journal = Journal(options.journal, _deciding(options, how))
        for at, asked in enumerate(commits, 1):
            where = f"{asked.repository} {asked.commit[:10]}"
            with report.guarded(where):
                found = journal.found(asked, partial(_found, asked, options, how, embedding))
                yield asked.title, found
                left = (time.perf_counter() - began) / at * (len(commits) - at) / 60
                said = f"file R@10 {_recalls(found.answers)}; {left:.0f} min to go"
                print(f"  {at} of {len(commits)}, {where}: {said}", flush=True)


def _deciding(options: argparse.Namespace, how: retrieve_views.How) -> dict[str, Any]:
    """The options that decide what is found, and which model and servers they mean here and now."""
    return {name: getattr(options, name) for name in DECIDING} | {
        "vectors": how.embedding.embedder.profile if how.embedding else None,
        "found servers": dict(identities(how.servers)) if how.servers is not None else None,
    }


def _found(
    asked: asking.Asked, options: argparse.Namespace, how: retrieve_views.How, embedding: Embedding | None
) -> Found:
    with retrieve_views.opened(asked.mirror, asked.commit, asked.folder, how) as opened:
        found = Found(
            [
                answered(Asker(opened, plan, embedding), question)
                for plan in options.plans
                for question in asked.questions
            ]
        )
        if options.ablations:
            found.ablations += [ablated(opened, question) for question in asked.questions]
        if options.indices and embedding:
            queries = [question.query for question in asked.questions]
            found.indices += searched(asked.repository, opened, embedding, queries)
        return found


def _recalls(answers: Sequence[Answered]) -> str:
    plans = {each.plan: [a.figures["file R@10"] for a in answers if a.plan == each.plan] for each in answers}
    return ", ".join(f"{plan} {sum(of) / len(of):.3f}" for plan, of in plans.items())


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
        "--journal", type=Path, metavar="FILE",
        help="note there what each commit's questions found, and go on with what is noted",
    )  # fmt: skip
    parser.add_argument(
        "--ablations", action="store_true", help="rank without each kind of evidence and each penalty too"
    )
    parser.add_argument(
        "--indices", action="store_true", help="compare FAISS's Flat, HNSW and IVF over the dense view"
    )
    return parser
