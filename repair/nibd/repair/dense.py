"""The dense view's path of repair: which texts a listing has, and whose vectors are still to be made.

Steps, from the newest finished dense view of the repository to that of a new listing:

1. The difference of the two listings gives the texts that came and those that may have gone.
2. Texts that have a vector (in the repository's matrix, or in the user's embeddings) get a row.
3. The others are put on the spool, from which the embedder takes them; the view is pending.
4. Once none is missing the snapshot's row list is written, and the view is published.

Nothing here loads a model. What an interrupted step did is found done by the next.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nibd.repair.extract import embedding_texts
from nibd.repair.git import GitSource
from nibd.repair.progress import Progress, Reporter
from nibd.repair.text import Text, decode
from nibd.stores.bitmap import Bitmap
from nibd.stores.dense import DenseStore
from nibd.stores.dense_rows import read_rows, write_rows
from nibd.stores.embeddings import EmbeddingStore
from nibd.stores.repository import RepositoryStores
from nibd.stores.snapshot import Artifact, Coverage, ViewRecord
from nibd.stores.types import Assurance, CheckoutId, FileVersion, ProfileId, State, TextId, View

SPOOLED_FILES = 64
WAITING = "not every text is embedded yet"


@dataclass(frozen=True, slots=True)
class DenseSetting:
    """`absent` says why there is no dense view (not installed, switched off); `None` when there is."""

    profile: ProfileId
    embeddings: EmbeddingStore | None
    absent: str | None = None


@dataclass(frozen=True, slots=True)
class DenseRepair:
    """The dense view of one repository. For one thread."""

    source: GitSource
    stores: RepositoryStores
    setting: DenseSetting

    def pending(self) -> ViewRecord:
        """What a snapshot says of the view before anything is known of its texts."""
        if self.setting.absent:
            return ViewRecord(State.ABSENT, profile=self.setting.profile, reason=self.setting.absent)
        return ViewRecord(State.BUILDING, profile=self.setting.profile, reason=WAITING)

    def assemble(
        self, checkout: CheckoutId, listing: Bitmap, partial: ViewRecord | None = None
    ) -> ViewRecord:
        """The record of `listing`: ready when every text has a vector, else building.

        With `partial`, the record that is published now, what is there is made servable; the same
        record is given back while there is no more than it has.
        """
        if self.setting.absent:
            return self.pending()
        started = time.perf_counter()
        change = self._change(checkout, listing)
        store_folder = self.stores.folder.dense / self.setting.profile
        rows, missing, appended = self._rows(store_folder, change, listing)
        coverage = Coverage(len(rows), len(rows) + missing)
        if missing and (partial is None or coverage.done <= partial.coverage.done):
            return partial if partial and partial.artifact else self._building(coverage)
        artifact = self._write(store_folder, rows)
        return ViewRecord(
            state=State.BUILDING if missing else State.READY,
            assurance=Assurance.PARTIAL if missing else Assurance.EXACT,
            profile=self.setting.profile,
            artifact=artifact,
            coverage=coverage,
            reason=f"{missing} texts are not embedded yet" if missing else None,
            counts={"texts": len(rows)},
            work={
                "texts_added": len(change.come),
                "rows_appended": appended,
                "seconds": time.perf_counter() - started,
            },
        )

    def spool_missing(self, checkout: CheckoutId, listing: Bitmap, report: Reporter) -> int:
        """Put the texts that have no vector on the spool; how many of this listing wait."""
        embeddings = self.setting.embeddings
        if self.setting.absent or embeddings is None:
            return 0
        change = self._change(checkout, listing)
        wanted = embeddings.missing(self.setting.profile, change.come)
        waiting = len(wanted)
        files = self.stores.structure.files(self._files_with(change.rows, wanted))
        batch: list[tuple[TextId, str]] = []
        for count, (_, file) in enumerate(files, 1):
            batch += [(text, content) for text, content in self._texts(file) if text in wanted]
            if count % SPOOLED_FILES == 0:
                embeddings.spool.add(self.setting.profile, batch)
                batch = []
                report(Progress("spool", count, len(change.rows)))
        embeddings.spool.add(self.setting.profile, batch)
        return waiting

    def _building(self, coverage: Coverage) -> ViewRecord:
        return ViewRecord(
            State.BUILDING,
            profile=self.setting.profile,
            coverage=coverage,
            reason=f"{coverage.of - coverage.done} texts are not embedded yet",
        )

    def _change(self, checkout: CheckoutId, listing: Bitmap) -> _Change:
        before, rows = Bitmap(), Bitmap()
        catalog, structure = self.stores.catalog, self.stores.structure
        snapshots = [publication.snapshot for publication in catalog.publications(checkout)]
        snapshots += reversed(catalog.snapshots())
        for snapshot in snapshots:
            record = snapshot.views[View.DENSE]
            if record.state is State.READY and record.artifact and record.profile == self.setting.profile:
                before = structure.listing(snapshot.listing)
                rows = read_rows(self.stores.folder.root / record.artifact.location)
                break
        come = listing.minus(before)
        return _Change(
            rows=come,
            base_rows=rows,
            come={text for _, text in structure.text_ids(come)},
            gone={text for _, text in structure.text_ids(before.minus(listing))},
        )

    def _rows(self, folder: Path, change: _Change, listing: Bitmap) -> tuple[Bitmap, int, int]:
        """The row list, how many texts of the listing have no vector, and how many rows are new."""
        embeddings, profile = self.setting.embeddings, self.setting.profile
        assert embeddings is not None, "a dense view that is not absent has embeddings"
        existing = DenseStore.open_reader(folder) if folder.is_dir() else None
        known = existing.rows(change.come) if existing else {}
        lacking = change.come - known.keys()
        vectors = embeddings.get_many(profile, lacking)
        if existing:
            existing.close()
        structure = self.stores.structure
        left = {text for text in change.gone - change.come if not structure.holds_text(listing, text)}
        appended: dict[TextId, int] = {}
        dropped: dict[TextId, int] = {}
        if vectors or left:
            dimension = len(next(iter(vectors.values()))) // 4 if vectors else None
            store = _open(folder, dimension)
            appended = store.append(vectors) if vectors else {}
            dropped = store.rows(left)
            store.close()
        rows = change.base_rows.changed(
            remove=dropped.values(), add=[*known.values(), *appended.values()]
        )
        return rows, len(lacking - vectors.keys()), len(vectors)

    def _write(self, folder: Path, rows: Bitmap) -> Artifact:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{secrets.token_hex(6)}.rows"
        checksum = write_rows(path, rows)
        return Artifact(str(path.relative_to(self.stores.folder.root)), checksum, path.stat().st_size)

    def _files_with(self, rows: Bitmap, texts: set[TextId]) -> list[int]:
        """The files of `rows` that have one of `texts`, each once."""
        found = {row: None for row, text in self.stores.structure.text_ids(rows) if text in texts}
        return list(found)

    def _texts(self, file: FileVersion) -> Iterator[tuple[TextId, str]]:
        data = self.source.read(file.blob)
        text = decode(data) if data is not None else None
        if not isinstance(text, Text):
            return  # gone since its facts were made: its texts stay missing, and the view says so
        units = self.stores.facts.units(file.blob, file.language)
        ids = self.stores.facts.text_ids(file.blob, file.language)
        for text_id, content in zip(ids, embedding_texts(text.content, units), strict=True):
            if text_id is not None and content is not None:
                yield text_id, content


@dataclass(frozen=True, slots=True)
class _Change:
    """`rows` are the files that came; `come` and `gone` the texts of files that came or went."""

    rows: Bitmap
    base_rows: Bitmap
    come: set[TextId]
    gone: set[TextId]


def _open(folder: Path, dimension: int | None) -> DenseStore:
    if dimension is None:
        return DenseStore.open_reader(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return DenseStore.open(folder, dimension)
