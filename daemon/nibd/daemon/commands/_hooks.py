"""What was done with Git hooks, for people and for programs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nibd.daemon.commands._output import visible_line
from nibd.hooks import HookReport, Outcome
from nibd.ipc.messages import Json

_UNTOUCHED = (Outcome.LEFT_ALONE, Outcome.FAILED)


def as_json(reports: Sequence[HookReport]) -> list[Json]:
    return [
        {
            "name": report.name,
            "path": str(report.path),
            "outcome": report.outcome.value,
            "reason": report.reason or None,
        }
        for report in reports
    ]


def worth_saying(reports: Sequence[HookReport]) -> Iterator[str]:
    """A line for each thing a person should know: hooks of theirs that were edited or could not be.

    Hooks that share outcome and reason share a line; hooks of nibd's own, or unchanged, need none.
    """
    groups: dict[tuple[Outcome, str], list[HookReport]] = {}
    for report in reports:
        if report.outcome in (Outcome.CHAINED, Outcome.RESTORED, *_UNTOUCHED) or report.reason:
            groups.setdefault((report.outcome, report.reason), []).append(report)
    for (outcome, reason), members in groups.items():
        names = ", ".join(member.name for member in members)
        said = f"hook {names} {outcome.value.replace('_', ' ')}"
        why = f": {visible_line(reason)}" if reason else ""
        yield f"{said} in {visible_line(str(members[0].path.parent))}{why}"
