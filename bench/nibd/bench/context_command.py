"""`python -m nibd.bench.context --rows FILE --repositories FOLDER --cache FOLDER`, or with `--repository`.

Each issue is answered by a scripted agent (`nibd.bench.agent`) under each policy, over the views of its
commit, by the library, without a daemon.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from nibd.bench import asking, retrieve_views
from nibd.bench.agent_tools import Tools
from nibd.bench.context_figures import Run, report_runs
from nibd.bench.report import Report
from nibd.bench.retrieve_plans import NEED_VECTORS, PLANS, Asker
from nibd.bench.retrieve_rows import Question
from nibd.bench.trajectory import Policy, Trajectory, run
from nibd.query.context.tokens import Estimate, TokenCounter, Tokenizer, TokenizerError
from nibd.query.planning import Plan
from nibd.repair.embedding_profile import DEFAULT_MODEL, EmbeddingError, resolve
from nibd.stores.types import Level

BUDGET = 8000
PACKET_UNITS = 10
TOKENIZER = "tokenizer.json"


def main(arguments: list[str] | None = None) -> int:
    parser = make_parser()
    options = parser.parse_args(arguments)
    asking.check(parser, options)
    report = Report("nibd: what context policies cost and give, by a scripted agent")
    try:
        counter = _counter(options.tokenizer)
    except TokenizerError as error:
        parser.error(f"--tokenizer: {error}")
    report.add(
        "tokens are counted by", counter.name if counter.exact else f"{counter.name}: a third of the bytes"
    )
    runs: dict[str, list[Run]] = defaultdict(list)
    model = options.model if options.plan in NEED_VECTORS else None
    with retrieve_views.embedding(options.cache, model) as embedding:
        how = retrieve_views.How(options.workers, embedding)
        for asked in asking.asked(options):
            started = time.perf_counter()
            where = f"{asked.repository} {asked.commit[:10]}"
            with (
                report.guarded(where),
                retrieve_views.opened(asked.mirror, asked.commit, asked.folder, how) as opened,
                closing(Tools(opened)) as tools,
            ):
                asker = Asker(opened, options.plan, embedding)
                made = [_answered(question, asker, tools, counter, options) for question in asked.questions]
                runs[asked.title] += made
                recalls = ", ".join(f"{p} {sum(r.recall(p) for r in made) / len(made):.2f}" for p in Policy)
                print(f"  {where}: {time.perf_counter() - started:.0f} s, {recalls}", flush=True)
    for title, of in runs.items():
        report_runs(title, of, report)
    return report.end(options.json, options.page) or int(not runs)


def _answered(
    question: Question, asker: Asker, tools: Tools, counter: TokenCounter, options: argparse.Namespace
) -> Run:
    hits = asker.ask(question, Level.CALLABLE, PACKET_UNITS).hits

    def answered(policy: Policy) -> Trajectory:
        return run(policy, question.query, hits, tools, counter, options.budget, options.silent)

    return Run(question, {policy: answered(policy) for policy in Policy})


def _counter(file: Path | None) -> TokenCounter:
    """By the file, else by the embedding model's. Raises TokenizerError for a file that can't be used."""
    if file is not None:
        return Tokenizer.load(file, str(file))
    try:
        return Tokenizer.load(resolve(DEFAULT_MODEL) / TOKENIZER, DEFAULT_MODEL)
    except (EmbeddingError, TokenizerError) as error:
        return Estimate(str(error))


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m nibd.bench.context", description=__doc__)
    asking.configure(parser)
    parser.add_argument(
        "--plan", default=Plan.LEXICAL.value, choices=PLANS, metavar="PLAN",
        help=f"finds the units of packets: {', '.join(PLANS)} (default: lexical)",
    )  # fmt: skip
    parser.add_argument(
        "--model", default=DEFAULT_MODEL, metavar="NAME", help=f"embeds (default: {DEFAULT_MODEL})"
    )
    parser.add_argument(
        "--budget", type=int, default=BUDGET, metavar="N", help=f"tokens of a packet (default: {BUDGET})"
    )
    parser.add_argument(
        "--tokenizer", type=Path, metavar="FILE", help="a tokenizer.json (default: the model's)"
    )
    parser.add_argument("--silent", action="store_true", help="the agent's notes don't say what it believes")
    return parser
