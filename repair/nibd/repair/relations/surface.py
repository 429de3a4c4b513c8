"""The surface of a unit: what of its own text decides what can be reached through it.

Of a callable that is what it gives back: where its header says so, the header without its parameters, else
the lines that give something back too. Of a macro it is all, since what it says is said where it is used.
Of a class, a struct, a module it is each line for itself: what is reached through a field depends on the
field's line, and through the class on its header and on what it embeds (`FileChange.resurfaces`).

Comments, doc comments and docstrings are on no surface.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nibd.repair.relations.source_file import Key, SourceFile
from nibd.stores.relation_types import RelationKind
from nibd.stores.types import Level, Unit

GIVES_BACK = re.compile(r"\b(return|yield|throw|raise)\b|=>")
_ALWAYS_SAID = frozenset({"go", "rust", "c"})
_SAYS = {
    "python": re.compile(r"\)\s*->"),
    "typescript": re.compile(r"\)\s*:"),
    "tsx": re.compile(r"\)\s*:"),
    "cpp": re.compile(r"^(?!.*\bauto\b)|->", re.DOTALL),
}
"""Languages in which a header may say what is given back, and how that looks without the parameters."""
_BY_PARAMETERS = re.compile(r"\boverload\b|\bconstructor\b|\b__init__\b|\b__new__\b")
"""Callables through whose parameters something is reached: an overload is chosen by them, fields are made."""
_DECLARED = re.compile(r"\w+\.(\w+)\s*:\s*([^=]+?)\s*(?:=(?!=).*)?$")
_BY_VALUE = re.compile(r"\bFinal\b(?!\[)|\bClassVar\b(?!\[)|[\"'({]")
"""A declaration that leaves the type to the value, or that goes on elsewhere."""
_COMMENT = {"python": re.compile(r"(?:^|\s)#.*")}
_SLASHES = re.compile(r"(?:^|\s)//.*|^/\*.*|^\*(?:\s.*|/)?$")
_QUOTES = re.compile(r"""^[rRbBuU]{0,2}(\"\"\"|''')""")


def code_lines(lines: Iterable[str], language: str) -> Iterator[str]:
    """Lines without comments and blanks at both ends; those with nothing left are left out."""
    comment = _COMMENT.get(language, _SLASHES)
    closing = ""
    for line in lines:
        text = line.strip()
        if closing:
            closing = "" if closing in text else closing
            continue
        quotes = _QUOTES.match(text) if language == "python" else None
        if quotes:
            closing = "" if text.count(quotes[1]) > 1 else quotes[1]
            continue
        text = comment.sub("", text).strip()
        if text:
            yield text


def gives_back(file: SourceFile, key: Key) -> list[str]:
    """The lines of a callable that say what it gives back, the first without its parameters."""
    unit = file.units[file.ordinals[key]]
    said = surface(file, key) or [""]
    return [_without_parameters(said[0], unit), *said[1:]]


def surface(file: SourceFile, key: Key) -> list[str] | None:
    """The lines of a unit that are its surface; `None` when the file has no such unit."""
    ordinal = file.ordinals.get(key)
    if ordinal is None:
        return None
    unit, lines = file.units[ordinal], file.own_texts[key].splitlines()
    if unit.level is Level.FILE:
        return []
    if unit.level is not Level.CALLABLE or unit.kind == "macro":
        return list(code_lines(lines, file.language))
    end = unit.header_end_line - unit.start_line + 1
    header = "\n".join(code_lines(lines[:end], file.language))
    if not _BY_PARAMETERS.search(header):
        header = _without_parameters(header, unit)
    says = _SAYS.get(file.language)
    if file.language in _ALWAYS_SAID or (says and says.search(header)):
        return [header]
    return [header, *filter(GIVES_BACK.search, code_lines(lines[end:], file.language))]


def header(file: SourceFile, key: Key) -> list[str]:
    """The lines of a unit's header, without comments."""
    unit = file.units[file.ordinals[key]]
    lines = file.own_texts[key].splitlines()[: unit.header_end_line - unit.start_line + 1]
    return list(code_lines(lines, file.language))


def inherited(file: SourceFile, key: Key) -> list[str]:
    """The lines of a class that say from what it inherits: of its header, and those on which Go embeds."""
    lines = header(file, key)
    if file.language != "go":
        return lines
    sites = (file.sites[i] for i in file.sites_by_unit.get(file.ordinals[key], ()))
    embedding = {file.line_of(site) for site in sites if site.kind is RelationKind.INHERIT}
    return [*lines, *code_lines((file.lines[line] for line in sorted(embedding)), file.language)]


def declared(file: SourceFile, key: Key, name: str) -> list[str]:
    """The types that a callable's lines declare an attribute to be of; empty where that can't be told."""
    if file.language != "python":
        return []
    found = []
    for line in code_lines(file.lines_with(key, name), file.language):
        match = _DECLARED.match(line)
        if match and match[1] == name:
            if match[2].count("[") != match[2].count("]") or _BY_VALUE.search(match[2]):
                return []
            found.append(match[2])
    return found


def _without_parameters(header: str, unit: Unit) -> str:
    """Without what stands in the first parentheses behind the name."""
    named = re.search(rf"\b{re.escape(unit.name)}\b", header)
    start = header.find("(", named.end() if named else 0)
    depth = 0
    for at in range(start, len(header)) if start >= 0 else ():
        depth += {"(": 1, ")": -1}.get(header[at], 0)
        if depth == 0:
            return header[: start + 1] + header[at:]
    return header
