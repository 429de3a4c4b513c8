"""Answers of search, symbols and outline as text: a header that says what they rest on, then the hits.

The header names the commit. What keeps the answer from being the whole truth about the checkout (a lag, a
view that is not all there, files edited since) follows on lines of its own that begin with `!`.
"""

from __future__ import annotations

from collections.abc import Iterator

from nibd.daemon.commands._output import Style, clipped, counted, kind_beside, visible, visible_line
from nibd.ipc.messages import Json, JsonObject

COMMIT_DIGITS = 10
_SNIPPET_LINES = 12


def short(commit: str | None) -> str:
    return commit[:COMMIT_DIGITS] if commit else "-"


def render(answer: JsonObject, style: Style) -> str:
    """Header, warnings, then each hit with its snippet."""
    lines = [_header(answer, style)]
    lines += [style("loud", f"! {text}") for text in warnings(answer)]
    explained = answer.get("explain")
    if explained:
        lines += [style("dim", line) for line in _explanation(explained)]
    for at, hit in enumerate(answer["hits"]):
        lines += ["", *_hit(hit, style)]
        if explained and explained["hits"][at]:
            lines.append(style("dim", f"    = {_evidence(explained['hits'][at])}"))
        if explained and explained["nearness"][at]:
            lines.append(style("dim", f"    + {_nearness(explained['nearness'][at])}"))
    if not answer["hits"]:
        lines.append("nothing found")
    return "\n".join(lines)


def render_outline(answer: JsonObject, style: Style) -> str:
    """Header, warnings, then a line a unit, indented by how many enclose it."""
    lines = [_header(answer, style)]
    lines += [style("loud", f"! {text}") for text in warnings(answer)]
    hits = answer["hits"]
    for hit, depth in zip(hits, _depths(hits), strict=True):
        place = style("dim", f"{hit['start_line']}-{hit['end_line']}")
        what = " ".join(part for part in (_kind(hit), style("bold", _name(hit))) if part)
        lines.append(f"{'  ' * depth}{what}  {place}")
    if not hits:
        lines.append("nothing found")
    return "\n".join(lines)


def warnings(answer: JsonObject) -> Iterator[str]:
    """Why the answer may differ from what the checkout has now; nothing when it does not."""
    commit, head = answer["snapshot"]["commit"], answer["head"]
    head_commit = head["commit"] if isinstance(head, dict) else head
    if head_commit != commit:
        yield f"STALE: this is {short(commit)}, {_head(answer, head_commit)}"
    for name, view in answer["views"].items():
        if not view.get("used", True):
            yield f"WITHOUT the {name} view: {_reason(view)}"
        elif view["assurance"] == "partial" or view["state"] != "ready":
            yield f"PARTIAL: the {name} view {_coverage(view)}{_because(view)}"
    if (reranker := answer.get("reranker")) and not reranker["used"]:
        yield f"WITHOUT the reranker: {visible_line(reranker['reason'])}"
    if broken := answer.get("broken"):
        yield from broken_text(broken)
    edited = sorted({_path(hit) for hit in answer["hits"] if hit.get("edited")})
    if edited:
        yield f"EDITED in the work tree since: {', '.join(edited)}"


def broken_text(broken: JsonObject) -> Iterator[str]:
    """That units may be missing, and where; nothing when no file is broken."""
    count, named = broken["count"], [f"{_path(file)}:{file['line']}" for file in broken["files"]]
    if count:
        what = f"{counted(count, 'files')} can't be parsed wholly, so units may be missing"
        yield f"BROKEN: {what}: {', '.join(named)}{', …' if count > len(named) else ''}"


def lag_text(lag: JsonObject | None) -> str:
    """A lag in words; empty when there is none or it is unknown."""
    if not lag:
        return ""
    parts = []
    if lag.get("commits"):
        parts.append(counted(lag["commits"], "commits"))
    if lag.get("seconds"):
        parts.append(duration(lag["seconds"]))
    return ", ".join(parts)


def duration(seconds: float) -> str:
    """Seconds, minutes, hours or days, whichever says it shortest."""
    for unit, size in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 or seconds == 0 else f"{seconds:.1f} s"


def _explanation(explained: JsonObject) -> Iterator[str]:
    """The plan and why it is, what the query was taken for, what was looked at, how long each stage took."""
    plan = explained["plan"]
    widths = ", ".join(f"{name} {width}" for name, width in plan["widths"].items())
    yield f"plan {plan['used']} (asked: {plan['asked']}; a query of the form {plan['form']}); {widths}"
    yield from (visible_line(why) for why in plan["why"])
    if expansion := explained["expansion"]:
        yield f"relations followed: {_expansion(expansion)}"
    terms = " ".join(f"{visible_line(each['term'])}={each['importance']:g}" for each in explained["terms"])
    yield f"{explained['shape'] or 'no lexical ranking'}: {terms}"
    counts = explained["counts"] | {f"{name} candidates": n for name, n in explained["candidates"].items()}
    yield ", ".join(f"{name} {count}" for name, count in counts.items())
    yield ", ".join(f"{stage} {took:.1f} ms" for stage, took in explained["milliseconds"].items())


