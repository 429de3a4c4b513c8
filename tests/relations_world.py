"""The relations of a test's repository, made in this process by the code that the navigator runs.

    with World(tmp_path, "python", {"lib.py": "def greet(): ...\n", "app.py": "..."}) as world:
        world.relate()                        # HEAD's relations, from nothing
        world.commit({"lib.py": "..."})
        made = world.relate()                 # repaired from the tree before
        made.asked == {"app.py": "greet"}     # the sites that the server was asked about
        assert world.differences() == []      # against a build of the same tree by a fresh server

A world has a real repository, stores of its own and real language servers, found as `language_servers` says.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self
from unittest.mock import patch

from gitrepo import Repo
from language_servers import require, search
from nibd.repair.dense import DenseSetting
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.private_tree import PrivateTree
from nibd.repair.progress import Progress, Reporter
from nibd.repair.relations.relating import Building, Relating
from nibd.repair.relations.resolve import Question, Resolver, Targets
from nibd.repair.relations.source_file import SourceFiles
from nibd.repair.relations.verify import Verified
from nibd.repair.relations.verifying import Verifying
from nibd.repair.relations.workspace import Workspace
from nibd.repair.servers.driver import Options
from nibd.repair.transition import (
    RulesCache,
    Target,
    Transition,
    publish_relations,
    repair,
)
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.facts import FactStore
from nibd.stores.relation_types import FileRelations, Relation
from nibd.stores.relations import RelationStore
from nibd.stores.repository import RepositoryFolder, RepositoryStores
from nibd.stores.snapshot import Snapshot, ViewRecord
from nibd.stores.structure import StructureStore
from nibd.stores.types import CheckoutId, CommitId, ProfileId, RepoPath
from nibd.stores.verifications import VerificationStore

MAIN = CheckoutId("main")
Files = Mapping[str, str | None]
"""Texts by path; `None` deletes."""


@dataclass(frozen=True)
class Made:
    """A family's record, published, and the names of the sites that were asked about, by path."""

    record: ViewRecord
    asked: Mapping[str, str]

    @property
    def sites_asked(self) -> int:
        return sum(len(names.split()) for names in self.asked.values())


