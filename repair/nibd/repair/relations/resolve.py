"""From a site to its targets: asks a language server, and names what it points at.

A location inside the private tree becomes a target in the file's own terms (unit, name, occurrence); one
outside it, or in a folder of dependencies, an external target: a package and a path in it, so that it
is the same wherever the package is installed. A file in the checkout that nobody committed is no target.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

from nibd.repair.relations.source_file import Files, SourceFile
from nibd.repair.servers.errors import Unknown
from nibd.repair.servers.locations import Location, path_of_uri
from nibd.repair.servers.server import LanguageServer
from nibd.repair.syntax.sites import Positions
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.relation_types import UNBUILT, Answer, Target
from nibd.stores.types import RepoPath

_WORD = re.compile(rb"\w+")
_DOTTED = re.compile(rb"(?:[\w$\x80-\xff]+\.)+(?=[\w$\x80-\xff]+\Z)")
"""What stands before the name in the range of an attribute: `self.size`, `this.size`, `exports.run`."""
_MAX_EXTERNAL_BYTES = 4 * 1024 * 1024
_CACHE_BYTES = 32 * 1024 * 1024
_MAX_KNOWN = 200_000
_FUNC = re.compile(rb"func[ \t]+(?=\w)")
"""Where gopls has one of Go's own functions begin."""
_QUOTES = (b'"', b"'", b"`")

Targets = tuple[Target, ...] | None


@dataclass(frozen=True, slots=True)
class Question:
    """The sites of one file to ask about, by index. `starts`: where they begin, if that is known."""

    file: SourceFile
    indexes: Sequence[int]
    starts: Sequence[int] | None = None

    def without_crowded(self) -> Question:
        crowded = self.file.crowded
        if crowded.isdisjoint(self.indexes):
            return self
        return Question(self.file, [n for n in self.indexes if n not in crowded])

    def places(self, encoding: str) -> Iterator[tuple[RepoPath, int, int]]:
        starts, path, to_lsp = self.starts, self.file.path, self.file.positions.to_lsp
        if starts is None:
            starts = [self.file.sites[i].start_byte for i in self.indexes]
        for start in starts:
            yield (path, *to_lsp(start, encoding))


class Externals:
    """Names what lies outside the tree, which no transition moves, as it was when it was read first."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, int, bool], Target] = {}
        self._read: BoundedCache[str, tuple[bytes, Positions]] = BoundedCache(_CACHE_BYTES)

    def target(self, location: Location, encoding: str) -> Target:
        key = (location.uri, location.start_line, location.start_character, _is_module(location))
        if len(self._known) > _MAX_KNOWN:
            self._known.clear()
        if key not in self._known:
            self._known[key] = self._made(location, encoding)
        return self._known[key]

    def _made(self, location: Location, encoding: str) -> Target:
        path = path_of_uri(location.uri)
        if path is None:  # what a server carries in itself has a URI of its own scheme
            package, inside = "server", location.uri.split("://", 1)[-1]
        else:
            package, inside = package_of(PurePath(os.fsdecode(path)))
        name = "" if path is None or _is_module(location) else self._name_at(path, location, encoding)
        return Target(package, RepoPath(os.fsencode(inside)), "", 0, name, 0)

    def _name_at(self, path: bytes, location: Location, encoding: str) -> str:
        """The identifier where an external location begins; empty when there is none to be read."""
        held = self._read.get(location.uri)
        if held is None:
            try:
                with Path(os.fsdecode(path)).open("rb") as file:
                    content = file.read(_MAX_EXTERNAL_BYTES)
            except OSError:  # a server may name what exists only in its memory
                content = b""
            held = (content, Positions(content))
            self._read.put(location.uri, held, 4 * len(content) + 1_000)
        content, positions = held
        at = positions.to_byte(location.start_line, location.start_character, encoding)
        at += _before_name(location, content, positions, encoding)
        keyword = _FUNC.match(content, at)
        found = _WORD.match(content, keyword.end() if keyword else at)
        return found.group().decode("utf-8", "replace") if found else ""


class ExternalsByServer:
    """Those of each family's server, kept from resolver to resolver while it runs.

    When something is installed another server is started, to which nothing that was read before applies.
    """

    def __init__(self) -> None:
        self._held: dict[str, tuple[LanguageServer, Externals]] = {}

    def of(self, server: LanguageServer) -> Externals:
        held = self._held.get(server.driver.family)
        if held is None or held[0] is not server:
            held = self._held[server.driver.family] = (server, Externals())
        return held[1]


@dataclass(slots=True)
class Resolver:
    """For one server at one tree: `files` finds that tree's files. Make another when the tree moves."""

    server: LanguageServer
    files: Files
    externals: Externals
    is_uncommitted: Callable[[Path], bool] = lambda _: False
    """Tells of a file outside the private tree whether nothing may refer to it."""
    dropped: set[tuple[str, int, int]] = field(default_factory=set)
    """Targets that were left out for that."""
    unanswered: str | None = None
    """Why a site got no answer, the last time that one got none."""
    _known: dict[Location, Target] = field(default_factory=dict)
    _refused: dict[str, bool] = field(default_factory=dict)
    """By the URI of a file outside the private tree."""

    def ask(self, questions: Iterable[Question]) -> list[list[Answer]]:
        """What the server says of each site of each question; `None` where it gave no answer."""
        questions = list(questions)
        encoding = self.server.encoding
        left = [question.without_crowded() for question in questions]
        places = [place for question in left for place in question.places(encoding)]
        found = iter(self.server.definitions(places))
        answers = ({n: self._answer(next(found)) for n in question.indexes} for question in left)
        return [
            [told.get(n, UNBUILT) for n in question.indexes]
            for question, told in zip(questions, answers, strict=True)
        ]

    def _answer(self, answer: tuple[Location, ...] | Unknown) -> Answer:
        return UNBUILT if isinstance(answer, Unknown) and answer.unbuilt else self.targets(answer)

    def targets(self, answer: tuple[Location, ...] | Unknown) -> Targets:
        if isinstance(answer, Unknown):
            self.unanswered = answer.reason
            return None
        kept = []
        for each in answer:
            if each.path is None and self._is_refused(each.uri):
                self.dropped.add((each.uri, each.start_line, each.start_character))
            else:
                kept.append(each)
        return tuple(sorted(set(map(self._target, kept))))

    def _is_refused(self, uri: str) -> bool:
        if uri not in self._refused:
            path = path_of_uri(uri)
            self._refused[uri] = path is not None and self.is_uncommitted(Path(os.fsdecode(path)))
        return self._refused[uri]

    def _target(self, location: Location) -> Target:
        if location.path is None:
            return self.externals.target(location, self.server.encoding)
        if location not in self._known:
            self._known[location] = self._made(location.path, location)
        return self._known[location]

    def _made(self, path: RepoPath, location: Location) -> Target:
        file = self.files(path)
        if file is None:  # a dependency that was put into the private tree
            return self.externals.target(location, self.server.encoding)
        if _is_module(location):
            return Target("", path, "", 0, "", 0)
        encoding = self.server.encoding
        at = file.positions.to_byte(location.start_line, location.start_character, encoding)
        at += file.content[at : at + 1] in _QUOTES  # a package's name may be that of its path
        at += _before_name(location, file.content, file.positions, encoding)
        return Target("", path, *file.symbols.at(at))


