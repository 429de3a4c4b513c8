"""What is asked of navigation, and what one snapshot was found to say."""

from __future__ import annotations

from dataclasses import dataclass

from nibd.query.navigation_asked import Asked
from nibd.query.navigation_places import ALL, NOTHING, Answer, Page, Place
from nibd.stores.types import RepoPath

OPERATIONS = (
    "definition", "references", "callers", "callees", "implementations", "imports", "importers",
)  # fmt: skip
OF_FILES = ("imports", "importers")
OF_ALL_FILES = ("references", "callers", "implementations", "importers")
"""To these any file may belong, also one that no server was asked about yet."""


@dataclass(frozen=True, slots=True)
class Question:
    """`path` with `line` and `col`, or `name`; a path alone for the operations on files.

    Without `col` the line is meant.
    """

    operation: str
    path: RepoPath
    line: int = 0
    col: int = 0
    name: str = ""
    include_declaration: bool = False
    page: Page = ALL


@dataclass(frozen=True, slots=True)
class Navigated:
    """`family` is that of the relations that answered, `None` where none were needed.

    `candidates` are what an ambiguous name or line can mean; then nothing is found. `reason` says why
    there is nothing.
    """

    answer: Answer = NOTHING
    family: str | None = None
    asked: Asked | None = None
    candidates: tuple[Place, ...] = ()
    reason: str | None = None

    @property
    def is_void(self) -> bool:
        """Whether the snapshot does not even have what was asked about."""
        return self.asked is None and self.family is None and not self.answer.found and not self.candidates
