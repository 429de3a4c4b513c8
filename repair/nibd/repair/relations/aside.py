"""Relations made aside: by servers of their own, on a private tree of their own, with caches that were empty.

What a rebuild of relations is, for whoever compares with one. The units and texts that it starts from are
given; they may be those of a rebuild too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nibd.repair.git import GitSource
from nibd.repair.private_tree import PrivateTree
from nibd.repair.relations.relating import Relating
from nibd.repair.relations.source_file import SourceFiles
from nibd.repair.relations.workspace import Workspace
from nibd.repair.servers.driver import Options, Search
from nibd.stores.facts import FactStore
from nibd.stores.relations import RelationStore
from nibd.stores.structure import StructureStore
from nibd.stores.verifications import VerificationStore


@contextmanager
def aside(
    folder: Path,
    source: GitSource,
    structure: StructureStore,
    facts: FactStore,
    search: Search,
    store: RelationStore | None = None,
) -> Iterator[Relating]:
    """In `folder`, which is new; with `store`, relations are kept there. Servers end with the context."""
    own = store is None
    relations = store or RelationStore.open(folder / "relations.db")
    memory = VerificationStore.open(folder / "verified.db")
    servers = folder / "servers"
    workspace = Workspace(PrivateTree.open(folder / "tree", source), servers, search, Options(servers))
    try:
        yield Relating(source, structure, relations, SourceFiles(source, facts), workspace, memory)
    finally:
        workspace.close()
        memory.close()
        if own:
            relations.close()
