"""From the matches of a language's query to source units.

Steps: sort what was matched into units, wrappers, comments and imports; give each unit its
wrapper's range; go through the units in the order of the text with a stack of those that enclose;
put what stands above a unit inside it; name it. Units never overlap but by enclosing, because
nodes of a tree don't.

Work is linear in the text: what stands above is found by walking back over white space, never by
asking a node for its siblings or parents, which tree-sitter answers by searching from the root.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from nibd.repair.syntax.parse import Captures, broken_line, matches, parse
from nibd.repair.syntax.spec import Enclosing, Match, ModulesRule, Spec
from nibd.repair.text import line_count
from nibd.stores.types import Import, Level, Skip, Unit

MAX_NESTING = 100
MAX_NAME_CHARACTERS = 200
MAX_QUALIFIED_CHARACTERS = 1_000

_MAX_IMPORT_BYTES = 16_384
_LEVELS = {"scope": Level.SCOPE, "callable": Level.CALLABLE}
_SPACE = b" \t\r\n\f\v"
_NEWLINE = ord("\n")


_Above = dict[int, tuple[int, bool]]


@dataclass(frozen=True, slots=True)
class Syntax:
    """The units of one file, the file itself first, and its imports in order.

    `broken_line` is the first line that the parser can't make out, 0 where there is none.
    """

    units: tuple[Unit, ...]
    imports: tuple[Import, ...]
    broken_line: int = 0


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A matched unit before it is named. `body` is where its body starts, -1 without one."""

    start: int
    end: int
    pattern: int
    match: Match
    body: int


@dataclass(slots=True)
class _Sorted:
    """What the matches hold. `above` maps the end of a comment or attribute to (start, attribute)."""

    candidates: list[_Candidate] = field(default_factory=list)
    above: _Above = field(default_factory=dict)
    imports: list[Import] = field(default_factory=list)


class _Lines:
    """Line numbers of offsets."""

    def __init__(self, content: bytes) -> None:
        self._ends = []
        at = content.find(b"\n")
        while at >= 0:
            self._ends.append(at)
            at = content.find(b"\n", at + 1)

    def of(self, offset: int) -> int:
        return bisect_left(self._ends, offset) + 1


def file_unit(content: bytes) -> Unit:
    """The unit that is the file: all of its bytes, level 0, no name."""
    return Unit(Level.FILE, "file", "", "", 1, max(1, line_count(content)), 0, len(content), 1, None)


def read_syntax(content: bytes, spec: Spec) -> Syntax | Skip:
    """Find the units and imports of decoded text."""
    parsed = spec.blanking(content) if spec.blanking else content
    tree = parse(spec, parsed)
    if isinstance(tree, Skip):
        return tree
    found = matches(spec, tree)
    if isinstance(found, Skip):
        return found
    lines = _Lines(content)
    sorted_matches = _sort(found, content, lines, spec.modules)
    if parsed != content:
        sorted_matches.candidates = [
            replace(each, start=_before_blanks(each.start, content, parsed))
            for each in sorted_matches.candidates
        ]
    units = _Builder(content, lines, spec, sorted_matches).build()
    if isinstance(units, Skip):
        return units
    return Syntax(tuple(units), tuple(sorted_matches.imports), broken_line(tree))


def _before_blanks(start: int, content: bytes, parsed: bytes) -> int:
    """Move a start up over what was blanked before it, on its line or the one above, but directives."""
    at, newlines, unmoved = start, 0, start
    while at > 0 and parsed[at - 1] in _SPACE and newlines < 2:
        at -= 1
        newlines += content[at] == _NEWLINE
        start = start if content[at] in _SPACE else at
    return unmoved if content[start : start + 1] == b"#" else start


def _sort(found: list[tuple[int, Captures]], content: bytes, lines: _Lines, modules: ModulesRule) -> _Sorted:
    sorted_matches = _Sorted()
    wrappers: dict[int, Captures] = {}
    units: dict[int, tuple[int, Captures]] = {}
    for pattern, captures in found:
        if "comment" in captures or "attribute" in captures:
            is_attribute = "attribute" in captures
            start, end = _trimmed(captures["attribute" if is_attribute else "comment"][0], content)
            if start > 0 or not content.startswith(b"#!"):
                sorted_matches.above[end] = (start, is_attribute)
        elif "inner" in captures:
            wrappers[captures["inner"][0].id] = captures
        elif "module" in captures:
            sorted_matches.imports.extend(_imports(captures, content, lines, modules))
        else:
            node = captures[_unit_label(captures)][0]
            if node.id not in units or pattern < units[node.id][0]:
                units[node.id] = (pattern, captures)
    sorted_matches.imports.sort(key=lambda each: each.start_line)
    sorted_matches.candidates = [
        _candidate(pattern, captures, wrappers, content, sorted_matches.above)
        for pattern, captures in units.values()
    ]
    return sorted_matches


def _unit_label(captures: Captures) -> str:
    return next(name for name in captures if name.partition(".")[0] in _LEVELS)


def _imports(captures: Captures, content: bytes, lines: _Lines, rule: ModulesRule) -> Iterator[Import]:
    start, end = _trimmed(captures["import"][0], content)
    texts = {
        name: _text(nodes[0], content, _MAX_IMPORT_BYTES)
        for name, nodes in captures.items()
        if name != "import"
    }
    for module in rule(texts):
        yield Import(module[:MAX_NAME_CHARACTERS], lines.of(start), lines.of(end - 1))


