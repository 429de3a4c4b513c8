"""`nibd doctor`: the checks of `nibd.daemon.doctor`, a line each."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator

from nibd.daemon.commands._failures import Exit
from nibd.daemon.commands._launch import user_paths
from nibd.daemon.commands._output import Style, emit, style_of, visible_line
from nibd.daemon.commands.version import installed_version
from nibd.daemon.doctor import Check, Diagnosis, Verdict, diagnose

ABOUT = "Check what nibd needs and say what to do; exit status 1 when there is a problem."

_COLOURS = {Verdict.OK: "green", Verdict.NOTE: "dim", Verdict.WARNING: "yellow", Verdict.PROBLEM: "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Takes no arguments of its own."""


def run(arguments: argparse.Namespace) -> int:
    found = diagnose(user_paths(), os.environ, installed_version())
    document = {
        "checks": [
            {"name": c.name, "verdict": c.verdict.value, "found": c.found, "advice": c.advice or None}
            for c in found.checks
        ],
        "problems": count(found, Verdict.PROBLEM),
        "warnings": count(found, Verdict.WARNING),
        "daemon": found.daemon,
    }
    emit(arguments, document, "\n".join(_lines(found, style_of(sys.stdout))))
    return Exit.NO if document["problems"] else Exit.OK


def count(diagnosis: Diagnosis, verdict: Verdict) -> int:
    return sum(check.verdict is verdict for check in diagnosis.checks)


def _lines(diagnosis: Diagnosis, style: Style) -> Iterator[str]:
    for check in diagnosis.checks:
        yield _line(check, style)
        if check.advice:
            yield f"         → {visible_line(check.advice)}"
    problems, warnings = count(diagnosis, Verdict.PROBLEM), count(diagnosis, Verdict.WARNING)
    yield f"{_number(problems, 'problem')}, {_number(warnings, 'warning')}"


def _line(check: Check, style: Style) -> str:
    verdict = style(_COLOURS[check.verdict], f"{check.verdict.value:8}")
    return f"{verdict} {check.name}: {visible_line(check.found)}"


def _number(count: int, what: str) -> str:
    return f"{count or 'no'} {what}{'' if count == 1 else 's'}"
