"""The navigator: `python -m nibd.daemon.navigator`, the child that runs language servers on one repository.

It owns the private tree and relations.db. One repository, one job at a time, at low priority; it may be
killed at any instant: what it stored stays, and a first build goes on where it was. Its servers die with
it. Methods, all with the `Job` parameters below:

- `relate` → a `Result`: the relations of the snapshot's families that are not there, or of another profile
- `verify` (`families`) → the same, after every site was asked again; not of those of another profile
- `look` → the same without records: only what is installed now
- `collect` → `{rows}`: remove relations that no kept snapshot names

Before each but the last, what the checkout has installed is looked up. Where an install seems to run, the
family is left for *later*. Nothing is published here: the indexer does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nibd.daemon.indexer import NICENESS, reporter, serve
from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, RpcError
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR
from nibd.repair.private_tree import ModuleCaches, PrivateTree, PrivateTreeError, stamp
from nibd.repair.relations.relating import Relating
from nibd.repair.relations.source_file import SourceFiles
from nibd.repair.relations.workspace import ServerMissing, Workspace
from nibd.repair.servers.driver import Options, Search
from nibd.repair.servers.errors import ServerFailed
from nibd.stores.catalog import Catalog
from nibd.stores.collection import collect_relations
from nibd.stores.errors import CorruptStore
from nibd.stores.facts import FactStore
from nibd.stores.relations import RelationStore
from nibd.stores.repository import FileIdentity, RepositoryFolder
from nibd.stores.snapshot import Snapshot, ViewRecord, encode_view
from nibd.stores.structure import StructureStore
from nibd.stores.types import State


@dataclass(frozen=True, slots=True)
class Job:
    """What the daemon sends. `path` and `folders` are where servers are looked for; `home` the user's.

    `go_modules` and `cargo_home` are where Go and Cargo keep modules for all checkouts.
    """

    folder: str
    work_tree: str
    generation: int
    path: str
    folders: list[str]
    home: str
    go_modules: str
    cargo_home: str
    families: list[str]

    def as_params(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(slots=True)
class Result:
    """What the daemon gets: `families` has records as `nibd.stores.snapshot.encode_view` makes them.

    `profiles` are those that the families' relations have, or would have, now; `None`: there is no server.
    `later` says why a family has to wait. When one of `watched` has another stamp (`private_tree.stamp`),
    it is time to look again.
    """

    tree: str
    families: dict[str, Json] = field(default_factory=dict)
    profiles: dict[str, str | None] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    watched: dict[str, str] = field(default_factory=dict)
    servers: dict[str, int] = field(default_factory=dict)


class Navigator:
    """Does the jobs of one repository, whose stores, tree and servers it keeps open."""

    def __init__(self) -> None:
        self._folder: RepositoryFolder | None = None
        self._relating: Relating | None = None
        self._catalog: Catalog | None = None
        self._identity: tuple[FileIdentity | None, ...] = ()

    def answer(self, request: ChildRequest) -> Json:
        job = Job(**request.params)
        try:
            match request.method:
                case "relate":
                    return self._relate(job, request)
                case "verify":
                    return self._verify(job, request)
                case "look":
                    return self._finished(self._looked(job, *self._opened(job)[:2]))
                case "collect":
                    return self._collect(job)
                case method:
                    raise RpcError(ErrorCode.METHOD_NOT_FOUND, f"the navigator has no method {method}")
        except CorruptStore as error:
            self._start_over()
            raise RpcError(ErrorCode.INTERNAL, f"{error}; relations are being built again") from error
        except (PrivateTreeError, ServerMissing) as error:
            raise RpcError(ErrorCode.INTERNAL, str(error)) from error

    def _relate(self, job: Job, request: ChildRequest) -> Json:
        relating, snapshot, kept = self._opened(job)
        result = self._looked(job, relating, snapshot)
        for family, profile in result.profiles.items():
            if not _is_made(snapshot.relations.get(family), profile):
                record = relating.relate(snapshot, family, kept, reporter(request))
                result.families[family] = encode_view(record)
        return self._finished(result)

    def _verify(self, job: Job, request: ChildRequest) -> Json:
        relating, snapshot, _ = self._opened(job)
        result = self._looked(job, relating, snapshot)
        for family in job.families:
            if result.profiles.get(family) != snapshot.relations[family].profile:
                continue  # something was installed: the relations have to be made anew
            try:
                record, _ = relating.verify(snapshot, family, reporter(request))
            except ServerFailed as failed:
                raise RpcError(ErrorCode.INTERNAL, str(failed)) from failed
            result.families[family] = encode_view(record)
        return self._finished(result)

    def _collect(self, job: Job) -> Json:
        relating, _, _ = self._opened(job)
        assert self._catalog is not None, "opened"
        return {"rows": collect_relations(self._catalog, relating.store)}

    def _looked(self, job: Job, relating: Relating, snapshot: Snapshot) -> Result:
        """What is installed now; from here on it counts."""
        result = Result(snapshot.tree, watched=_stamps(_program_folders(job)))
        caches = ModuleCaches(Path(job.go_modules), Path(job.cargo_home))
        parts = relating.look(snapshot.tree, Path(job.work_tree), caches).parts
        for family in relating.families(snapshot):
            part = parts[family]
            result.watched.update(part.watched)
            if part.in_progress:
                result.later[family] = part.in_progress
                continue
            try:
                result.profiles[family] = relating.profile(family)
            except ServerMissing:
                result.profiles[family] = None
        return result

    def _finished(self, result: Result) -> Json:
        assert self._relating is not None, "opened"
        result.servers = self._relating.workspace.pids()
        return asdict(result)

    def _opened(self, job: Job) -> tuple[Relating, Snapshot, list[Snapshot]]:
        """The work, the snapshot that is wanted, and those that it can be repaired from, newest first."""
        if self._relating is not None and not self._is_in_place(self._relating):
            self._close()
        if self._relating is None:
            self._open(job)
        assert self._relating is not None, "opened"
        assert self._catalog is not None, "opened"
        snapshots = sorted(self._catalog.snapshots(), key=lambda each: each.generation, reverse=True)
        wanted = next((each for each in snapshots if each.generation == job.generation), None)
        if wanted is None:
            raise RpcError(ErrorCode.MOVING, f"generation {job.generation} is not kept any more")
        same = [each for each in snapshots if each.tree == wanted.tree]
        return self._relating, wanted, same + [each for each in snapshots if each.tree != wanted.tree]

    def _open(self, job: Job) -> None:
        self._folder = folder = RepositoryFolder(Path(job.folder))
        source = open_source(Path(job.work_tree))
        search = Search(
            path=job.path,
            folders=tuple(map(Path, job.folders)),
            forbidden=(Path(job.work_tree), folder.root),
            home=Path(job.home),
        )
        cache = folder.root / "servers"
        tree = PrivateTree.open(folder.root / "tree", source)
        self._identity = folder.identity()
        self._catalog = Catalog.open_reader(folder.catalog)
        facts = FactStore.open_reader(folder.facts, EXTRACTOR)
        self._relating = Relating(
            source,
            StructureStore.open_reader(folder.structure),
            RelationStore.open(folder.relations),
            SourceFiles(source, facts),
            Workspace(tree, cache, search, Options(cache)),
        )

    def _is_in_place(self, relating: Relating) -> bool:
        """Whether what is open is what is there: the cache may be deleted, or cleared, at any time."""
        assert self._folder is not None, "opened"
        return self._folder.identity() == self._identity and relating.store.is_in_place()

    def _close(self) -> None:
        if self._relating is not None and self._catalog is not None:
            self._relating.workspace.close()
            self._relating.store.close()
            self._relating.structure.close()
            self._catalog.close()
        self._relating = self._catalog = None

    def _start_over(self) -> None:
        self._close()
        if self._folder is not None:
            self._folder.clear_relations()


def _is_made(record: ViewRecord | None, profile: str | None) -> bool:
    """A server that is gone makes what it said no less right."""
    return record is not None and record.state is State.READY and profile in (None, record.profile)


def _program_folders(job: Job) -> Iterable[str]:
    """Where a server may appear, or another version of one."""
    return [*job.folders, *(folder for folder in job.path.split(":") if folder.startswith("/"))]


def _stamps(paths: Iterable[str]) -> dict[str, str]:
    return {path: stamp(path) for path in paths}


def main() -> int:
    endpoint = ChildEndpoint.over_stdio()
    os.nice(NICENESS)
    serve(endpoint, Navigator().answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
