"""What relations are measured in: published trees, and language servers on private trees of their own.

`Published` holds a clone and the lexical view and units of the trees that were published, in a temporary
folder. A `Side` is one set of servers on one private tree, with relations that are its own or shared with
another side. Several sides stand beside each other on the same published trees: one whose servers stay warm,
one that repairs by file, fresh ones for a rebuild. All run in this process, without a daemon.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from nibd.bench.rebuild import NO_DENSE
from nibd.bench.relations_by_file import RepairByFile
from nibd.bench.world import BenchError
from nibd.repair.git import GitSource, open_source
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.progress import Progress
from nibd.repair.relations.aside import aside
from nibd.repair.relations.comparison import Records, Told
from nibd.repair.relations.relating import Relating
from nibd.repair.relations.repair import Resolved
from nibd.repair.relations.verify import Verified
from nibd.repair.relations.verifying import Verifying
from nibd.repair.servers.driver import Search
from nibd.repair.servers.server import LanguageServer
from nibd.repair.transition import RulesCache, Target, Transition, publish_relations, repair
from nibd.stores.facts import FactStore
from nibd.stores.relations import RelationStore
from nibd.stores.repository import RepositoryFolder, RepositoryStores
from nibd.stores.snapshot import Snapshot, ViewRecord
from nibd.stores.structure import StructureStore
from nibd.stores.types import CheckoutId, CommitId, State, TreeId

CHECKOUT = CheckoutId("bench")


@dataclass(frozen=True, slots=True)
class Published:
    """A clone with the views of what was published of it."""

    root: Path
    work_tree: Path
    source: GitSource
    folder: RepositoryFolder
    step: Transition

    def target(self, commit: str) -> Target:
        return Target(CHECKOUT, CommitId(commit), self.source.tree_of(CommitId(commit)))

    def publish(self, commit: str) -> Snapshot:
        """Lexical view and units of a commit."""
        return repair(self.step, self.target(commit)).publication.snapshot

    def publish_relations(self, commit: str, family: str, record: ViewRecord) -> None:
        if publish_relations(self.step, self.target(commit), {family: record}) is None:
            raise BenchError(f"{commit[:10]} is not what is published")

    def changed_files(self, parent: str, child: str) -> int:
        return len(self.source.changes(self.target(parent).tree, self.target(child).tree))


@contextmanager
def published(repository: Path) -> Iterator[Published]:
    """`repository` is only read; what is made is removed at the end."""
    root = Path(tempfile.mkdtemp(prefix="nibd-bench-")).resolve()
    try:
        work_tree = root / "clone"
        _clone(repository, work_tree)
        source = open_source(work_tree)
        folder = RepositoryFolder(root / "views")
        with RepositoryStores.open(folder, EXTRACTOR) as stores:
            workers = len(os.sched_getaffinity(0))
            step = Transition(source, stores, Policy(), NO_DENSE, silent, workers, RulesCache())
            yield Published(root, work_tree, source, folder, step)
        source.close()
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _clone(repository: Path, target: Path) -> None:
    command = ["git", "clone", "--quiet", "--shared", "--no-checkout", str(repository.resolve()), str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise BenchError(f"{repository} can't be cloned: {done.stderr.strip()}")


@dataclass(frozen=True, slots=True)
class Sent:
    """How many requests a server has been sent, by method."""

    server: LanguageServer | None
    counts: Counter[str]

    def since(self, before: Sent) -> dict[str, int]:
        """A server that was started since then has been sent nothing before."""
        return dict(self.counts - (before.counts if self.server is before.server else Counter()))


@dataclass(slots=True)
class Side:
    """Servers on a private tree. `kept` holds the snapshots whose relations it has, newest first."""

    relating: Relating
    folder: Path
    family: str
    kept: list[Snapshot] = field(default_factory=list)

    @property
    def store(self) -> RelationStore:
        return self.relating.store

    @property
    def starts(self) -> int:
        """How many servers were started."""
        return self.relating.workspace.starts

    def hold(self, tree: TreeId) -> None:
        """Have the private tree hold `tree`, so that writing it all is no part of what is timed."""
        self.relating.workspace.move(tree, silent)

    def relate(self, snapshot: Snapshot) -> ViewRecord:
        """Raises BenchError when there is no server, or it failed."""
        record = self.relating.relate(snapshot, self.family, self.kept, silent)
        if record.state is not State.READY:
            raise BenchError(f"{self.family} relations are {record.state}: {record.reason}")
        return record

    def by_file(self, snapshot: Snapshot) -> Resolved:
        """The coarser path, to compare with."""
        return self.relating.repaired_as(RepairByFile, snapshot, self.family, self.kept[:1], silent)

    def keep(self, snapshot: Snapshot, record: ViewRecord) -> Snapshot:
        """Repair the next from here; the snapshot with its relations."""
        related = snapshot.with_relations(self.family, record)
        self.kept = [related, *self.kept[: _KEPT - 1]]
        return related

    def verify(self, snapshot: Snapshot) -> tuple[ViewRecord, Sequence[Verified]]:
        """To the end: one that finds differences stops now and then, so that they can be published."""
        runs: list[Verified] = []
        while True:
            record, verified = Verifying(self.relating).verify(snapshot, self.family, silent, self.kept)
            runs.append(verified)
            if verified.is_whole:
                return record, runs
            snapshot = snapshot.with_relations(self.family, record)

    def records(self, record: ViewRecord) -> Records:
        """The relations of each file, packed."""
        assert record.resolution is not None, "it is ready"
        return Told(self.store, self.store.resolution(record.resolution)).records()

    @property
    def server(self) -> LanguageServer:
        """The one that was asked last."""
        running = self.relating.workspace.running(self.family)
        assert running is not None, "relations were made or verified"
        return running

    @property
    def memory_bytes(self) -> int:
        """What its server holds; 0 when verification ended it."""
        return self.relating.workspace.memory_bytes(self.family)

    def sent(self) -> Sent:
        """What that one has been sent so far."""
        server = self.relating.workspace.running(self.family)
        return Sent(server, Counter(server.requests if server else {}))


_KEPT = 3
"""A base that was given up leaves older ones."""


@contextmanager
def side(
    views: Published, family: str, servers: Sequence[Path], store: RelationStore | None = None
) -> Iterator[Side]:
    """New servers on a new private tree; with `store`, the relations are another side's."""
    folder = Path(tempfile.mkdtemp(prefix="side-", dir=views.root))
    search = Search(
        path=os.environ.get("PATH", ""),
        folders=tuple(servers),
        forbidden=(views.work_tree, folder),
        home=Path.home(),
        rustup_home=Path(os.environ["RUSTUP_HOME"]) if os.environ.get("RUSTUP_HOME") else None,
    )
    structure = StructureStore.open_reader(views.folder.structure)
    facts = FactStore.open_reader(views.folder.facts, EXTRACTOR)
    try:
        with aside(folder, views.source, structure, facts, search, store) as relating:
            yield Side(relating, folder, family)
    finally:
        facts.close()
        structure.close()
        shutil.rmtree(folder, ignore_errors=True)


def server_folders(given: Sequence[Path]) -> list[Path]:
    """Where servers are looked for in each folder that was given, then beside the interpreter."""
    inside = (Path(), Path("bin"), Path("node_modules/.bin"), Path("npm/node_modules/.bin"))
    found = [(folder / each).resolve() for folder in given for each in inside]
    return [folder for folder in (*found, Path(sys.executable).parent) if folder.is_dir()]


def silent(progress: Progress) -> None:
    """Progress is for people who wait; here time is measured."""
