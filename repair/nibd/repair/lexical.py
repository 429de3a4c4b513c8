"""The lexical view's path of repair: from the newest generation to that of a new listing.

What is deleted and added follows from the two listings. A generation whose base turns out damaged is
built from nothing, by the same call. So is one that has grown old (dead documents, segments), but
aside and later (`is_old`), since it serves well enough until then.
"""

from __future__ import annotations

import secrets
import shutil
import time
import zlib
from pathlib import Path

from nibd.repair.derive import rederive
from nibd.repair.git import GitSource
from nibd.repair.policy import Policy
from nibd.stores.bitmap import Bitmap
from nibd.stores.errors import CorruptFacts, CorruptStore, StoreError
from nibd.stores.facts import FactKey
from nibd.stores.lexical import GenerationStats, TreeFile, build
from nibd.stores.lexical_files import RECORD, check_files, read_record
from nibd.stores.repository import RepositoryStores
from nibd.stores.snapshot import Artifact, Coverage, Snapshot, ViewRecord
from nibd.stores.types import Assurance, BlobId, State, View

DAMAGED_FACTS = 100
"""So many damaged rows are made again one by one; past it the store is beyond that."""


def repair_lexical(
    source: GitSource,
    stores: RepositoryStores,
    policy: Policy,
    previous: Snapshot | None,
    listing: Bitmap,
) -> ViewRecord:
    """Make the generation of `listing` from that of `previous` (from nothing when `None`)."""
    started = time.perf_counter()
    made = _repaired(source, stores, previous, listing) if previous else None
    if made is None:
        made = _built(source, stores, None, [], _files(stores, listing))
    target, stats = made
    artifact = _artifact(stores, target)
    return ViewRecord(
        state=State.READY,
        assurance=Assurance.EXACT,
        profile=policy.profile,
        artifact=artifact,
        coverage=Coverage(stats.files.documents, stats.files.documents),
        counts={
            "documents": stats.units.documents,
            "files": stats.files.documents,
            "segments": stats.units.segments,
            "dead": stats.units.dead,
            "old": int(stats.needs_rebuild),
        },
        work={
            "documents_added": stats.units.added,
            "documents_removed": stats.units.deleted,
            "files_added": stats.files.added,
            "files_removed": stats.files.deleted,
            "seconds": time.perf_counter() - started,
        },
    )


def is_old(record: ViewRecord) -> bool:
    """Whether the same generation built from nothing would be worth its time."""
    return bool(record.counts.get("old"))


def _repaired(
    source: GitSource, stores: RepositoryStores, previous: Snapshot, listing: Bitmap
) -> tuple[Path, GenerationStats] | None:
    """The base's generation with the difference applied; `None` when a new one should be built."""
    artifact = previous.views[View.LEXICAL].artifact
    assert artifact is not None, "a ready view has an artifact"
    before = stores.structure.listing(previous.listing)
    removed, added = _files(stores, before.minus(listing)), _files(stores, listing.minus(before))
    base = stores.folder.root / artifact.location
    try:
        check_files(base, read_record(base), contents=False)  # else a cut file would be handed on
        return _built(source, stores, base, removed, added)
    except StoreError:
        # The base cannot be read. It is a cache; the build from nothing reports what is wrong with
        # anything else (a full disk, facts beyond repair).
        return None


def _built(
    source: GitSource,
    stores: RepositoryStores,
    base: Path | None,
    removed: list[TreeFile],
    added: list[TreeFile],
) -> tuple[Path, GenerationStats]:
    stores.folder.lexical.mkdir(exist_ok=True)
    for _ in range(DAMAGED_FACTS):
        target = stores.folder.lexical / secrets.token_hex(6)
        try:
            return target, build(base, target, removed, added, stores.facts)
        except CorruptFacts as damaged:
            shutil.rmtree(target, ignore_errors=True)  # Tantivy's threads may write there yet
            rederive(source, stores.facts, [(BlobId(damaged.blob), damaged.language), *_lost(stores, added)])
        except StoreError:
            shutil.rmtree(target, ignore_errors=True)
            raise
    raise CorruptStore(f"{stores.facts.path}: more than {DAMAGED_FACTS} damaged rows; all is made anew")


def _lost(stores: RepositoryStores, files: list[TreeFile]) -> set[FactKey]:
    """Facts that structure.db knows of and facts.db does not: a power cut can lose the newest."""
    return stores.facts.missing((blob, language) for _, blob, language in files)


def _files(stores: RepositoryStores, rows: Bitmap) -> list[TreeFile]:
    files = (file for _, file in stores.structure.files(rows))
    return [(file.path, file.blob, file.language) for file in files if file.skip is None]


def _artifact(stores: RepositoryStores, target: Path) -> Artifact:
    size = sum(path.stat().st_size for path in target.rglob("*") if path.is_file())
    checksum = f"{zlib.crc32((target / RECORD).read_bytes()):08x}"
    return Artifact(str(target.relative_to(stores.folder.root)), checksum, size)
