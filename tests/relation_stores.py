"""A relations.db of a test's own, some relations to put into it, and what it holds."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from made_relations import PYTHON, external, relations, target
from nibd.stores.bitmap import Bitmap
from nibd.stores.relation_types import FileRelations
from nibd.stores.relations import RelationStore, ResolutionId
from nibd.stores.types import (
    ProfileId,
    TreeId,
)

PROFILE = ProfileId("profile")
ONE, TWO = TreeId("1" * 40), TreeId("2" * 40)
JOB = target(b"job.py", "Job.run", "run")
JOB_TIMES = target(b"job.py", "Job.run", "times", nth=1)
OTHER_JOB = target(b"job.py", "Job.run", "run", ordinal=1)
PRINT = external("stdlib", b"builtins.pyi", "print")
CALLER = relations(b"caller.py", ("run", [JOB]), ("print", [PRINT]), ("x", []), ("lost", None))
BOTH = relations(b"both.py", ("run", [JOB, OTHER_JOB]), ("times", [JOB_TIMES]))
OUTSIDE = relations(b"outside.py", ("print", [PRINT]))
TABLES = ("record", "file", "mention", "naming", "resolution", "stage")

_UNKNOWN = "SELECT path, digest, unanswered, unbuilt FROM unknown LEFT JOIN record ON id = record"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "relations.db"


@pytest.fixture
def store(path: Path) -> Iterator[RelationStore]:
    with closing(RelationStore.open(path)) as opened:
        yield opened


@contextmanager
def any_store() -> Iterator[RelationStore]:
    """One for an example of hypothesis."""
    with tempfile.TemporaryDirectory() as folder, closing(RelationStore.open(Path(folder) / "r.db")) as made:
        yield made


def change(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as database:
        assert database.execute(sql, values).rowcount > 0
        database.commit()


def rows(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as database:
        return {table: database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}


def content(path: Path) -> dict[str, set[object]]:
    """What the store holds, whatever numbers it has given."""
    with closing(sqlite3.connect(path)) as database:
        file = "LEFT JOIN file f ON f.id = file"
        columns = "target_file, target_unit, target_name, path"
        return {
            "record": set(database.execute("SELECT path, digest FROM record")),
            "file": set(database.execute("SELECT path FROM file")),
            "mention": set(database.execute(f"SELECT {columns} FROM mention {file}")),
            "naming": set(database.execute(f"SELECT name, path FROM naming {file}")),
            "unknown": set(database.execute(_UNKNOWN)),
        }


def resolved(store: RelationStore, tree: TreeId, *files: FileRelations) -> ResolutionId:
    return store.add_resolution(PYTHON, tree, PROFILE, Bitmap.of(store.add(files)))


def assert_sound(path: Path) -> None:
    """Every record can be read, and the rest says what the records say and nothing else."""
    with closing(RelationStore.open(path)) as store:
        assert store.check() is None
        with closing(sqlite3.connect(path)) as database:
            ids = [row[0] for row in database.execute("SELECT id FROM record")]
        files = [file for _, file in store.records(ids)]
        found = content(path)
    with any_store() as alone:
        alone.add(files)
        assert content(alone._db.path) == found
