"""Places that a server names, and the URIs that they are named by.

A `Location` keeps a path relative to the private tree where the server's URI leads into it, and the URI
otherwise (a dependency, a standard library, a file that the server carries in itself). Lines and characters
count from 0, characters in units of the connection's position encoding; the end is excluded. The range is
that of the name where the server tells it (`targetSelectionRange`), as some only do.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote_from_bytes, unquote_to_bytes

from nibd.repair.servers.errors import Unknown
from nibd.repair.servers.inbound import Json
from nibd.stores.types import RepoPath

_FILE = "file://"


@dataclass(frozen=True, slots=True)
class Location:
    """Where something is. `path` is None outside the private tree; `uri` is as the server wrote it."""

    path: RepoPath | None
    uri: str
    start_line: int
    start_character: int
    end_line: int
    end_character: int


class Uris:
    """URIs of one private tree. `root` must be free of symbolic links, since servers resolve them."""

    def __init__(self, root: Path) -> None:
        self._root = os.fsencode(root).rstrip(b"/") + b"/"
        self._prefix = _FILE + quote_from_bytes(self._root)
        self._paths: dict[str, RepoPath | None] = {}

    def of(self, path: RepoPath) -> str:
        return self._prefix + quote_from_bytes(path)

    def path(self, uri: str) -> RepoPath | None:
        """The path within the tree, or None when the URI leads elsewhere."""
        if uri not in self._paths:
            self._paths[uri] = self._inside(uri)
        return self._paths[uri]

    def _inside(self, uri: str) -> RepoPath | None:
        if not uri.startswith(_FILE):
            return None
        whole = os.path.normpath(unquote_to_bytes(uri[len(_FILE) :]))
        return RepoPath(whole[len(self._root) :]) if whole.startswith(self._root) else None

    def locations(self, answer: Json) -> tuple[Location, ...] | Unknown:
        """Read `Location | Location[] | LocationLink[] | null`, in the server's order without repeats."""
        if answer is None:
            return ()
        if isinstance(answer, Unknown):
            return answer
        entries = [answer] if isinstance(answer, dict) else answer
        try:
            return tuple(dict.fromkeys(map(self._location, entries)))
        except (KeyError, TypeError) as error:
            return Unknown(f"an answer that is no location: {error!r}")

    def _location(self, entry: Json) -> Location:
        uri = entry.get("targetUri")
        if uri is None:
            uri, span = entry["uri"], entry["range"]
        else:
            span = entry.get("targetSelectionRange") or entry["targetRange"]
        start, end = span["start"], span["end"]
        path = self._paths[uri] if uri in self._paths else self.path(uri)
        return Location(path, uri, start["line"], start["character"], end["line"], end["character"])


def path_of_uri(uri: str) -> bytes | None:
    """The absolute path of a `file:` URI, for what lies outside the tree."""
    return os.path.normpath(unquote_to_bytes(uri[len(_FILE) :])) if uri.startswith(_FILE) else None