class World:
    """One repository with the relations of one family. `folder` is a new one's."""

    def __init__(self, folder: Path, family: str = "python", files: Files | None = None) -> None:
        self.family = family
        _, self._installed = require(family)
        self.folder = RepositoryFolder(folder / "views")
        self.repo = Repo(folder / "repo")
        self._rebuilds = 0
        if files is not None:
            self.commit(files)
        self.stores = RepositoryStores.open(self.folder, EXTRACTOR)
        self._vectors = EmbeddingStore.open(folder / "embeddings.db")
        dense = DenseSetting(ProfileId("none"), self._vectors, "not here")
        source = open_source(self.repo.path)
        self._transition = Transition(source, self.stores, Policy(), dense, silent, 1, RulesCache())
        self.open()

    def open(self) -> None:
        """As a new navigator does: nothing in memory, no server running."""
        source = open_source(self.repo.path)
        found = search(self.repo.path, self.folder.root)
        cache = self.folder.root / "servers"
        tree = PrivateTree.open(self.folder.root / "tree", source)
        facts = FactStore.open_reader(self.folder.facts, EXTRACTOR)
        self.relating = Relating(
            source,
            StructureStore.open_reader(self.folder.structure),
            RelationStore.open(self.folder.relations),
            SourceFiles(source, facts),
            Workspace(tree, cache, found, Options(cache)),
            VerificationStore.open(self.folder.verifications),
        )
        self.verifying = Verifying(self.relating)
        # without the standard library's source, which costs rust-analyzer 10 s
        self.relating.workspace._installed[self.family] = self._installed

    def shut(self) -> None:
        """As a navigator that ends does."""
        self.relating.workspace.close()
        self.relating.store.close()
        self.relating.memory.close()

    def close(self) -> None:
        self.shut()
        self.stores.close()
        self._vectors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def commit(self, files: Files) -> str:
        for path, text in files.items():
            if text is None:
                self.repo.remove(path)
            else:
                self.repo.write(path, text)
        return self.repo.commit()

    def publish(self, commit: str | None = None) -> Snapshot:
        """The snapshot of HEAD, or of `commit`, with what relations a kept one has."""
        return repair(self._transition, self._target(commit)).publication.snapshot

    def relate(
        self,
        commit: str | None = None,
        *,
        base: Sequence[Snapshot] | None = None,
        report: Reporter | None = None,
        building: Building | None = None,
    ) -> Made:
        """Publish HEAD and its relations, repaired from the newest of `base` (of all) that has them."""
        snapshot = self.publish(commit)
        with Watch() as watch:
            kept = self.kept() if base is None else base
            record = self.relating.relate(snapshot, self.family, kept, report or silent, building)
        self.put(record, commit)
        return Made(record, watch.asked())

    def verify(self, report: Reporter | None = None) -> tuple[Made, Verified]:
        """Ask every site of what the checkout shows again, as far as `report` lets it go, and publish."""
        with Watch() as watch:
            record, verified = self.verifying.verify(
                self.current(), self.family, report or silent, self.kept()
            )
        self.put(record)
        return Made(record, watch.asked()), verified

    def kept(self) -> list[Snapshot]:
        """Newest first."""
        return sorted(self.stores.catalog.snapshots(), key=lambda each: -each.generation)

    def put(self, record: ViewRecord, commit: str | None = None) -> None:
        outcome = publish_relations(self._transition, self._target(commit), {self.family: record})
        assert outcome is not None, "the checkout shows the tree that was asked for"

    def current(self) -> Snapshot:
        publication = self.stores.catalog.current(MAIN)
        assert publication is not None
        return publication.snapshot

    def contents(self) -> dict[RepoPath, FileRelations]:
        """The relations that the checkout shows, by path."""
        store, resolution = self.relating.store, self.current().relations[self.family].resolution
        assert resolution is not None, self.current().relations
        return {file.path: file for _, file in store.records(store.resolution(resolution))}

    def plant(self, path: str, index: int, relation: Relation) -> None:
        """Have the store say something else of a site of what the checkout shows."""
        record, store = self.current().relations[self.family], self.relating.store
        assert record.resolution is not None
        bits, at = store.resolution(record.resolution), RepoPath(path.encode())
        row, file = store.record_at(bits, at), store.at_path(bits, at)
        assert row is not None
        assert file is not None
        relations = (*file.relations[:index], relation, *file.relations[index + 1 :])
        made = store.add([replace(file, relations=relations)])
        snapshot = self.current()
        changed = bits.changed(remove=[row], add=made)
        resolution = store.add_resolution(self.family, snapshot.tree, ProfileId(record.profile), changed)
        assert record.artifact is not None
        location = record.artifact.location.replace(str(record.resolution), str(resolution))
        self.put(replace(record, artifact=replace(record.artifact, location=location)))

    def rebuilt(self) -> World:
        """Another world of the same HEAD, built from nothing. To be closed."""
        self._rebuilds += 1
        root = self.folder.root.parent / f"rebuild-{self._rebuilds}"
        Repo.clone(self.repo, root / "repo", "--shared")
        fresh = World(root, self.family)
        fresh.relate()
        return fresh

    def differences(self) -> list[str]:
        """In what the relations that the checkout shows differ from a build by a fresh server."""
        with self.rebuilt() as fresh:
            return compared(self.contents(), fresh.contents())

    def targets(self, path: str, name: str, nth: int = 0) -> list[str]:
        """What the `nth` site of this name refers to, as `path:qualified.name` or `package:name`."""
        relations = self.contents()[RepoPath(path.encode())].relations
        found = [relation for relation in relations if relation.site.name == name][nth]
        assert found.targets is not None, f"{name} in {path} is unknown"
        return [
            f"{target.package or target.path.decode()}:{target.qualified}:{target.name}"
            for target in found.targets
        ]

    def _target(self, commit: str | None) -> Target:
        chosen = CommitId(commit or self.repo.head())
        return Target(MAIN, chosen, self._transition.source.tree_of(chosen))


class Watch:
    """Notes what the servers of this process are asked; all goes on as without it."""

    def __init__(self) -> None:
        self._names: dict[str, dict[int, str]] = defaultdict(dict)

    def __enter__(self) -> Self:
        ask = Resolver.ask

        def noted(resolver: Resolver, questions: Sequence[Question]) -> list[list[Targets]]:
            for question in questions:
                for index in question.indexes:
                    self._names[os.fsdecode(question.file.path)][index] = question.file.sites[index].name
            return ask(resolver, questions)

        self._patch = patch.object(Resolver, "ask", noted)
        self._patch.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.stop()

    def asked(self) -> dict[str, str]:
        """Names in the order of the text; a site that was asked twice counts once."""
        return {
            path: " ".join(names[index] for index in sorted(names))
            for path, names in sorted(self._names.items())
            if names
        }


def silent(_: Progress) -> None:
    """Stops nothing."""


def compared(
    found: Mapping[RepoPath, FileRelations], expected: Mapping[RepoPath, FileRelations]
) -> list[str]:
    """One line for each relation that is other than expected."""
    differences = []
    for path in sorted({*found, *expected}):
        left, right = found.get(path), expected.get(path)
        if left is None or right is None:
            differences.append(f"{path!r} is {'missing' if left is None else 'too many'}")
        elif [each.site for each in left.relations] != [each.site for each in right.relations]:
            differences.append(f"{path!r} has other sites")
        elif left != right:
            differences += [
                f"{path!r} {old.site.name} at {old.site.start_byte}: {old.targets}, not {new.targets}"
                for old, new in zip(left.relations, right.relations, strict=True)
                if old != new
            ]
    return differences
