"""structure.db: file versions, units and listings; what is damaged is told, what is needed is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lexical_corpus import LANGUAGE, MadeFile, facts_of, made_file
from nibd.stores.bitmap import Bitmap
from nibd.stores.errors import CorruptStore, CorruptStructure, StoreError
from nibd.stores.structure import FileRow, ListingId, StructureStore
from nibd.stores.types import BlobId, FileVersion, Import, ProfileId, RepoPath, Skip

EXTRACTOR = "extractor"
PROFILE = ProfileId("profile")
A = made_file("a.py", "head of a", ("Box.open", "open it"), ("close", "close it"))
B = made_file("pkg/b.py", "head of b", ("open", "open it"))
COPY = MadeFile(RepoPath(b"pkg/copy.py"), A.head, A.paragraphs)
MISSING = FileVersion(RepoPath(b"pkg/gone.py"), BlobId("9" * 40), 0o100644, "", Skip.MISSING_OBJECT)


def version(file: MadeFile, mode: int = 0o100644) -> FileVersion:
    return FileVersion(file.path, file.blob, mode, LANGUAGE, None)


def put(store: StructureStore, *files: MadeFile | FileVersion) -> list[FileRow]:
    versions = [file if isinstance(file, FileVersion) else version(file) for file in files]
    facts = [(file.blob, LANGUAGE, facts_of(file)) for file in files if isinstance(file, MadeFile)]
    return store.add(versions, facts, extractor=EXTRACTOR, profile=PROFILE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "structure.db"


@pytest.fixture
def store(path: Path) -> Iterator[StructureStore]:
    with closing(StructureStore.open(path)) as opened:
        yield opened


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(sql, values).rowcount > 0
        database.commit()


def test_the_units_of_a_file_are_those_of_its_facts(store: StructureStore) -> None:
    (row,) = put(store, A)
    units = store.units(version(A), row)
    facts = facts_of(A)
    told = [
        (u.level, u.kind, u.name, u.qualified, u.start_line, u.end_line, u.parent, u.text_id) for u in units
    ]
    made = [
        (u.level, u.kind, u.name, u.qualified, u.start_line, u.end_line, u.parent, text)
        for u, text in zip(facts.units, facts.text_ids, strict=True)
    ]
    assert told == made
    assert [unit.ordinal for unit in units] == [0, 1, 2]
    assert store.imports(row) == [Import("made.module", 1, 1)]


def test_the_same_file_version_has_one_row_and_another_has_its_own(store: StructureStore) -> None:
    first = put(store, A, B)
    assert put(store, A, B) == first
    executable = store.add([version(A, 0o100755)], [], extractor=EXTRACTOR, profile=PROFILE)
    elsewhere = store.add([version(A)], [], extractor=EXTRACTOR, profile=ProfileId("other"))
    assert len({*first, *executable, *elsewhere}) == 4
    assert store.known(A.path, A.blob, 0o100755, PROFILE) == [version(A, 0o100755)]
    assert store.known(A.path, A.blob, 0o100755, ProfileId("other")) == []


def test_a_file_without_facts_is_refused_and_nothing_of_its_batch_is_kept(store: StructureStore) -> None:
    with pytest.raises(KeyError):
        store.add(
            [version(A), version(B)],
            [(A.blob, LANGUAGE, facts_of(A))],
            extractor=EXTRACTOR,
            profile=PROFILE,
        )
    assert store.known(A.path, A.blob, 0o100644, PROFILE) == []
    assert store.keys() == set()


def test_without_source_names_what_is_not_stored_under_this_extractor(store: StructureStore) -> None:
    put(store, A)
    both = [version(A), version(B), MISSING]
    assert store.without_source(both, EXTRACTOR) == {(B.blob, LANGUAGE)}
    assert store.without_source(both, "newer") == {(A.blob, LANGUAGE), (B.blob, LANGUAGE)}


def test_what_is_asked_of_a_listing_comes_from_its_own_files_only(store: StructureStore) -> None:
    a, b, gone = put(store, A, B, MISSING)
    later = made_file("a.py", "head of a", ("open", "open it now"))
    (edited,) = put(store, later)
    listing = Bitmap.of([a, b, gone])
    assert store.at_path(listing, A.path) == (a, version(A))
    assert store.at_path(Bitmap.of([edited, b]), A.path) == (edited, version(later))
    assert store.at_path(Bitmap.of([b]), A.path) is None
    assert [unit.qualified for unit in store.named(listing, "OPEN")] == ["Box.open", "open"]
    shared = facts_of(B).text_ids[1]
    assert shared is not None
    assert {unit.file.path for unit in store.with_text(listing, shared)} == {A.path, B.path}
    assert [(unit.file.path, unit.kind) for unit in store.files_with_text(listing, shared)] == [
        (A.path, "file"),
        (B.path, "file"),
    ]
    assert store.holds_text(listing, shared)
    assert not store.holds_text(Bitmap.of([edited]), shared)
    assert list(store.skipped(listing, Skip.MISSING_OBJECT)) == [(gone, MISSING)]
    assert list(store.skipped(Bitmap.of([a]), Skip.MISSING_OBJECT)) == []


def test_under_a_folder_are_its_files_and_no_others_that_begin_alike(store: StructureStore) -> None:
    names = ["pkg", "pkg-x/a", "pkg.py", "pkg/a", "pkg/\xff", "pkg/deep/a", "pkg0", "pkh/a"]
    made = [MadeFile(RepoPath(name.encode("latin-1")), "head", ()) for name in names]
    listing = Bitmap.of(put(store, *made))
    assert {file.path for _, file in store.under(listing, b"pkg/")} == {
        b"pkg/a",
        b"pkg/\xff",
        b"pkg/deep/a",
    }
    assert len(list(store.under(listing, b""))) == len(names)


def test_counts_are_those_of_files_units_and_lines(store: StructureStore) -> None:
    rows = put(store, A, B, COPY, MISSING)
    assert store.counts(rows) == {
        f"language:{LANGUAGE}": 3,
        "skip:missing_object": 1,
        "units:L0": 3,
        "units:L2": 5,
        "lines": 8,
        "imports": 3,
    }
    assert store.counts([]) == {}


@pytest.mark.parametrize(
    ("damage", "read"),
    [
        ("UPDATE file SET blob = replace(blob, '1', '2')", "at_path"),
        ("UPDATE file SET source = source + 1", "at_path"),
        ("UPDATE file SET skip = 'binary'", "files"),
        ("UPDATE file SET profile = 'other'", "under"),
        ("UPDATE unit SET start_line = start_line + 1 WHERE ordinal = 1", "units"),
        ("UPDATE unit SET level = 1 - level WHERE ordinal < 1", "units"),
        ("UPDATE unit SET qualified = 'Bax.open' WHERE name = 'open'", "named"),
        ("UPDATE unit SET text_id = zeroblob(length(text_id)) WHERE ordinal = 1", "text_ids"),
        ("UPDATE import SET module = 'mode.module'", "imports"),
    ],
)
def test_a_row_that_was_changed_is_corruption_to_whoever_reads_it(
    store: StructureStore, path: Path, damage: str, read: str
) -> None:
    (row,) = put(store, A)
    listing = Bitmap.of([row])
    readers: dict[str, Callable[[], object]] = {
        "at_path": lambda: store.at_path(listing, A.path),
        "files": lambda: list(store.files([row])),
        "under": lambda: list(store.under(listing, b"")),
        "units": lambda: store.units(version(A), row),
        "named": lambda: store.named(listing, "open"),
        "text_ids": lambda: list(store.text_ids([row])),
        "imports": lambda: store.imports(row),
    }
    assert readers[read]()
    change(path, damage)
    with pytest.raises(CorruptStructure, match="is damaged"):
        readers[read]()


def test_files_come_in_the_order_asked_and_a_missing_one_is_corruption(
    store: StructureStore, path: Path
) -> None:
    a, b = put(store, A, B)
    assert [row for row, _ in store.files([b, a])] == [b, a]
    change(path, "DELETE FROM file WHERE id = ?", a)
    with pytest.raises(CorruptStore, match="1 listed files are missing"):
        list(store.files([b, a]))


def test_a_listing_is_read_as_it_was_added_and_a_damaged_or_missing_one_never(
    store: StructureStore, path: Path
) -> None:
    bits = Bitmap.of([1, 7, 900])
    listing = store.add_listing(bits)
    assert store.listing(listing) == bits
    change(path, "UPDATE listing SET bits = ? WHERE id = ?", b"\x01" + bits.data[1:], listing)
    with pytest.raises(CorruptStore, match="damaged"):
        store.listing(listing)
    with pytest.raises(CorruptStore, match="missing"):
        store.listing(ListingId(99))


def test_collection_keeps_what_any_kept_listing_holds(store: StructureStore) -> None:
    a, b, copy = put(store, A, B, COPY)
    first = store.add_listing(Bitmap.of([a, b]))
    second = store.add_listing(Bitmap.of([b, copy]))
    store.add_listing(Bitmap.of([copy]))

    assert store.collect([first, second]) == {"listings": 1, "files": 0, "sources": 0}
    assert store.collect([second]) == {"listings": 1, "files": 1, "sources": 0}
    assert store.at_path(Bitmap.of([a]), A.path) is None
    assert len(store.units(version(COPY), copy)) == 3  # its source was a.py's too
    last = store.add_listing(Bitmap.of([copy]))
    assert store.collect([last]) == {"listings": 1, "files": 1, "sources": 1}
    assert store.keys() == {(A.blob, LANGUAGE)}
    assert store.collect([last]) == {"listings": 0, "files": 0, "sources": 0}
    assert store.check() is None


def test_nothing_is_collected_while_a_kept_listing_is_damaged(store: StructureStore, path: Path) -> None:
    a, b = put(store, A, B)
    kept = store.add_listing(Bitmap.of([a]))
    other = store.add_listing(Bitmap.of([b]))
    change(path, "UPDATE listing SET checksum = checksum + 1 WHERE id = ?", kept)
    with pytest.raises(CorruptStore):
        store.collect([kept])
    assert store.listing(other) == Bitmap.of([b])
    assert len(list(store.files([a, b]))) == 2


def test_a_listing_number_is_never_used_again(store: StructureStore) -> None:
    (a,) = put(store, A)
    first = store.add_listing(Bitmap.of([a]))
    second = store.add_listing(Bitmap())
    store.collect([first])
    assert store.add_listing(Bitmap.of([a])) > second


def test_a_file_number_is_never_used_again(store: StructureStore, path: Path) -> None:
    a, b = put(store, A, B)
    kept = store.add_listing(Bitmap.of([a]))
    store.collect([kept])
    store.collect([kept])
    store.close()
    with closing(StructureStore.open(path)) as again:
        (copy,) = put(again, COPY)
        (other,) = put(again, B)
    assert a < b < copy < other


def test_a_store_of_before_file_numbers_were_kept_is_read_and_written(
    store: StructureStore, path: Path
) -> None:
    a, b = put(store, A, B)
    kept = store.add_listing(Bitmap.of([a]))
    store.close()
    change(path, "DELETE FROM _sqlite_migrations WHERE name = 'm003_collected_rows'")
    with closing(sqlite3.connect(path)) as database:
        database.execute("DROP TABLE collected")
    with closing(StructureStore.open(path)) as again:
        assert [file.path for _, file in again.files([a, b])] == [A.path, B.path]
        again.collect([kept])
        assert put(again, COPY)[0] > b


def test_a_reader_sees_what_is_committed_and_creates_nothing(store: StructureStore, path: Path) -> None:
    with closing(StructureStore.open_reader(path)) as reader:
        listing = store.add_listing(Bitmap.of(put(store, A)))
        assert [file.path for _, file in reader.files(reader.listing(listing))] == [A.path]
        with pytest.raises(StoreError):
            reader.add_listing(Bitmap())
    with pytest.raises(StoreError, match="does not exist"):
        StructureStore.open_reader(path.with_name("none.db"))
