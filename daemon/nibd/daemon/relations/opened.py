"""What a navigator has open of its repository: the stores, and the private tree with its servers.

The cache may be deleted, or cleared, at any time: what is open is then not what is there (`is_in_place`), and
has to be closed and opened anew.
"""

from __future__ import annotations

from pathlib import Path

from nibd.daemon.relations.navigator_job import Job
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR
from nibd.repair.private_tree import PrivateTree
from nibd.repair.relations.holding import Holding
from nibd.repair.relations.live import Live, LiveFiles
from nibd.repair.relations.relating import Relating
from nibd.repair.relations.source_file import SourceFiles
from nibd.repair.relations.verifying import Verifying
from nibd.repair.relations.workspace import Workspace
from nibd.repair.servers.driver import Options
from nibd.stores.catalog import Catalog
from nibd.stores.facts import FactStore
from nibd.stores.relations import RelationStore
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Snapshot
from nibd.stores.structure import StructureStore
from nibd.stores.verifications import VerificationStore


class Opened:
    """For one thread, but for `live` and `is_in_place`."""

    def __init__(self, job: Job, holding: Holding) -> None:
        """Raises StoreError, GitError, PrivateTreeError."""
        self._folder = folder = RepositoryFolder(Path(job.folder))
        source = open_source(Path(job.work_tree))
        search = job.places.search(Path(job.work_tree), folder.root)
        cache = folder.root / "servers"
        self._identity = folder.identity()
        self.catalog = Catalog.open_reader(folder.catalog)
        facts = FactStore.open_reader(folder.facts, EXTRACTOR)
        structure = StructureStore.open_reader(folder.structure)
        relations = RelationStore.open(folder.relations)
        memory = VerificationStore.open(folder.verifications)
        tree = PrivateTree.open(folder.root / "tree", source)  # last: what fails before it leaves no lock
        workspace = Workspace(tree, cache, search, Options(cache), holding)
        self.relating = Relating(source, structure, relations, SourceFiles(source, facts), workspace, memory)
        self.verifying = Verifying(self.relating)
        files = LiveFiles(
            open_source(Path(job.work_tree)),
            StructureStore.open_reader(folder.structure),
            FactStore.open_reader(folder.facts, EXTRACTOR),
        )
        self.live = Live(holding, files, workspace.is_uncommitted)

    def is_in_place(self) -> bool:
        """Whether what is open is what is there."""
        return self._folder.identity() == self._identity and self.relating.store.is_in_place()

    def snapshots(self) -> list[Snapshot]:
        """Those that are kept, newest first."""
        return sorted(self.catalog.snapshots(), key=lambda each: each.generation, reverse=True)

    def close(self) -> None:
        self.relating.workspace.close()
        self.relating.store.close()
        self.relating.memory.close()
        self.relating.structure.close()
        self.catalog.close()
        self.live.close()
