"""Answers of grep as text: a header, warnings, then lines as grep prints them, or files."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from nibd.daemon.commands._answers import short, warnings
from nibd.daemon.commands._output import Style, counted, visible, visible_line
from nibd.ipc.messages import JsonObject


def render(answer: JsonObject, style: Style) -> str:
    """`path:line:column: text`, in context `path-line- text` with `--` between stretches; or files."""
    lines = [style("dim", f"commit {short(answer['snapshot']['commit'])}; {_searched(answer)}")]
    lines += [style("loud", f"! {text}") for text in (*warnings(answer), *_unfinished(answer))]
    lines += _listed(answer["hits"], style)
    if not answer["hits"]:
        lines.append("nothing found")
    return "\n".join(lines)


def _listed(hits: list[JsonObject], style: Style) -> Iterator[str]:
    """Files, or lines by file with a mark between stretches that are apart."""
    in_context = any(hit.get("before") or hit.get("after") for hit in hits)
    parted = False
    for path, of_file in groupby(hits, lambda hit: visible_line(hit["path"])):
        lines: dict[int, str] = {}
        for hit in of_file:
            if "line" not in hit:
                yield style("bold", path) + (f":{hit['count']}" if "count" in hit else "")
                continue
            lines |= {number: text for number, text in _around(hit, path, style) if number not in lines}
            place = style("bold", f"{path}:{hit['line']}:{hit['column']}:")
            lines[hit["line"]] = f"{place} {_text(hit['text'])}"
        previous: int | None = None
        for number in sorted(lines):
            if in_context and parted and number - 1 != previous:
                yield style("dim", "--")
            yield lines[number]
            previous, parted = number, True


def _around(hit: JsonObject, path: str, style: Style) -> Iterator[tuple[int, str]]:
    numbered = [*enumerate(hit["before"], hit["line"] - len(hit["before"]))]
    numbered += enumerate(hit["after"], hit["line"] + 1)
    return ((number, style("dim", f"{path}-{number}-") + f" {_text(text)}") for number, text in numbered)


def _searched(answer: JsonObject) -> str:
    skipped = answer["not_searched"]
    reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in skipped.items())
    looked = f"{counted(answer['searched'], 'files')} read of {answer['candidates']} that may match"
    return f"{looked}; not searched: {reasons}" if reasons else looked


def _unfinished(answer: JsonObject) -> Iterator[str]:
    partial = answer["partial"]
    if partial:
        path = visible_line(partial["path"])
        yield f"PARTIAL: time was up before {path}; --from that path goes on there, --time gives more"
    elif answer["next_offset"] is not None:
        yield f"MORE: --offset {answer['next_offset']} shows what follows"


def _text(line: str) -> str:
    return visible(line).rstrip()