def _expansion(expansion: JsonObject) -> str:
    edges = ", ".join(f"{count} {edge}" for edge, count in expansion["edges"].items()) or "none"
    families = ", ".join(expansion["families"]) or "no family"
    lacking = f"; not there: {', '.join(expansion['lacking'])}" if expansion["lacking"] else ""
    return f"{edges} (of {families}{lacking})"


def _evidence(evidence: JsonObject) -> str:
    """The strongest first, and last what was taken off."""
    ordered = sorted(evidence.items(), key=lambda each: -each[1])
    return ", ".join(f"{kind} {value:.2f}" for kind, value in ordered)


def _nearness(near: JsonObject) -> str:
    return f"nearness {near['added']:.2f} (cosine {near['cosine']:.2f}, rank {near['rank']} of the nearest)"


def _header(answer: JsonObject, style: Style) -> str:
    parts = [f"commit {short(answer['snapshot']['commit'])}", *used_views(answer)]
    if (reranker := answer.get("reranker")) and reranker["used"]:
        parts.append(f"ordered anew by {visible_line(reranker['model'])}")
    return style("dim", "; ".join(parts))


def used_views(answer: JsonObject) -> list[str]:
    """The views that the answer rests on, and the relations, each with its assurance."""
    used = [(name, view) for name, view in answer["views"].items() if view.get("used", True)]
    used += [(f"{name} relations", view) for name, view in relations_used(answer)]
    return [f"{name} {view['assurance'] or view['state']}" for name, view in used]


def relations_used(answer: JsonObject) -> list[tuple[str, JsonObject]]:
    """The language families whose relations the answer rests on."""
    relations = answer["views"].get("structural", {}).get("relations", {})
    return [(name, view) for name, view in relations.items() if view["used"]]


def _head(answer: JsonObject, commit: str | None) -> str:
    """Where HEAD is, or why that can't be told."""
    reasons = [view["reason"] for view in answer["views"].values() if view.get("reason")]
    if commit is None and reasons:
        return f"HEAD can't be read: {clipped(visible_line(reasons[0]))}"
    return f"HEAD is {short(commit)}{_behind(answer)}"


def _behind(answer: JsonObject) -> str:
    behind = max((lag_text(view.get("lag")) for view in answer["views"].values()), key=len, default="")
    return f" ({behind} behind)" if behind else ""


def _reason(view: JsonObject) -> str:
    return visible_line(view.get("reason") or view["state"])


def _because(view: JsonObject) -> str:
    return f": {visible_line(view['reason'])}" if view.get("reason") else ""


def _coverage(view: JsonObject) -> str:
    coverage = view.get("coverage")
    if not coverage:
        return f"is {view['state']}"
    return f"holds {coverage['done']} of {coverage['of']}"


def _hit(hit: JsonObject, style: Style) -> Iterator[str]:
    score = "" if hit.get("score") is None else style("dim", f"  {hit['score']:.4g}")
    edited = style("loud", "  edited") if hit.get("edited") else ""
    place = style("bold", f"{_path(hit)}:{hit['start_line']}-{hit['end_line']}")
    what = " ".join(part for part in (place, _kind(hit), _name(hit)) if part)
    yield f"{what}{score}{edited}"
    lines = hit["snippet"].split("\n") if hit["snippet"] else []
    for number, line in enumerate(lines[:_SNIPPET_LINES], hit["snippet_line"] or 0):
        spans = [(each["column"], each["end_column"]) for each in hit["matches"] if each["line"] == number]
        yield f"{style('dim', f'{number:>6}')}  {_marked(line, spans, style)}".rstrip()
    if len(lines) > _SNIPPET_LINES:
        yield style("dim", f"        … {counted(len(lines) - _SNIPPET_LINES, 'lines')} more")


def _marked(line: str, spans: list[tuple[int, int]], style: Style) -> str:
    """A line with its matched words marked, by columns from 1."""
    parts, done = [], 0
    for column, end in spans:
        parts += [visible(line[done : column - 1]), style("match", visible(line[column - 1 : end - 1]))]
        done = end - 1
    return "".join([*parts, visible(line[done:])])


def _path(hit: JsonObject) -> str:
    return visible_line(hit["path"])


def _kind(hit: JsonObject) -> str:
    return kind_beside(_name(hit), hit["kind"])


def _name(hit: JsonObject) -> str:
    return visible_line(hit["name"] or "")


def _depths(hits: list[JsonObject]) -> list[int]:
    """How many hits enclose each; an enclosing one stands before those inside it."""
    depths: list[int] = []
    for hit in hits:
        parent: Json = hit.get("parent")
        depths.append(0 if parent is None or parent >= len(depths) else depths[parent] + 1)
    return depths
