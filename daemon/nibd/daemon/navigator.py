"""The navigator: `python -m nibd.daemon.navigator`, the child that runs language servers on one repository.

It owns the private tree and relations.db. One repository, one job at a time, at low priority; it may be
killed at any instant: what it stored stays, and a first build goes on where it was. Its servers die with
it. Methods, all with the `Job` parameters below:

- `relate` → a `Result`: the relations of the snapshot's families that are not there, or of another profile,
  or lack answers. A build from nothing goes on to its end when a newer tree is wanted, which is repaired from
  it. Where there were none, parts of it are told meanwhile: notifications `part` of `{family, record}`
- `verify` (`families`) → the same, as far as their sites were asked again; not of those of another profile
- `audit` (`families`) → the same, after a fresh server was asked too; `put_off` says of which it could not be
- `look` → the same, with the records of what was corrected and not published; what is installed now
- `collect` → `{rows, servers}`: remove relations that no kept snapshot names
- `agree` (`families`) → the records, with how far their static answers equal live ones: see `agreeing`
- `ask` (of its own parameters) → a live answer, beside the job that is at work: see `navigator_desk`

Before each but the last, what the checkout has installed is looked up. Where an install seems to run, the
family is left for *later*. Nothing is published here: the indexer does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from nibd.daemon.agreeing import Agreeing, MovedAway
from nibd.daemon.indexer import NICENESS, reporter
from nibd.daemon.navigator_desk import Desk
from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.repair.git import GitError, open_source
from nibd.repair.policy import EXTRACTOR
from nibd.repair.private_tree import ModuleCaches, PrivateTree, PrivateTreeError, stamp
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.relations.audit import Auditing
from nibd.repair.relations.cycles import rarely_look_for_cycles
from nibd.repair.relations.holding import Holding
from nibd.repair.relations.live import Live, LiveFiles
from nibd.repair.relations.relating import Building, Relating
from nibd.repair.relations.source_file import SourceFiles
from nibd.repair.relations.verifying import Verifying
from nibd.repair.relations.workspace import ServerMissing, Workspace
from nibd.repair.servers.driver import Options, Search
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.room import NoRoom
from nibd.stores.catalog import Catalog
from nibd.stores.collection import collect_relations
from nibd.stores.errors import StoreError
from nibd.stores.facts import FactStore
from nibd.stores.file_identity import FileIdentity
from nibd.stores.relations import CorruptRelations, MissingResolution, RelationStore
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Snapshot, ViewRecord, decode_view, encode_view
from nibd.stores.structure import StructureStore
from nibd.stores.types import CommitId, State
from nibd.stores.verifications import CorruptVerifications, VerificationStore

SWITCH_S = 0.0005
"""How long a thread keeps the interpreter from the others. A question passes through five of them, and each
would wait for the one that verifies: five times 5 ms, as Python has it by itself."""
RELATIONS_DAMAGED: Json = {"damaged": "relations"}
"""The data of an error that says that relations.db was not as it was written, and is removed, or lacks what a
snapshot names."""
SERVER_FAILED: Json = {"server": "failed"}
"""The data of an error that says that a language server ended, or did not start."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the daemon sends. `path` and `folders` are where servers are looked for; `home` the user's.

    `go_modules` and `cargo_home` are where Go and Cargo keep modules for all checkouts, `rustup_home` where
    rustup keeps toolchains, empty for its own place in `home`.
    """

    folder: str
    work_tree: str
    generation: int
    tree: str
    path: str
    folders: list[str]
    home: str
    go_modules: str
    cargo_home: str
    families: list[str]
    rustup_home: str = ""
    discard: bool = False
    """Begin with no relations, since those that are stored are damaged (`relate` alone)."""
    commit: str = ""
    """Of the snapshot, for what is said of it (`agree` alone)."""
    audit_transitions: int = 0
    """After so many, verified relations are due for an audit; 0: never."""

    def as_params(self) -> dict[str, Any]:
        return asdict(self)

    def search(self, *forbidden: Path) -> Search:
        """Where servers are looked for; never in `forbidden`."""
        return Search(
            path=self.path,
            folders=tuple(map(Path, self.folders)),
            forbidden=forbidden,
            home=Path(self.home),
            rustup_home=Path(self.rustup_home) if self.rustup_home else None,
        )


@dataclass(slots=True)
class Result:
    """What the daemon gets: `families` has records as `nibd.stores.snapshot.encode_view` makes them.

    `profiles` are those that the families' relations have, or would have, now; `None`: there is no server,
    and `missing` says why. `later` says why a family has to wait. When one of `watched` has another stamp
    (`private_tree.stamp`), it is time to look again.
    """

    tree: str
    families: dict[str, Json] = field(default_factory=dict)
    profiles: dict[str, str | None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    watched: dict[str, str] = field(default_factory=dict)
    servers: dict[str, int] = field(default_factory=dict)
    unmeasured: dict[str, str] = field(default_factory=dict)
    """Why the agreement of a family could not be measured."""
    audits: list[str] = field(default_factory=list)
    """Families whose relations, as they are now, are due for an audit."""
    put_off: dict[str, str] = field(default_factory=dict)


class Navigator:
    """Does the jobs of one repository, whose stores, tree and servers it keeps open.

    For one thread, but for `holding` and `live`.
    """

    def __init__(self) -> None:
        self.holding = Holding()
        self._live: Live | None = None
        self._folder: RepositoryFolder | None = None
        self._relating: Relating | None = None
        self._verifying: Verifying | None = None
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
                case "audit":
                    return self._audit(job, request)
                case "agree":
                    return self._agree(job, request)
                case "look":
                    return self._look(job)
                case "collect":
                    return self._collect(job, request)
                case method:
                    raise RpcError(ErrorCode.METHOD_NOT_FOUND, f"the navigator has no method {method}")
        except MissingResolution as error:  # the rest is sound
            raise RpcError(ErrorCode.INTERNAL, str(error), RELATIONS_DAMAGED) from error
        except CorruptRelations as error:
            self._start_over()
            raise RpcError(ErrorCode.INTERNAL, str(error), RELATIONS_DAMAGED) from error
        except CorruptVerifications as error:
            self._forget_verifications()
            raise RpcError(ErrorCode.INTERNAL, f"{error}; what was verified is verified again") from error
        except (PrivateTreeError, ServerMissing) as error:
            raise RpcError(ErrorCode.INTERNAL, str(error)) from error

    def live(self) -> Live | None:
        """What answers questions, while what it reads is in place. For any thread."""
        live, relating = self._live, self._relating
        return live if live is not None and relating is not None and self._is_in_place(relating) else None

    def bring(self, params: JsonObject, family: str) -> None:
        """Have the family's server hold the job's tree, for questions. Raises RpcError."""
        job = Job(**params)
        try:
            relating, snapshot, _ = self._opened(job)
            self._looked(job, relating, snapshot)
            relating.bring(snapshot, family, _unreported)
        except CorruptRelations as error:
            self._start_over()
            raise RpcError(ErrorCode.INTERNAL, str(error), RELATIONS_DAMAGED) from error
        except ServerMissing as missing:
            raise RpcError(ErrorCode.VIEW_ABSENT, str(missing)) from missing
        except ServerFailed as failed:
            raise RpcError(ErrorCode.VIEW_NOT_READY, failed.reason) from failed
        except (PrivateTreeError, GitError, StoreError, OSError) as error:
            raise RpcError(ErrorCode.INTERNAL, str(error)) from error

    def _relate(self, job: Job, request: ChildRequest) -> Json:
        if job.discard:
            self._start_over(Path(job.folder))
        relating, snapshot, kept = self._opened(job)
        result = self._looked(job, relating, snapshot)
        for family, profile in result.profiles.items():
            made = snapshot.relations.get(family)
            if _is_made(made, profile) and relating.holds(made):
                _correct(result, relating, snapshot, family)
                continue
            is_first = not any(relating.holds(_ready(each, family)) for each in kept)
            building = Building(reporter(request, stops=False), _told(request, family) if is_first else None)
            record = relating.relate(snapshot, family, kept, reporter(request), building)
            result.families[family] = encode_view(_with_agreement(record, family, kept))
            if request.cancelled.is_set():
                break  # what was made counts all the same
        return self._finished(result, job, snapshot)

    def _verify(self, job: Job, request: ChildRequest) -> Json:
        """What was corrected by then is given when a newer commit stops it: it may still be what is shown."""
        relating, snapshot, kept = self._opened(job)
        assert self._verifying is not None, "opened"
        result = self._looked(job, relating, snapshot)
        for family in job.families:
            if result.profiles.get(family) != snapshot.relations[family].profile:
                continue  # something was installed: the relations have to be made anew
            try:
                record, _ = self._verifying.verify(snapshot, family, reporter(request), kept)
            except ServerFailed as failed:
                raise RpcError(ErrorCode.INTERNAL, str(failed), SERVER_FAILED) from failed
            except Interrupted:
                if not result.families:
                    raise
                break
            result.families[family] = encode_view(record)
            if request.cancelled.is_set():
                break
        return self._finished(result, job, snapshot)

    def _audit(self, job: Job, request: ChildRequest) -> Json:
        relating, snapshot, kept = self._opened(job)
        assert self._verifying is not None, "opened"
        result = self._looked(job, relating, snapshot)
        auditing = Auditing(self._verifying)
        for family in job.families:
            record = snapshot.relations.get(family)
            if not auditing.is_due(record, family, job.audit_transitions):
                continue
            try:
                made, _ = auditing.audit(snapshot, family, reporter(request), kept)
            except (NoRoom, ServerFailed, ServerMissing) as failed:
                result.put_off[family] = str(failed)
            except Interrupted:
                if not result.families:
                    raise
                break  # what a fresh server said of others may be that they are wrong
            else:
                result.families[family] = encode_view(made)
        return self._finished(result, job, snapshot)

    def _agree(self, job: Job, request: ChildRequest) -> Json:
        """Nothing comes of a family that something keeps from it, which is no fault of its relations."""
        relating, snapshot, _ = self._opened(job)
        result = self._looked(job, relating, snapshot)
        for family in job.families:
            record = snapshot.relations.get(family)
            if record is None or record.resolution is None or result.profiles.get(family) != record.profile:
                continue
            assert self._live is not None, "opened"
            agreeing = Agreeing(relating, self._live, snapshot, family, reporter(request))
            try:
                agreement = agreeing.run(record.resolution, CommitId(job.commit))
            except (ServerFailed, MovedAway) as failed:
                result.unmeasured[family] = str(failed)
            else:
                result.families[family] = encode_view(replace(record, agreement=agreement))
        return self._finished(result, job, snapshot)

    def _look(self, job: Job) -> Json:
        relating, snapshot, _ = self._opened(job)
        result = self._looked(job, relating, snapshot)
        for family in result.profiles:
            _correct(result, relating, snapshot, family)
        return self._finished(result, job, snapshot)

    def _collect(self, job: Job, request: ChildRequest) -> Json:
        relating, _, _ = self._opened(job)
        assert self._catalog is not None, "opened"

        def interrupt() -> None:
            if request.cancelled.is_set():
                raise Interrupted

        rows = collect_relations(self._catalog, relating.store, interrupt=interrupt)
        return {"rows": rows, "servers": relating.workspace.pids()}

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
            except ServerMissing as missing:
                result.profiles[family] = None
                result.missing[family] = str(missing)
        return result

    def _finished(self, result: Result, job: Job, snapshot: Snapshot) -> Json:
        assert self._relating is not None, "opened"
        assert self._verifying is not None, "opened"
        result.servers = self._relating.workspace.pids()
        auditing = Auditing(self._verifying)
        for family in result.profiles:
            made = result.families.get(family)
            record = decode_view(made) if made is not None else snapshot.relations.get(family)
            if made is not None and record is not None:
                record = self._relating.as_installed(family, snapshot.tree, record)
                result.families[family] = encode_view(record)
            if auditing.is_due(record, family, job.audit_transitions):
                result.audits.append(family)
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
        search = job.search(Path(job.work_tree), folder.root)
        cache = folder.root / "servers"
        self._identity = folder.identity()
        self._catalog = Catalog.open_reader(folder.catalog)
        facts = FactStore.open_reader(folder.facts, EXTRACTOR)
        structure = StructureStore.open_reader(folder.structure)
        relations = RelationStore.open(folder.relations)
        memory = VerificationStore.open(folder.verifications)
        tree = PrivateTree.open(folder.root / "tree", source)  # last: what fails before it leaves no lock
        workspace = Workspace(tree, cache, search, Options(cache), self.holding)
        self._relating = Relating(source, structure, relations, SourceFiles(source, facts), workspace, memory)
        self._verifying = Verifying(self._relating)
        files = LiveFiles(
            open_source(Path(job.work_tree)),
            StructureStore.open_reader(folder.structure),
            FactStore.open_reader(folder.facts, EXTRACTOR),
        )
        self._live = Live(self.holding, files, self._relating.workspace.is_uncommitted)

    def _is_in_place(self, relating: Relating) -> bool:
        """Whether what is open is what is there: the cache may be deleted, or cleared, at any time."""
        assert self._folder is not None, "opened"
        return self._folder.identity() == self._identity and relating.store.is_in_place()

    def _close(self) -> None:
        live, self._live = self._live, None
        if self._relating is not None and self._catalog is not None:
            self._relating.workspace.close()
            self._relating.store.close()
            self._relating.memory.close()
            self._relating.structure.close()
            self._catalog.close()
        if live is not None:
            live.close()
        self._relating = self._verifying = self._catalog = None

    def _forget_verifications(self) -> None:
        self._close()
        if self._folder is not None:
            VerificationStore.remove(self._folder.verifications)

    def _start_over(self, root: Path | None = None) -> None:
        self._close()
        folder = RepositoryFolder(root) if root else self._folder
        if folder is not None:
            folder.clear_relations()


def _correct(result: Result, relating: Relating, snapshot: Snapshot, family: str) -> None:
    """Give what was corrected at the snapshot's tree while another was shown, and so was not published."""
    corrected = relating.corrected(snapshot, family)
    if corrected is not None:
        result.families[family] = encode_view(corrected)


