"""The verifier: `python -m nibd.daemon.verifier`, a child that rebuilds a tree aside and compares.

One request, `verify`, with the `Job` parameters of the indexer, the generation to compare with, the
views asked for, what the navigator would be told where relations are asked for (`relations.verdict`), and a
scratch folder, which the daemon removes. The same tree is built from nothing there, with empty caches and in
this process, and every view is compared (`nibd.query.comparison`). For the dense view this process loads the
model itself, and embeds all texts again, or `DENSE_TEXTS` of them in a larger repository.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nibd.daemon.child_jobs import NICENESS, reporter, serve
from nibd.daemon.indexer import Indexer, Job
from nibd.daemon.process_arguments import take_none
from nibd.daemon.relations.navigator_job import RELATIONS_DAMAGED
from nibd.daemon.relations.navigator_job import Job as NavigatorJob
from nibd.daemon.relations.verdict import Rebuilding
from nibd.ipc.child_endpoint import ChildEndpoint, ChildRequest
from nibd.ipc.messages import ErrorCode, Json, JsonObject, RpcError
from nibd.query.comparison import Comparison, Side, compare_dense, compare_lexical, compare_structure
from nibd.repair.git import open_source
from nibd.repair.policy import EXTRACTOR
from nibd.repair.relations.cycles import rarely_look_for_cycles
from nibd.stores.catalog import Catalog
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import members, read_rows
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.facts import FactStore
from nibd.stores.lexical import LexicalGeneration
from nibd.stores.relations import CorruptRelations, RelationStore
from nibd.stores.repository import RepositoryFolder
from nibd.stores.snapshot import Snapshot
from nibd.stores.structure import StructureStore
from nibd.stores.types import CheckoutId, ProfileId, TextId, View

DENSE_TEXTS = 4000
"""So many texts take about a minute on two cores."""


def verify(request: ChildRequest) -> Json:
    params = dict(request.params)
    generation, views = params.pop("generation"), params.pop("views")
    scratch, navigation = Path(params.pop("scratch")), params.pop("navigation")
    job = Job(**params)
    published = RepositoryFolder(Path(job.folder))
    snapshot = _published(published, generation)
    rebuilt = RepositoryFolder(scratch / "views")
    fresh = _rebuild(request, job, scratch)
    if fresh.tree != snapshot.tree:
        raise RpcError(ErrorCode.MOVING, f"generation {generation} is of another tree by now; try again")
    if fresh.views[View.LEXICAL].profile != snapshot.views[View.LEXICAL].profile:
        why = "was made under other settings; `nibd wait`, then again"
        raise RpcError(ErrorCode.MOVING, f"generation {generation} {why}")
    old, new = _side(published, snapshot), _side(rebuilt, fresh)
    compared: dict[str, Comparison] = {}
    if View.STRUCTURAL in views:
        compared["structural"] = compare_structure(old, new)
    if View.LEXICAL in views:
        compared["lexical"] = compare_lexical(old, new)
    if View.DENSE in views and snapshot.views[View.DENSE].artifact:
        compared["dense"] = _dense(request, params["dense"], published, snapshot, new, scratch)
    verdicts = None if navigation is None else _relations(request, navigation, snapshot, fresh, scratch)
    return {"views": {name: _json(each) for name, each in compared.items()}, "relations": verdicts}


def _relations(
    request: ChildRequest, navigation: dict[str, Any], snapshot: Snapshot, fresh: Snapshot, scratch: Path
) -> dict[str, JsonObject]:
    job, rebuilt = NavigatorJob.from_params(navigation), RepositoryFolder(scratch / "views")
    path = RepositoryFolder(Path(job.folder)).relations
    published = RelationStore.open_reader(path) if RelationStore.is_made(path) else None
    rebuilding = Rebuilding(
        open_source(Path(job.work_tree)),
        job,
        scratch,
        StructureStore.open_reader(rebuilt.structure),
        FactStore.open_reader(rebuilt.facts, EXTRACTOR),
    )
    try:
        return rebuilding.verdicts(published, snapshot, fresh, reporter(request))
    except CorruptRelations as error:
        raise RpcError(ErrorCode.INTERNAL, str(error), RELATIONS_DAMAGED) from error


def _published(folder: RepositoryFolder, generation: int) -> Snapshot:
    catalog = Catalog.open_reader(folder.catalog)
    try:
        return next(s for s in catalog.snapshots() if s.generation == generation)
    except StopIteration:
        raise RpcError(ErrorCode.NOT_FOUND, f"generation {generation} is not kept any more") from None
    finally:
        catalog.close()


def _rebuild(request: ChildRequest, job: Job, scratch: Path) -> Snapshot:
    """By the indexer's own code, from nothing; its texts wait on a spool in `scratch`."""
    fresh = Job(
        **{
            **job.as_params(),
            "folder": str(scratch / "views"),
            "embeddings": str(scratch / "embeddings.db"),
        }
    )
    Indexer().repair(fresh, request)
    catalog = Catalog.open_reader(RepositoryFolder(scratch / "views").catalog)
    current = catalog.current(CheckoutId(job.checkout))
    catalog.close()
    assert current is not None, "a repair publishes"
    return current.snapshot


def _side(folder: RepositoryFolder, snapshot: Snapshot) -> Side:
    structure = StructureStore.open_reader(folder.structure)
    artifact = snapshot.views[View.LEXICAL].artifact
    assert artifact is not None, "what is verified serves its lexical view"
    return Side(
        structure,
        structure.listing(snapshot.listing),
        FactStore.open_reader(folder.facts, EXTRACTOR),
        LexicalGeneration.open(folder.root / artifact.location),
    )


def _dense(
    request: ChildRequest,
    settings: dict[str, Any],
    folder: RepositoryFolder,
    snapshot: Snapshot,
    fresh: Side,
    scratch: Path,
) -> Comparison:
    # Loads torch: seconds and 800 MB, only when the dense view is verified.
    from nibd.repair.embedding import Embedder  # noqa: PLC0415

    record = snapshot.views[View.DENSE]
    assert record.artifact is not None, "checked by the caller"
    path = folder.root / record.artifact.location
    store = DenseStore.open_reader(path.parent)
    rows = members(read_rows(path)).tolist()
    vectors = store.vectors(rows)
    named = store.texts(rows)
    published = {named[row]: vector.tobytes() for row, vector in zip(rows, vectors, strict=True)}
    texts = {text for _, text in fresh.structure.text_ids(fresh.listing)}
    spool = EmbeddingStore.open(scratch / "embeddings.db").spool
    contents = dict(spool.take(ProfileId(record.profile), len(texts)))
    threads = settings["threads"] or len(os.sched_getaffinity(0))
    embedder = Embedder.load(settings["model"], threads=threads, allow_download=False)

    def embedded(wanted: Sequence[TextId]) -> list[bytes]:
        request.notify("progress", {"stage": "verify", "done": 0, "total": len(wanted)})
        return [vector.tobytes() for vector in embedder.embed([contents[text] for text in wanted])]

    return compare_dense(published, texts, embedded, DENSE_TEXTS)


def _json(comparison: Comparison) -> Json:
    return {
        "equal": comparison.equal,
        "compared": comparison.compared,
        "differences": comparison.differences,
        "count": comparison.count,
    }


def main() -> int:
    endpoint = ChildEndpoint.over_stdio()
    os.nice(NICENESS)
    rarely_look_for_cycles()
    serve(endpoint, verify)
    return 0


if __name__ == "__main__":
    take_none("nibd.daemon.verifier", "Rebuild a tree and compare, as the nibd daemon asks.")
    sys.exit(main())
