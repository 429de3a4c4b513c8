"""The verifier's part for relations: fresh servers aside, and what they say beside what is published."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nibd.daemon.relations.navigator_job import Job
from nibd.ipc.messages import Json, JsonObject
from nibd.repair.git import GitSource
from nibd.repair.progress import Reporter
from nibd.repair.relations.aside import aside
from nibd.repair.relations.comparison import Compared, Difference, Told, text
from nibd.repair.relations.rebuild import Rebuild, Verdict
from nibd.repair.relations.relating import Relating
from nibd.repair.relations.workspace import ServerMissing
from nibd.stores.facts import FactStore
from nibd.stores.relation_records import RelationRecord
from nibd.stores.relations import RelationStore
from nibd.stores.snapshot import Snapshot, ViewRecord
from nibd.stores.structure import StructureStore
from nibd.stores.types import State


@dataclass(frozen=True, slots=True)
class Rebuilding:
    """What a comparison needs: the rebuilt units and facts, and `job`, what the navigator would be told.

    `scratch` is the folder for private trees and servers.
    """

    source: GitSource
    job: Job
    scratch: Path
    structure: StructureStore
    facts: FactStore

    @contextmanager
    def fresh(self, snapshot: Snapshot) -> Iterator[Relating]:
        """Anew each time it is called."""
        job = self.job
        search = job.places.search(Path(job.work_tree), self.scratch)
        with (
            tempfile.TemporaryDirectory(prefix="relations-", dir=self.scratch) as folder,
            aside(Path(folder).resolve(), self.source, self.structure, self.facts, search) as relating,
        ):
            relating.look(snapshot.tree, Path(job.work_tree), job.places.caches())
            yield relating

    def verdicts(
        self, published: RelationStore | None, snapshot: Snapshot, fresh: Snapshot, report: Reporter
    ) -> dict[str, JsonObject]:
        """By family of the published `snapshot`, compared with a rebuild; `fresh` is the rebuilt tree."""
        rebuild = Rebuild(fresh, lambda: self.fresh(fresh), report)
        found = {}
        for family, record in snapshot.relations.items():
            if published is None or record.resolution is None or record.state is not State.READY:
                found[family] = _json(Verdict(reason=_why_not(record)), record, {})
                continue
            told = Told(published, published.resolution(record.resolution))
            try:
                verdict = rebuild.compare(told, record, family)
            except ServerMissing as missing:
                verdict = Verdict(reason=str(missing))
            lines = _Lines(self.source, told)
            found[family] = _json(verdict, record, {each: lines.of(each) for each in _named(verdict)})
        return found


def _why_not(record: ViewRecord) -> str:
    if record.state is State.BUILDING:
        return "they are still being made"
    return f"there are none: {record.reason or record.state.value}"


def _named(verdict: Verdict) -> list[Difference]:
    return [*verdict.compared.listed, *verdict.varying.listed]


class _Lines:
    """The lines of offsets in files of the published tree."""

    def __init__(self, source: GitSource, told: Told) -> None:
        self._source = source
        self._told = told
        self._records: dict[str, RelationRecord] = {}

    def of(self, difference: Difference) -> int | None:
        """From 1; `None` of a file as a whole."""
        if not self._records:
            self._records = {text(path): record for path, record in self._told.records().items()}
        record = self._records.get(difference.path)
        data = self._source.read(record.blob) if record is not None and difference.name else None
        return None if data is None else data.count(b"\n", 0, difference.start_byte) + 1


def _json(verdict: Verdict, record: ViewRecord, lines: dict[Difference, int | None]) -> JsonObject:
    found = verdict.compared
    return {
        "equal": verdict.is_equal,
        "reason": verdict.reason,
        "assurance": record.assurance.value if record.assurance else None,
        "compared": {"files": found.files, "sites": found.sites, "requests": found.requests},
        "differences": _differences(found, lines),
        "count": found.count,
        "varying": {"differences": _differences(verdict.varying, lines), "count": verdict.varying.count},
    }


def _differences(found: Compared, lines: dict[Difference, int | None]) -> list[Json]:
    return [
        {
            "path": each.path,
            "line": lines.get(each),
            "name": each.name,
            "kind": each.kind,
            "published": each.ours,
            "fresh": each.theirs,
        }
        for each in found.listed
    ]
