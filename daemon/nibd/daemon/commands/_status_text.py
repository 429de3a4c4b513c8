"""A status as text for people: where the checkout is, a line a view, and what else needs saying. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from nibd.daemon.commands._answers import broken_text, lag_text, short
from nibd.daemon.commands._output import LINE, Style, counted, visible_line, wrapped
from nibd.daemon.commands._tables import table
from nibd.ipc.messages import JsonObject

_HEADER = ("view", "state", "assurance", "commit", "lag", "coverage")
_ASKED = {
    "definition": "definitions",
    "references": "references",
    "implementations": "implementations",
}
_COLOURS = {"ready": "green", "building": "yellow", "failed": "red", "partial": "yellow"}


def has_failed(status: JsonObject) -> bool:
    """Whether HEAD, a view, or the relations of a family are in trouble."""
    shown = (*status["views"].values(), *status["relations"].values())
    return bool(status["error"]) or any(each["state"] == "failed" for each in shown)


def render(status: JsonObject, style: Style, width: int | None) -> str:
    """`width` is that of the terminal; without one (`None`) lines keep to 80 columns all the same."""
    lines = [*_place(status, style, width or LINE), ""]
    rows = [_row(name, view) for name, view in status["views"].items()]
    rows += [_row(f"relations {family}", view) for family, view in status["relations"].items()]
    lines += table(_HEADER, rows, style, width or LINE, _COLOURS)
    said = ["", *_holding(status), *_reasons(status), "", _files(status), *_work(status)]
    for text in said:
        lines += wrapped(text, width) or [""]
    if status["error"]:
        lines += [style("red", line) for line in wrapped(f"error: {visible_line(status['error'])}", width)]
    for text in broken_text(status["broken"]):
        lines += [style("loud", line) for line in wrapped(f"! {text}", width)]
    for note in status["notes"]:
        lines += [style("yellow", line) for line in wrapped(f"note: {visible_line(note)}", width)]
    return "\n".join(lines)


def work_text(work: JsonObject) -> str:
    """A running or waiting job on one line."""
    text = f"{work['kind']} {short(work['commit'])}" if work["commit"] else str(work["kind"])
    progress = work.get("progress")
    return f"{text}: {progress_text(progress)}" if progress else text


def progress_text(progress: JsonObject) -> str:
    total = progress.get("total")
    return f"{progress['stage']} {progress['done']}{f' of {total}' if total else ''}"


def _place(status: JsonObject, style: Style, width: int) -> Iterator[str]:
    """One line where it fits, else the path on a line of its own."""
    head, snapshot = status["head"], status["snapshot"]
    on = f"on {visible_line(head['branch'])}" if head["branch"] else "detached"
    at = f"at {short(head['commit'])}" if head["commit"] else "without a commit"
    found = f"{on} {at}" if head["branch"] or head["commit"] else "HEAD can't be read"
    published = f"published {short(snapshot['commit'])}" if snapshot else "nothing published yet"
    path, state = visible_line(status["path"]), f"{found}, {published}"
    if len(path) + 1 + len(state) <= width:
        yield f"{style('bold', path)} {state}"
    else:
        yield style("bold", path)
        yield from wrapped(f"  {state}", width)


def _row(name: str, view: JsonObject) -> tuple[str, ...]:
    return (
        name,
        view["state"],
        view["assurance"] or "-",
        short(view["commit"]),
        lag_text(view["lag"]) or ("none" if view["commit"] else "-"),
        _coverage(view),
    )


def _holds(counts: JsonObject) -> str:
    """What a view holds, in short: `units:L1` and the like are added up, languages are counted."""
    sums: dict[str, int] = {}
    for name, count in counts.items():
        group, _, member = name.partition(":")
        if group == "language":
            sums["languages"] = sums.get("languages", 0) + 1
        elif group == "broken":
            sums["broken files"] = sums.get("broken files", 0) + count
        elif not (member and group == "skip") and name != "verified":  # these have lines of their own
            sums[group] = sums.get(group, 0) + count
    return ", ".join(counted(count, what.replace("_", " ")) for what, count in sums.items() if count)


def _coverage(view: JsonObject) -> str:
    """Of what is being built it may not be known yet how much that is; what is absent covers nothing."""
    coverage = view["coverage"]
    if not coverage or (view["state"] != "ready" and not coverage["of"]):
        return "-"
    return f"{coverage['done']} of {coverage['of']}"


def _holding(status: JsonObject) -> Iterator[str]:
    for name, view in status["views"].items():
        holds = _holds(view["counts"] or {})
        if holds:
            yield f"{name} holds {holds}"
    for family, relations in status["relations"].items():
        if relations["counts"].get("sites"):
            yield f"relations {family} holds {_holds(relations['counts'])}"
            yield from _verified(family, relations)
        if relations["agreement"]:
            yield f"relations {family}: {_agreement(relations['agreement'])}"


def _agreement(agreement: JsonObject) -> str:
    """How far static answers equalled live ones, by language where the family has several."""
    several = len({rate["language"] for rate in agreement["rates"]}) > 1
    rates = [
        f"{rate['language'] + ': ' if several else ''}{_share(rate['equal'], rate['asked'])}"
        f" of {counted(rate['asked'], _ASKED[rate['operation']])}"
        for rate in agreement["rates"]
        if rate["asked"]
    ]
    return f"static equalled live on {', '.join(rates) or 'nothing'} (at {short(agreement['commit'])})"


def _share(part: int, whole: int) -> str:
    """In percent; 100 only for all."""
    return f"{part * 100 // whole}%"


def _verified(family: str, relations: JsonObject) -> Iterator[str]:
    """What verification has still to do, and how often it had nothing to correct."""
    counts, repairs = relations["counts"], relations["repairs"]
    if "verified" in counts and counts["verified"] < counts["files"]:
        yield f"relations {family}: {counts['verified']} of {counts['files']} files verified at this tree"
    if repairs and repairs["verified"]:
        right, verified, differing = (repairs[key] for key in ("right", "verified", "differing"))
        found = f"; {counted(differing, 'sites')} differed in all" if differing else ""
        of = counted(verified, "transitions")
        yield f"relations {family}: repair alone was right on {right} of {of}{found}"
    if repairs and repairs["audits"]:
        agreed, audits = repairs["audits_right"], counted(repairs["audits"], "audits")
        yield f"relations {family}: a fresh server agreed in {agreed} of {audits}"


def _reasons(status: JsonObject) -> Iterator[str]:
    for name, view in status["views"].items():
        if view["reason"] and view["reason"] != status["error"]:  # which has a line of its own
            yield f"{name}: {visible_line(view['reason'])}"
    for family, relations in status["relations"].items():
        if relations["reason"]:
            yield f"relations {family}: {visible_line(relations['reason'])}"


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
