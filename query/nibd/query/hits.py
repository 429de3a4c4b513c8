"""What an answer is made of: a hit with its address, and the snippet that shows it."""

from __future__ import annotations

from dataclasses import dataclass

from nibd.stores.types import BlobId, Level, RepoPath

SNIPPET_LINES = 6
SNIPPET_CHARACTERS = 600


@dataclass(frozen=True, slots=True)
class Hit:
    """A source unit that answers a query. `score` is comparable within one answer only.

    `name` is the qualified name, empty for a window or a file. `level` is `None` where a ranking over
    all levels did not look at it.
    """

    path: RepoPath
    start_line: int
    end_line: int
    kind: str
    name: str
    level: Level | None
    language: str
    blob: BlobId
    score: float

    @property
    def address_key(self) -> tuple[bytes, int, int, str]:
        return (self.path, self.start_line, self.end_line, self.kind)


def snippet(content: bytes, start_line: int, end_line: int) -> str:
    """The first lines of a range of a blob, decoded for people; at most a screenful."""
    lines = content.split(b"\n", start_line + SNIPPET_LINES)[start_line - 1 : end_line]
    text = b"\n".join(lines[:SNIPPET_LINES]).decode("utf-8", "replace").lstrip("\ufeff")
    return text.replace("\r\n", "\n").rstrip("\r\n")[:SNIPPET_CHARACTERS]
