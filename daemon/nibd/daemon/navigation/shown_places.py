"""How the places of a navigation answer cross the wire (docs/protocol.md, *Navigation*).

Blocking: snippets are read, and the work tree's files are compared with what is shown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from nibd.daemon import broken_files, wire
from nibd.daemon.answers import Blobs
from nibd.daemon.navigation.question import Navigated
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.ipc.messages import Json, JsonObject
from nibd.query.hits import SNIPPET_LINES, snippet
from nibd.query.navigation_files import TreeFiles
from nibd.query.navigation_places import External, Found
from nibd.stores.snapshot import Publication
from nibd.stores.types import RepoPath


@dataclass(frozen=True, slots=True)
class Answered:
    """What a snapshot was found to say, ready for the wire."""

    publication: Publication
    navigated: Navigated
    hits: tuple[Json, ...]
    candidates: tuple[Json, ...]
    asked: Json
    broken: JsonObject
    server: Json = None
    """Of a live answer, who gave it and what it lacks; see docs/protocol.md."""


@dataclass(frozen=True, slots=True)
class ShownPlaces:
    """Shows the places of one answer, which are in `files`."""

    blobs: Blobs
    checkout: Checkout
    files: TreeFiles
    _edited: dict[RepoPath, bool | None] = field(default_factory=dict)

    def answered(self, reading: Reading, navigated: Navigated, operation: str) -> Answered:
        with_calls = operation == "callers"
        hits = tuple(self.hit(each, with_calls) for each in navigated.answer.found)
        return Answered(
            reading.publication,
            navigated,
            hits,
            tuple(self.hit(each, False) for each in navigated.candidates),
            self.asked(navigated),
            broken_files.of_hits(reading, hits, navigated.family),
        )

    def hit(self, found: Found, with_calls: bool) -> JsonObject:
        """`with_calls`: the lines of the calls are the hit's own, and shown."""
        if isinstance(found, External):
            outside = {"package": found.package, **wire.path_fields(found.path), "name": found.name}
            return _NOWHERE | {"name": found.name, "calls": list(found.calls), "external": outside}
        return wire.path_fields(found.path) | {
            "start_line": found.start_line,
            "end_line": found.end_line,
            "kind": found.kind,
            "name": found.name,
            "qualified": found.qualified,
            "line": found.line,
            "col": found.col,
            "calls": list(found.calls),
            "blob": found.blob,
            "language": found.language,
            "snippet": self._snippet(found.path, (found.start_line, found.end_line), with_calls, found.calls),
            "edited": self.edited(found.path, found.blob),
            "external": None,
        }

    def asked(self, navigated: Navigated) -> Json:
        asked = navigated.asked
        if asked is None:
            return None
        line, col = asked.file.text.place(asked.byte)
        return wire.path_fields(asked.file.path) | {
            "line": line,
            "col": col,
            "name": asked.name,
            "kind": asked.kind.value if asked.kind else None,
            "edited": self.edited(asked.file.path, asked.file.version.blob),
        }

    def edited(self, path: RepoPath, blob: Any) -> bool | None:
        if path not in self._edited:
            self._edited[path] = self.blobs.is_edited(self.checkout, path, blob)
        return self._edited[path]

    def _snippet(
        self, path: RepoPath, lines: tuple[int, int], with_calls: bool, calls: tuple[int, ...]
    ) -> str | None:
        file = self.files(path)
        if file is None:
            return None
        if with_calls:
            content = b"".join(file.text.line_text(line).rstrip(b"\n") + b"\n" for line in calls)
            return snippet(content, 1, len(calls))
        first, last = lines[0], min(lines[1], lines[0] + SNIPPET_LINES - 1)
        return snippet(file.text.range_text(first, last), 1, last - first + 1)


_NOWHERE: JsonObject = {
    "path": None, "start_line": None, "end_line": None, "kind": "external", "name": "", "qualified": None,
    "line": None, "col": None, "calls": [], "blob": None, "language": None, "snippet": None, "edited": None,
}  # fmt: skip
"""A hit outside the repository has no place there."""
