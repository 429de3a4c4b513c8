"""Which questions a bench asks, and of which trees: rows of files, or what clones' own commits say."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from nibd.bench import history_rows
from nibd.bench.command import named_clone
from nibd.bench.retrieve_rows import Question, read
from nibd.bench.retrieve_views import mirror_of
from nibd.stores.types import CommitId


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions about one commit of `mirror`; `title` is that of their rows. Views are kept in `folder`."""

    title: str
    repository: str
    commit: CommitId
    mirror: Path
    folder: Path
    questions: Sequence[Question]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rows", type=Path, action="append", default=[], metavar="FILE", help="questions (JSONL; repeatable)"
    )
    parser.add_argument(
        "--repositories", type=Path, metavar="FOLDER", help="for --rows: has clones or mirrors: owner+name"
    )
    parser.add_argument(
        "--repository", type=named_clone, action="append", default=[], metavar="NAME=PATH",
        help="a clone whose own commits are the questions (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--commits",
        type=int,
        default=20,
        metavar="N",
        help="for --repository: so many questions (default: 20)",
    )
    parser.add_argument(
        "--cache", type=Path, required=True, metavar="FOLDER", help="where views are kept between runs"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="OWNER/NAME", help="ask about these alone")
    parser.add_argument("--limit", type=int, metavar="N", help="at most so many questions of each file")
    parser.add_argument("--workers", type=int, default=None, metavar="N", help="processes of a build")
    parser.add_argument("--json", type=Path, metavar="FILE", help="save all samples there")
    parser.add_argument("--page", type=Path, metavar="FILE", help="save a readable report there (HTML)")


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Ends the program with what is missing."""
    if not options.rows and not options.repository:
        parser.error("nothing to ask: give --rows, or --repository NAME=PATH")
    if options.rows and options.repositories is None:
        parser.error("--rows needs --repositories, the folder of their clones")


def asked(options: argparse.Namespace) -> Iterator[Asked]:
    """Commit by commit. What has no clone is said, and left out."""
    for file in options.rows:
        yield from _grouped(file.stem, read([file], options.only)[: options.limit], options)
    for name, path in options.repository:
        questions = history_rows.questions(name, path, options.commits)
        for commit, group in groupby(questions, lambda question: question.commit):
            yield Asked("own commits", name, commit, path, options.cache / name, list(group))


def _grouped(title: str, questions: Sequence[Question], options: argparse.Namespace) -> Iterator[Asked]:
    for (repository, commit), group in groupby(questions, lambda each: (each.repository, each.commit)):
        mirror = mirror_of(options.repositories, repository)
        if mirror is None:
            print(f"  {repository}: no clone in {options.repositories}", flush=True)
            continue
        folder = options.cache / repository.replace("/", "+")
        yield Asked(title, repository, commit, mirror, folder, list(group))
