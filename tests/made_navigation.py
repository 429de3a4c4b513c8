"""Made-up but consistent relations of real small Python repositories, for tests of navigation.

Who refers to what is decided by names alone: a word that is a unit's name, anywhere in the tree, refers to
all units of that name; `import m` to the file `m.py`; the word `UNKNOWN` is not known, and `UNBUILT` is that;
one of `EXTERNAL` refers to a package; others refer to nothing. What a site does follows from the words around
it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nibd.query.navigation_files import SourceText, TreeFile
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR
from nibd.repair.syntax.occurrences import FileSymbols
from nibd.repair.text import Text, decode
from nibd.stores.bitmap import Bitmap
from nibd.stores.catalog import UNPUBLISHED, Catalog
from nibd.stores.facts import FactStore
from nibd.stores.relation_types import FileRelations, Relation, RelationKind, Site, Target
from nibd.stores.relations import RelationStore
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Coverage, Publication, Snapshot, ViewRecord, resolution_artifact
from nibd.stores.structure import StructureStore
from nibd.stores.types import Assurance, CheckoutId, ProfileId, RepoPath, State

PYTHON = "python"
PROFILE = ProfileId("made")
UNKNOWN = "mystery"
UNBUILT = "unbuilt"
EXTERNAL = {"print": Target("stdlib", RepoPath(b"builtins.pyi"), "", 0, "print", 0)}
WORD = re.compile(rb"[A-Za-z_]\w*")
LIMITS = "decorators are not run"
"""What the record says that any site may be concerned by."""
KEYWORDS = {"def", "class", "return", "import", "from", "pass", "if", "self", "as"}


@dataclass
class MadeTree:
    """The files of one snapshot, and their relations by name."""

    stores: tuple[StructureStore, FactStore]
    snapshot: Snapshot
    work_tree: Path

    def __post_init__(self) -> None:
        structure, facts = self.stores
        self.listing = structure.listing(self.snapshot.listing)
        source = open_source(self.work_tree)
        self.files: dict[RepoPath, TreeFile] = {}
        for _, version in structure.files(self.listing):
            data = source.read(version.blob)
            text = decode(data) if data is not None and version.skip is None else None
            if isinstance(text, Text) and version.language == PYTHON:
                units = facts.units(version.blob, version.language)
                symbols = FileSymbols(text.content, units)
                self.files[version.path] = TreeFile(version, SourceText(text.content, units, symbols))
        source.close()

    def relations(self) -> Iterator[FileRelations]:
        units, modules = self._units(), self._modules()
        for file in self.files.values():
            yield _relations(file, units, modules)

    def _units(self) -> Mapping[str, list[Target]]:
        found: dict[str, list[Target]] = {}
        for file in self.files.values():
            for index, unit in enumerate(file.text.units):
                for word, nth, at in file.text.own_names(index):
                    if re.search(rb"\b(def|class)\s+$", file.text.content[:at]):
                        target = Target("", file.path, *file.text.keys[index], word, nth)
                        found.setdefault(unit.name, []).append(target)
        return found

    def _modules(self) -> Mapping[str, Target]:
        return {Path(path.decode()).stem: Target("", path, "", 0, "", 0) for path in self.files}


def _relations(
    file: TreeFile, units: Mapping[str, list[Target]], modules: Mapping[str, Target]
) -> FileRelations:
    found = []
    content = file.text.content
    for match in WORD.finditer(content):
        name = match[0].decode()
        line = content[content.rfind(b"\n", 0, match.start()) + 1 : match.start()].decode()
        if name in KEYWORDS or "#" in line:
            continue
        kind = _kind(line, content[match.end() :])
        site = Site(match.start(), match.end(), name, kind, file.text.unit_at(match.start()))
        if name == UNBUILT:
            found.append(Relation(site, None, True))
        else:
            found.append(Relation(site, _targets(name, kind, units, modules)))
    return FileRelations(file.path, file.version.blob, file.version.language, tuple(found))


def _kind(before: str, after: bytes) -> RelationKind:
    if re.search(r"\b(def|class)\s+$", before):
        return RelationKind.DEFINITION
    if re.match(r"\s*(import|from)\b", before):
        return RelationKind.IMPORT
    if re.match(r"\s*class\s+\w+\(", before):
        return RelationKind.INHERIT
    if re.search(r"(:|->)\s*$", before):
        return RelationKind.TYPE
    if re.match(rb"\s*=[^=]", after):
        return RelationKind.WRITE
    return RelationKind.CALL if after.startswith(b"(") else RelationKind.READ


def _targets(
    name: str, kind: RelationKind, units: Mapping[str, list[Target]], modules: Mapping[str, Target]
) -> tuple[Target, ...] | None:
    if name == UNKNOWN:
        return None
    if name in EXTERNAL:
        return (EXTERNAL[name],)
    if kind is RelationKind.IMPORT and name in modules:
        return (modules[name],)
    return tuple(sorted(units.get(name, ())))


def add_relations(
    folder: RepositoryFolder, work_tree: Path, snapshot: Snapshot, family: str = PYTHON
) -> Snapshot:
    """The snapshot with relations, which are stored beside its views; not published yet."""
    structure = StructureStore.open_reader(folder.structure)
    facts = FactStore.open_reader(folder.facts, EXTRACTOR)
    store = RelationStore.open(folder.relations)
    try:
        made = list(MadeTree((structure, facts), snapshot, work_tree).relations())
        bits = Bitmap.of(store.add(made))
        resolution = store.add_resolution(family, snapshot.tree, PROFILE, bits)
    finally:
        store.close()
        facts.close()
        structure.close()
    record = ViewRecord(
        State.READY,
        Assurance.VERIFIED,
        PROFILE,
        resolution_artifact(resolution, bits),
        Coverage(len(made), len(made)),
        counts={
            "files": len(made),
            "sites": sum(len(file.relations) for file in made),
            "unknown": sum(file.unknown for file in made),
        },
        limits=LIMITS,
    )
    return replace(snapshot.with_relations(family, record), generation=UNPUBLISHED)


def publish_relations(folder: RepositoryFolder, work_tree: Path, checkout: CheckoutId) -> Publication:
    """Publish what the checkout shows once more, with relations."""
    catalog = Catalog.open(folder.catalog)
    try:
        shown = catalog.current(checkout)
        assert shown is not None, "nothing is published"
        made = add_relations(folder, work_tree, shown.snapshot)
        return catalog.publish(checkout, shown.commit, made, shown.published_at + 1)
    finally:
        catalog.close()
