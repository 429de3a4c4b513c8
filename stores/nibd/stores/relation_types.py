"""Relations as types: sites, what they refer to, and what is kept of one file.

A *site* is an identifier in a file's text. A *relation* is the set of targets that a language server gives
for it at one tree. Targets name symbols, never lines or offsets into a file: so the relations of a file
stay what they are when text moves around what they point at, and two trees can share them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum

from nibd.stores.types import BlobId, RepoPath

FAMILIES: Mapping[str, tuple[str, ...]] = {
    "python": ("python",),
    "javascript": ("javascript", "typescript", "tsx"),
    "go": ("go",),
    "rust": ("rust",),
    "c": ("c", "cpp"),
}
"""Language families, whose files one language server reads together: by family, the ids of its languages."""

FAMILY_OF: Mapping[str, str] = {
    language: family for family, languages in FAMILIES.items() for language in languages
}


class RelationKind(StrEnum):
    """What a site does with what it refers to, as syntax tells it."""

    DEFINITION = "definition"
    """The name of what is declared here: of a unit, a parameter, a variable where it first gets its value."""
    CALL = "call"
    TYPE = "type"
    IMPORT = "import"
    INHERIT = "inherit"
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Site:
    """An identifier that may refer to a symbol. Offsets are into the file's *text* (`nibd.repair.text`).

    `name` is the identifier, text from `start_byte` to `end_byte`: the store finds records by it
    (`RelationStore.naming(names, bits)`), since a name that appears or disappears in one file can change
    what the same name refers to in others. `unit` is the ordinal, in the facts of the same text, of the
    innermost source unit around it.
    """

    start_byte: int
    end_byte: int
    name: str
    kind: RelationKind
    unit: int


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What a site refers to.

    Within the repository `path` is set and `package` empty: the `nth` occurrence (from 0) of the identifier
    `name` in the own text of the `ordinal`-th unit (from 0) called `qualified` in that file. The file itself
    is the unit called `""`; an empty `name` means the unit as a whole (a module, a file).
    Elsewhere `package` is set (a distribution, module or standard library) and `path` is relative to it;
    `qualified`, `ordinal` and `nth` are then empty: other versions of a package move its lines.
    """

    package: str
    path: RepoPath
    qualified: str
    ordinal: int
    name: str
    nth: int

    @property
    def is_external(self) -> bool:
        return bool(self.package)

    @property
    def symbol(self) -> tuple[RepoPath, str, int]:
        """The unit that holds it."""
        return (self.path, self.qualified, self.ordinal)


class Unbuilt(Enum):
    """In place of targets: the server says that it does not build the file, and why is written in there; or
    no server is told of the file, since its name is not UTF-8."""

    UNBUILT = "unbuilt"


UNBUILT = Unbuilt.UNBUILT
Answer = tuple[Target, ...] | Unbuilt | None
"""What is said of a site: its targets, that its file is unbuilt, or nothing."""


@dataclass(frozen=True, slots=True)
class Relation:
    """`targets` are sorted and distinct; none means that the server knows of none. `None`: not known.

    Unknown is not empty: a server that timed out or crashed has said nothing. One that says that it does not
    build the file has said no more of what its sites refer to: these are `unbuilt`, and unknown too. But
    asked again it would say the same.
    """

    site: Site
    targets: tuple[Target, ...] | None
    unbuilt: bool = False

    @staticmethod
    def of(site: Site, answer: Answer) -> Relation:
        return Relation(site, None, True) if isinstance(answer, Unbuilt) else Relation(site, answer)

    @property
    def answer(self) -> Answer:
        return UNBUILT if self.unbuilt else self.targets


@dataclass(frozen=True, slots=True)
class FileRelations:
    """All relations of one file at some tree, in the order of its text."""

    path: RepoPath
    blob: BlobId
    language: str
    relations: tuple[Relation, ...]

    @property
    def unknown(self) -> int:
        """How many sites nothing is known of, unbuilt ones included."""
        return sum(relation.targets is None for relation in self.relations)