def _candidate(
    pattern: int, captures: Captures, wrappers: dict[int, Captures], content: bytes, above: _Above
) -> _Candidate:
    label = _unit_label(captures)
    outermost = captures[label][0]
    level, _, kind = label.partition(".")
    texts = _texts(captures, {label, "body", "end"}, content)
    body = captures["body"][0].start_byte if "body" in captures else -1
    while outermost.id in wrappers:
        wrapper = wrappers[outermost.id]
        texts = _texts(wrapper, {"inner", "outer", "body"}, content) | texts
        if body < 0 and "body" in wrapper:
            body = wrapper["body"][0].start_byte
        outermost = wrapper["outer"][0]
    start, end = _trimmed(outermost, content)
    if "end" in captures:
        end = captures["end"][0].end_byte
    end = _before_comments_outside(start, end, content, above)
    return _Candidate(start, end, pattern, Match(_LEVELS[level], kind, texts), body)


def _before_comments_outside(start: int, end: int, content: bytes, above: _Above) -> int:
    """Move a unit's end up over comments that are indented no deeper than the unit's start.

    Some grammars take the comments after a unit in, most of all where indentation ends a body.
    """
    while start < (comment := above.get(end, (-1, False))[0]):
        line = content.rfind(b"\n", 0, comment) + 1
        column = start - content.rfind(b"\n", 0, start) - 1
        if content[line:comment].strip() or comment - line > column:
            return end
        end = line
        while content[end - 1] in _SPACE:
            end -= 1
    return end


def _texts(captures: Captures, without: set[str], content: bytes) -> dict[str, str]:
    return {
        name: _text(nodes[0], content)[:MAX_NAME_CHARACTERS]
        for name, nodes in captures.items()
        if name not in without
    }


def _text(node: Node, content: bytes, limit: int = 8 * MAX_NAME_CHARACTERS) -> str:
    """A node's text on one line, of its first `limit` bytes."""
    text = content[node.start_byte : min(node.end_byte, node.start_byte + limit)]
    return " ".join(text.decode("utf-8", "replace").split())


def _trimmed(node: Node, content: bytes) -> tuple[int, int]:
    """A node's range without white space at its ends; some grammars take the line's end in."""
    start, end = node.start_byte, node.end_byte
    while end > start and content[end - 1] in _SPACE:
        end -= 1
    while start < end and content[start] in _SPACE:
        start += 1
    return start, max(end, start + 1) if start < len(content) else end


def _is_inside(candidate: _Candidate, top: _Candidate) -> bool:
    same = (candidate.start, candidate.end) == (top.start, top.end)
    return candidate.end <= top.end and not same


class _Builder:
    """One pass over the candidates of one file."""

    def __init__(self, content: bytes, lines: _Lines, spec: Spec, sorted_matches: _Sorted) -> None:
        self._content = content
        self._lines = lines
        self._spec = spec
        self._above = sorted_matches.above
        self._candidates = sorted(
            sorted_matches.candidates, key=lambda each: (each.start, -each.end, each.pattern)
        )
        self._units = [file_unit(content)]
        self._stack: list[tuple[_Candidate | None, int, Enclosing]] = [
            (None, 0, Enclosing(Level.FILE, "file", ""))
        ]
        self._closed_end = 0

    def build(self) -> list[Unit] | Skip:
        for candidate in self._distinct():
            if len(self._stack) > MAX_NESTING:
                return Skip.TOO_DEEP
            self._add(candidate)
        return self._units

    def _distinct(self) -> Iterator[_Candidate]:
        """Keep the stack at what encloses each candidate; leave out a second one for a range."""
        for candidate in self._candidates:
            while (top := self._stack[-1][0]) is not None and top.end <= candidate.start:
                self._closed_end = max(self._closed_end, top.end)
                self._stack.pop()
            if top is None or _is_inside(candidate, top):
                yield candidate

    def _add(self, candidate: _Candidate) -> None:
        around, parent, enclosing = self._stack[-1]
        naming = self._spec.naming(candidate.match, enclosing)
        if naming is None:
            return
        start = self._start(candidate.start, max(self._closed_end, around.start if around else 0))
        header_end = self._header_end(candidate)
        self._stack.append(
            (candidate, len(self._units), Enclosing(candidate.match.level, naming.kind, naming.prefix))
        )
        self._units.append(
            Unit(
                level=candidate.match.level,
                kind=naming.kind,
                name=naming.name,
                qualified=naming.qualified[:MAX_QUALIFIED_CHARACTERS],
                start_line=self._lines.of(start),
                end_line=self._lines.of(candidate.end - 1),
                start_byte=start,
                end_byte=candidate.end,
                header_end_line=self._lines.of(header_end - 1),
                parent=parent,
            )
        )

    def _start(self, start: int, floor: int) -> int:
        """Move a unit's start up over the comments and attributes that belong to it."""
        while True:
            end = self._before(start, floor)
            above, is_attribute = self._above.get(end, (-1, False))
            if above < floor or not (is_attribute or self._is_directly_above(above, end, start)):
                return start
            start = above

    def _is_directly_above(self, above: int, end: int, start: int) -> bool:
        newlines = self._content.count(b"\n", end, start)
        if newlines == 0:
            return True
        before = self._before(above, 0, b" \t")
        return newlines == 1 and (before == 0 or self._content[before - 1 : before] == b"\n")

    def _header_end(self, candidate: _Candidate) -> int:
        if candidate.body < 0:
            return candidate.end
        end = self._before(candidate.body, candidate.start)
        while (above := self._above.get(end, (-1, False))[0]) > candidate.start:
            end = self._before(above, candidate.start)
        return max(end, candidate.start + 1)

    def _before(self, offset: int, floor: int, space: bytes = _SPACE) -> int:
        """Walk back over white space: the end of what comes before `offset`."""
        while offset > floor and self._content[offset - 1] in space:
            offset -= 1
        return offset