def _before_name(location: Location, content: bytes, positions: Positions, encoding: str) -> int:
    """How much of a location's text stands before the name, where it is all of `self.size`."""
    if location.start_line != location.end_line:
        return 0
    at = positions.to_byte(location.start_line, location.start_character, encoding)
    end = positions.to_byte(location.end_line, location.end_character, encoding)
    before = _DOTTED.match(content[at:end])
    return before.end() if before else 0


def _is_module(location: Location) -> bool:
    """Servers point at a whole file by an empty range at its beginning, or by all of its lines."""
    return (location.start_line, location.start_character) == (0, 0) and (
        location.end_line > 0 or location.end_character == 0
    )


def package_of(path: PurePath) -> tuple[str, str]:
    """The package that holds a file outside the tree, and the file's path in it."""
    parts = path.parts
    for marker in ("node_modules", "site-packages", "dist-packages"):
        if marker in parts:
            at = len(parts) - parts[::-1].index(marker)
            depth = 2 if parts[at : at + 1] and parts[at].startswith("@") else 1  # an npm scope
            if at + depth <= len(parts):
                return "/".join(parts[at : at + depth]), "/".join(parts[at + depth :])
    for marker, package in (("stdlib", "stdlib"), ("library", "std"), ("include", "include")):
        if marker in parts:
            at = len(parts) - parts[::-1].index(marker)
            return package, "/".join(parts[at:])
    if "mod" in parts and "pkg" in parts:  # GOPATH/pkg/mod/example.com/module@v1.2.3/file.go
        at = parts.index("mod", parts.index("pkg")) + 1
        versioned = next((i for i in range(at, len(parts)) if "@" in parts[i]), at)
        return "/".join(parts[at : versioned + 1]), "/".join(parts[versioned + 1 :])
    if "registry" in parts and "src" in parts:  # CARGO_HOME/registry/src/index/crate-1.2.3/src/lib.rs
        at = parts.index("src", parts.index("registry")) + 2
        return parts[at] if at < len(parts) else "registry", "/".join(parts[at + 1 :])
    if "src" in parts:  # GOROOT/src
        at = parts.index("src") + 1
        return "std", "/".join(parts[at:])
    return "external", "/".join(parts[-2:])
