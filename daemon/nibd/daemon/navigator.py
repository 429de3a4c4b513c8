"""The navigator: `python -m nibd.daemon.navigator`, the child that runs language servers on one repository.

It owns the private tree and relations.db. One repository, one job at a time, at low priority; it may be
killed at any instant: what it stored stays, and a first build goes on where it was. Its servers die with
it. Methods, all with the parameters and the `Result` of `nibd.daemon.relations.navigator_job`:

- `relate` → a `Result`: the relations of the snapshot's families that are not there, or of another profile,
  or lack answers. A build from nothing goes on to its end when a newer tree is wanted, which is repaired from
  it. Where there were none, parts of it are told meanwhile: notifications `part` of `{family, record}`
- `verify` (`families`) → the same, as far as their sites were asked again; not of those of another profile
- `audit` (`families`) → the same, after a fresh server was asked too; `put_off` says of which it could not be
- `look` → the same, with the records of what was corrected and not published; what is installed now
- `collect` → `{rows, servers}`: remove relations that no kept snapshot names
- `agree` (`families`) → the records, with how far stored answers equal live ones: see `relations.agreeing`
- `ask` (of its own parameters) → a live answer, beside the job that is at work: see `relations.desk`

Before each but the last, what the checkout has installed is looked up. Where an install seems to run, the
family is left for *later*. Nothing is published here: the indexer does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nibd.daemon.child_jobs import NICENESS, reporter
from nibd.daemon.process_arguments import take_none
from nibd.daemon.relations.agreeing import Agreeing, MovedAway
from nibd.daemon.relations.desk import Desk
from nibd.daemon.relations.installed import stamps
from nibd.daemon.relations.navigator_job import RELATIONS_DAMAGED, SERVER_FAILED, Job, Result
from nibd.daemon.relations.opened import Opened
from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.repair.git import GitError
from nibd.repair.private_tree import PrivateTreeError
from nibd.repair.progress import Interrupted, Progress
from nibd.repair.relations.audit import Auditing
from nibd.repair.relations.cycles import rarely_look_for_cycles
from nibd.repair.relations.holding import Holding
from nibd.repair.relations.live import Live
from nibd.repair.relations.relating import Building, Relating
from nibd.repair.relations.workspace import ServerMissing
from nibd.repair.servers.errors import ServerFailed
from nibd.repair.servers.room import NoRoom
from nibd.stores.collection import collect_relations
from nibd.stores.errors import StoreError
from nibd.stores.relations import CorruptRelations, MissingResolution
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Snapshot, ViewRecord, decode_view, encode_view
from nibd.stores.types import CommitId, State
from nibd.stores.verifications import CorruptVerifications, VerificationStore

SWITCH_S = 0.0005
"""How long a thread keeps the interpreter from the others. A question passes through five of them, and each
would wait for the one that verifies: five times 5 ms, as Python has it by itself."""


class Navigator:
    """Does the jobs of one repository. For one thread, but for `holding` and `live`."""

    def __init__(self) -> None:
        self.holding = Holding()
        self._opened: Opened | None = None

    def answer(self, request: ChildRequest) -> Json:
        job = Job.from_params(request.params)
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
            self._start_over(job)
            raise RpcError(ErrorCode.INTERNAL, str(error), RELATIONS_DAMAGED) from error
        except CorruptVerifications as error:
            self._forget_verifications(job)
            raise RpcError(ErrorCode.INTERNAL, f"{error}; what was verified is verified again") from error
        except (PrivateTreeError, ServerMissing) as error:
            raise RpcError(ErrorCode.INTERNAL, str(error)) from error

    def live(self) -> Live | None:
        """What answers questions, while what it reads is in place. For any thread."""
        opened = self._opened
        return opened.live if opened is not None and opened.is_in_place() else None

    def bring(self, params: JsonObject, family: str) -> None:
        """Have the family's server hold the job's tree, for questions. Raises RpcError."""
        job = Job.from_params(params)
        try:
            opened = self._open(job)
            snapshot, _ = _wanted(job, opened)
            _looked(job, opened, snapshot)
            opened.relating.bring(snapshot, family, _unreported)
        except CorruptRelations as error:
            self._start_over(job)
            raise RpcError(ErrorCode.INTERNAL, str(error), RELATIONS_DAMAGED) from error
        except ServerMissing as missing:
            raise RpcError(ErrorCode.VIEW_ABSENT, str(missing)) from missing
        except ServerFailed as failed:
            raise RpcError(ErrorCode.VIEW_NOT_READY, failed.reason) from failed
        except (PrivateTreeError, GitError, StoreError, OSError) as error:
            raise RpcError(ErrorCode.INTERNAL, str(error)) from error

    def _relate(self, job: Job, request: ChildRequest) -> Json:
        if job.discard:
            self._start_over(job)
        opened = self._open(job)
        relating, (snapshot, kept) = opened.relating, _wanted(job, opened)
        result = _looked(job, opened, snapshot)
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
        return _finished(result, job, opened, snapshot)

    def _verify(self, job: Job, request: ChildRequest) -> Json:
        """What was corrected by then is given when a newer commit stops it: it may still be what is shown."""
        opened = self._open(job)
        snapshot, kept = _wanted(job, opened)
        result = _looked(job, opened, snapshot)
        for family in job.families:
            if result.profiles.get(family) != snapshot.relations[family].profile:
                continue  # something was installed: the relations have to be made anew
            try:
                record, _ = opened.verifying.verify(snapshot, family, reporter(request), kept)
            except ServerFailed as failed:
                raise RpcError(ErrorCode.INTERNAL, str(failed), SERVER_FAILED) from failed
            except Interrupted:
                if not result.families:
                    raise
                break
            result.families[family] = encode_view(record)
            if request.cancelled.is_set():
                break
        return _finished(result, job, opened, snapshot)

    def _audit(self, job: Job, request: ChildRequest) -> Json:
        opened = self._open(job)
        snapshot, kept = _wanted(job, opened)
        result = _looked(job, opened, snapshot)
        auditing = Auditing(opened.verifying)
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
        return _finished(result, job, opened, snapshot)

    def _agree(self, job: Job, request: ChildRequest) -> Json:
        """Nothing comes of a family that something keeps from it, which is no fault of its relations."""
        opened = self._open(job)
        snapshot, _ = _wanted(job, opened)
        result = _looked(job, opened, snapshot)
        for family in job.families:
            record = snapshot.relations.get(family)
            if record is None or record.resolution is None or result.profiles.get(family) != record.profile:
                continue
            agreeing = Agreeing(opened.relating, opened.live, snapshot, family, reporter(request))
            try:
                agreement = agreeing.run(record.resolution, CommitId(job.commit))
            except (ServerFailed, MovedAway) as failed:
                result.unmeasured[family] = str(failed)
            else:
                result.families[family] = encode_view(replace(record, agreement=agreement))
        return _finished(result, job, opened, snapshot)

    def _look(self, job: Job) -> Json:
        opened = self._open(job)
        snapshot, _ = _wanted(job, opened)
        result = _looked(job, opened, snapshot)
        for family in result.profiles:
            _correct(result, opened.relating, snapshot, family)
        return _finished(result, job, opened, snapshot)

    def _collect(self, job: Job, request: ChildRequest) -> Json:
        opened = self._open(job)

        def interrupt() -> None:
            if request.cancelled.is_set():
                raise Interrupted

        rows = collect_relations(opened.catalog, opened.relating.store, interrupt=interrupt)
        return {"rows": rows, "servers": opened.relating.workspace.pids()}

    def _open(self, job: Job) -> Opened:
        if self._opened is not None and not self._opened.is_in_place():
            self._close()
        if self._opened is None:
            self._opened = Opened(job, self.holding)
        return self._opened

    def _close(self) -> None:
        opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _forget_verifications(self, job: Job) -> None:
        self._close()
        VerificationStore.remove(RepositoryFolder(Path(job.folder)).verifications)

    def _start_over(self, job: Job) -> None:
        self._close()
        RepositoryFolder(Path(job.folder)).clear_relations()


def _wanted(job: Job, opened: Opened) -> tuple[Snapshot, list[Snapshot]]:
    """The snapshot that is wanted, and those that it can be repaired from, newest first. Raises RpcError."""
    snapshots = opened.snapshots()
    wanted = next((each for each in snapshots if each.generation == job.generation), None)
    if wanted is None:
        raise RpcError(ErrorCode.MOVING, f"generation {job.generation} is not kept any more")
    same = [each for each in snapshots if each.tree == wanted.tree]
    return wanted, same + [each for each in snapshots if each.tree != wanted.tree]


def _looked(job: Job, opened: Opened, snapshot: Snapshot) -> Result:
    """What is installed now; from here on it counts."""
    relating = opened.relating
    result = Result(snapshot.tree, watched=stamps(job.places.watched()))
    parts = relating.look(snapshot.tree, Path(job.work_tree), job.places.caches()).parts
    for family in relating.families(snapshot):
        part = parts[family]
        result.watched.update(part.watched)
        if part.in_progress:
            result.later[family] = part.in_progress
            continue
        try:
            result.profiles[family] = relating.profile(family)
            result.watched.update(stamps(map(str, relating.workspace.installed(family).programs)))
        except ServerMissing as missing:
            result.profiles[family] = None
            result.missing[family] = str(missing)
    return result


def _finished(result: Result, job: Job, opened: Opened, snapshot: Snapshot) -> Json:
    relating, auditing = opened.relating, Auditing(opened.verifying)
    result.servers = relating.workspace.pids()
    for family in result.profiles:
        made = result.families.get(family)
        record = decode_view(made) if made is not None else snapshot.relations.get(family)
        if made is not None and record is not None:
            record = relating.as_installed(family, snapshot.tree, record)
            result.families[family] = encode_view(record)
        if auditing.is_due(record, family, job.audit_transitions):
            result.audits.append(family)
    return result.as_json()


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


def _unreported(_: Progress) -> None:
    """Nobody waits for what a question wanted but the question, which has patience of its own."""


def main() -> int:
    endpoint = ChildEndpoint.over_stdio()
    os.nice(NICENESS)
    sys.setswitchinterval(SWITCH_S)
    rarely_look_for_cycles()
    navigator = Navigator()
    Desk(navigator).serve(endpoint, navigator.answer)
    return 0


if __name__ == "__main__":
    take_none("nibd.daemon.navigator", "Keep language servers and relations, as the nibd daemon asks.")
    sys.exit(main())
