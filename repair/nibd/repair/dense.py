"""The dense view's path of repair: which texts a listing has, and whose vectors are still to be made.

Steps, from the newest finished dense view of the repository to that of a new listing:

1. The difference of the two listings gives the texts that came and those that may have gone.
2. Texts that have a vector (in the repository's matrix, or in the user's embeddings) get a row.
3. The others are put on the spool, from which the embedder takes them; the view is pending.
4. Once none is missing the snapshot's row list is written, and the view is published.

Rows lie in a *matrix*, a folder that snapshots share and that only grows. When most of its rows are
dead, or it turns out damaged, the view is assembled from nothing into a new one; the old one goes once
no kept snapshot has a row list in it.

Nothing here loads a model. What an interrupted step did is found done by the next.
"""

from __future__ import annotations

import secrets
import shutil
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
from nibd.stores.errors import StoreError
from nibd.stores.repository import RepositoryStores
from nibd.stores.snapshot import Artifact, Coverage, ViewRecord
from nibd.stores.types import Assurance, CheckoutId, FileVersion, ProfileId, State, TextId, View

SPOOLED_FILES = 64
OLD_ROWS = 4096
"""A matrix smaller than this is never worth another."""
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
        made = self._rows(change, listing)
        coverage = Coverage(len(made.rows), len(made.rows) + made.missing)
        if made.missing and (partial is None or coverage.done <= partial.coverage.done):
            return partial if partial and partial.artifact else self._building(coverage)
        return ViewRecord(
            state=State.BUILDING if made.missing else State.READY,
            assurance=Assurance.PARTIAL if made.missing else Assurance.EXACT,
            profile=self.setting.profile,
            artifact=self._write(change.matrix, made.rows),
            coverage=coverage,
            reason=f"{made.missing} texts are not embedded yet" if made.missing else None,
            counts={"texts": len(made.rows), "rows": made.rows_in_matrix},
            work={
                "texts_added": len(change.come),
                "rows_appended": made.appended,
                "seconds": time.perf_counter() - started,
            },
        )

    def fold(self, listing: Bitmap) -> ViewRecord | None:
        """The record of `listing` in a new matrix; `None` when there is no vector for some text of it."""
        if self.setting.absent:
            return None
        change = self._all(listing, self._new_matrix())
        made = self._rows(change, listing)
        if made.missing:
            return None
        return ViewRecord(
            state=State.READY,
            assurance=Assurance.EXACT,
            profile=self.setting.profile,
            artifact=self._write(change.matrix, made.rows),
            coverage=Coverage(len(made.rows), len(made.rows)),
            counts={"texts": len(made.rows), "rows": made.rows_in_matrix},
            work={"texts_added": len(change.come), "rows_appended": made.appended},
        )

    def discard(self, listing: Bitmap) -> ViewRecord:
        """The record of `listing` with nothing taken from matrices, which are found damaged.

        Where the user's embeddings lack some text, the matrices are removed and the view is pending.
        """
        folded = self.fold(listing)
        if folded is None and self.setting.absent is None:
            for matrix in self.stores.folder.dense.glob(f"{self.setting.profile}-*"):
                shutil.rmtree(matrix)
        return folded or self.pending()

    def spool_missing(self, checkout: CheckoutId, listing: Bitmap, report: Reporter) -> int:
        """Put the texts that have no vector on the spool; how many of this listing wait there.

        A text whose blob is gone from Git cannot wait: it stays missing, and the view says so.
        """
        embeddings = self.setting.embeddings
        if self.setting.absent or embeddings is None:
            return 0
        change = self._change(checkout, listing)
        wanted = embeddings.missing(self.setting.profile, change.come)
        waiting: set[TextId] = set()
        files = self.stores.structure.files(self._files_with(change.files, wanted))
        batch: list[tuple[TextId, str]] = []
        for count, (_, file) in enumerate(files, 1):
            batch += [(text, content) for text, content in self._texts(file) if text in wanted]
            waiting.update(text for text, _ in batch)
            if count % SPOOLED_FILES == 0:
                embeddings.spool.add(self.setting.profile, batch)
                batch = []
                report(Progress("spool", count, len(change.files)))
        embeddings.spool.add(self.setting.profile, batch)
        return len(waiting)

    def _building(self, coverage: Coverage) -> ViewRecord:
        return ViewRecord(
            State.BUILDING,
            profile=self.setting.profile,
            coverage=coverage,
            reason=f"{coverage.of - coverage.done} texts are not embedded yet",
        )

    def _change(self, checkout: CheckoutId, listing: Bitmap) -> _Change:
        catalog, structure = self.stores.catalog, self.stores.structure
        snapshots = [publication.snapshot for publication in catalog.publications(checkout)]
        snapshots += reversed(catalog.snapshots())
        for snapshot in snapshots:
            record = snapshot.views[View.DENSE]
            if record.state is State.READY and record.artifact and record.profile == self.setting.profile:
                row_list = self.stores.folder.root / record.artifact.location
                try:
                    rows, before = read_rows(row_list), structure.listing(snapshot.listing)
                except StoreError:
                    continue  # deleted or damaged: a cache of vectors that are kept elsewhere
                if _opens(row_list.parent):
                    gone = {text for _, text in structure.text_ids(before.minus(listing))}
                    return self._since(before, gone, listing, row_list.parent, rows)
        return self._all(listing, self._unfinished_matrix() or self._new_matrix())

    def _all(self, listing: Bitmap, matrix: Path) -> _Change:
        """From nothing, into a matrix that a first build has begun, or a new one."""
        return self._since(Bitmap(), set(), listing, matrix, Bitmap())

    def _new_matrix(self) -> Path:
        return self.stores.folder.dense / f"{self.setting.profile}-{secrets.token_hex(4)}"

    def _unfinished_matrix(self) -> Path | None:
        """That of the newest partial view: a first build goes on in it."""
        for snapshot in reversed(self.stores.catalog.snapshots()):
            record = snapshot.views[View.DENSE]
            if record.artifact and record.profile == self.setting.profile:
                matrix = (self.stores.folder.root / record.artifact.location).parent
                return matrix if record.state is State.BUILDING and _opens(matrix) else None
        return None

    def _since(
        self, before: Bitmap, gone: set[TextId], listing: Bitmap, matrix: Path, rows: Bitmap
    ) -> _Change:
        came = listing.minus(before)
        come = {text for _, text in self.stores.structure.text_ids(came)}
        return _Change(matrix, came, rows, come, gone - come)

    def _rows(self, change: _Change, listing: Bitmap) -> _Made:
        """Give every text that has a vector a row. A matrix is made when there is one to put into it."""
        embeddings = self.setting.embeddings
        assert embeddings is not None, "a dense view that is not absent has embeddings"
        store = DenseStore.open_reader(change.matrix) if change.matrix.is_dir() else None
        known = store.rows(change.come) if store else {}
        lacking = change.come - known.keys()
        vectors = embeddings.get_many(self.setting.profile, lacking)
        holds = self.stores.structure.holds_text
        left = [text for text in change.gone if not holds(listing, text)]
        dropped = store.rows(left) if store else {}
        appended: dict[TextId, int] = {}
        if vectors:
            if store:
                store.close()
            change.matrix.mkdir(parents=True, exist_ok=True)
            store = DenseStore.open(change.matrix, len(next(iter(vectors.values()))) // 4)
            appended = store.append(vectors)
        total = len(store) if store else 0
        if store:
            store.close()
        added = [*known.values(), *appended.values()]
        rows = change.base_rows.changed(remove=dropped.values(), add=added)
        return _Made(rows, len(lacking - vectors.keys()), len(vectors), total)

    def _write(self, matrix: Path, rows: Bitmap) -> Artifact:
        matrix.mkdir(parents=True, exist_ok=True)
        path = matrix / f"{secrets.token_hex(6)}.rows"
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
    """`files` are those that came; `come` and `gone` the texts that came, or may have gone, with files."""

    matrix: Path
    files: Bitmap
    base_rows: Bitmap
    come: set[TextId]
    gone: set[TextId]


@dataclass(frozen=True, slots=True)
class _Made:
    """A row list, how many texts have no vector, how many rows are new, and how many the matrix has."""

    rows: Bitmap
    missing: int
    appended: int
    rows_in_matrix: int


def _opens(matrix: Path) -> bool:
    """Whether a matrix is there and has as many vectors as it names."""
    try:
        DenseStore.open_reader(matrix).close()
    except StoreError:
        return False
    return True


def is_old(record: ViewRecord) -> bool:
    """Whether most rows of the view's matrix are dead, and it is worth another."""
    rows = record.counts.get("rows", 0)
    return record.state is State.READY and rows > OLD_ROWS and rows > 2 * record.counts["texts"]