def _is_made(record: ViewRecord | None, profile: str | None) -> bool:
    """A server that is gone makes what it said no less right."""
    if record is None or record.state is not State.READY or profile not in (None, record.profile):
        return False
    return profile is None or not record.lacks_answers


def _ready(snapshot: Snapshot, family: str) -> ViewRecord | None:
    record = snapshot.relations.get(family)
    return record if record and record.state is State.READY else None


def _with_agreement(record: ViewRecord, family: str, kept: Sequence[Snapshot]) -> ViewRecord:
    """With what was measured last, at whichever tree, of relations that were made with the same tools."""
    if record.agreement is not None:
        return record
    before = (each.relations.get(family) for each in kept)
    measured = (each.agreement for each in before if each and each.profile == record.profile)
    return replace(record, agreement=next(filter(None, measured), None))


def _told(request: ChildRequest, family: str) -> Callable[[ViewRecord], None]:
    """Tells of the parts of a build."""
    return lambda record: request.notify("part", {"family": family, "record": encode_view(record)})


def _program_folders(job: Job) -> Iterable[str]:
    """Where a server may appear, or another version of one."""
    return [*job.folders, *(folder for folder in job.path.split(":") if folder.startswith("/"))]


def _unreported(_: Progress) -> None:
    """Nobody waits for what a question wanted but the question, which has patience of its own."""


def _stamps(paths: Iterable[str]) -> dict[str, str]:
    return {path: stamp(path) for path in paths}


def main() -> int:
    endpoint = ChildEndpoint.over_stdio()
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_S)
    rarely_look_for_cycles()
    navigator = Navigator()
    Desk(navigator).serve(endpoint, navigator.answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
