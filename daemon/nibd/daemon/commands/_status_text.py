"""A status as text for people: where the checkout is, a line a view, and what else needs saying. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nibd.daemon.commands._answers import lag_text, short
from nibd.daemon.commands._output import Style, visible_line
from nibd.daemon.commands._tables import table
from nibd.ipc.messages import JsonObject

_HEADER = ("view", "state", "assurance", "commit", "lag", "coverage", "holds")
_COLOURS = {"ready": "green", "building": "yellow", "failed": "red", "partial": "yellow"}


def has_failed(status: JsonObject) -> bool:
    """Whether HEAD or a view is in trouble."""
    return bool(status["error"]) or any(view["state"] == "failed" for view in status["views"].values())


def render(status: JsonObject, style: Style, width: int | None) -> str:
    """`width` is that of the terminal, `None` where lines may be of any length."""
    lines = [_place(status, style), ""]
    rows = [_row(name, view) for name, view in status["views"].items()]
    lines += table(_HEADER, rows, style, width, _COLOURS, cut_last=True)
    lines += [f"{name}: {visible_line(view['reason'])}" for name, view in _with_reason(status)]
    lines += _lacking(status)
    lines += ["", _files(status)]
    lines += _work(status)
    if status["error"]:
        lines.append(style("red", f"error: {visible_line(status['error'])}"))
    lines += [style("yellow", f"note: {visible_line(note)}") for note in status["notes"]]
    return "\n".join(lines)


def work_text(work: JsonObject) -> str:
    """A running or waiting job on one line."""
    text = f"{work['kind']} {short(work['commit'])}" if work["commit"] else str(work["kind"])
    progress = work.get("progress")
    return f"{text}: {progress_text(progress)}" if progress else text


def progress_text(progress: JsonObject) -> str:
    total = progress.get("total")
    return f"{progress['stage']} {progress['done']}{f' of {total}' if total else ''}"


def _place(status: JsonObject, style: Style) -> str:
    head, snapshot = status["head"], status["snapshot"]
    on = f"on {visible_line(head['branch'])}" if head["branch"] else "detached"
    at = f"at {short(head['commit'])}" if head["commit"] else "without a commit"
    published = f"published {short(snapshot['commit'])}" if snapshot else "nothing published yet"
    return f"{style('bold', visible_line(status['path']))} {on} {at}, {published}"


def _row(name: str, view: JsonObject) -> tuple[str, ...]:
    return (
        name,
        view["state"],
        view["assurance"] or "-",
        short(view["commit"]),
        lag_text(view["lag"]) or ("none" if view["commit"] else "-"),
        _coverage(view["coverage"]),
        _holds(view["counts"] or {}),
    )


def _holds(counts: JsonObject) -> str:
    """What a view holds, in short: `units:L1` and the like are added up, languages are counted."""
    sums: dict[str, int] = {}
    for name, count in counts.items():
        group, _, member = name.partition(":")
        if group == "language":
            sums["languages"] = sums.get("languages", 0) + 1
        elif not (member and group == "skip"):  # skips have a line of their own
            sums[group] = sums.get(group, 0) + count
    return ", ".join(f"{count} {what.replace('_', ' ')}" for what, count in sums.items() if count)


def _coverage(coverage: JsonObject | None) -> str:
    return f"{coverage['done']} of {coverage['of']}" if coverage else "-"


def _with_reason(status: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    return ((name, view) for name, view in status["views"].items() if view["reason"])


def _lacking(status: JsonObject) -> Iterator[str]:
    """What the structural view can't answer."""
    capabilities = status["views"].get("structural", {}).get("capabilities") or {}
    for capability, reason in capabilities.items():
        if reason:
            yield f"no {visible_line(capability)}: {visible_line(str(reason))}"


def _files(status: JsonObject) -> str:
    files, skipped = status["files"], status["skipped"] or {}
    if not files:
        return "files: not counted yet"
    text = f"files: {files['indexed']} of {files['total']} indexed"
    reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in skipped.items() if count)
    return f"{text}; skipped: {reasons}" if reasons else text


def _work(status: JsonObject) -> Iterator[str]:
    work = status["work"]
    for kind in ("running", "waiting"):
        for job in work[kind]:
            elsewhere = "" if job["repository"] in (None, status["repository"]) else f"{job['repository']} "
            yield f"{kind}: {elsewhere}{work_text(job)}"
