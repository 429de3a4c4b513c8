"""A cache that is deleted, damaged, full or on a lesser file system: never a wrong answer, and made anew."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from daemon_world import NO_DENSE, Daemon, configure, running
from gitrepo import Repo
from nibd.hooks import install
from nibd.ipc.messages import ErrorCode, RpcError
from nibd.stores.types import View
from small_disk import fill, small_disk
from trouble_world import REFUSALS, events, names, settled
from views import Views
from waiting import wait_until


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "repo")
    for number in range(20):
        made.write(f"file{number}.py", f"def name_{number}():\n    return 'text {number}'\n")
    made.commit("one")
    return made


def right(daemon: Daemon, repo: Repo) -> bool:
    """Whether every answer is right; none may be wrong meanwhile."""
    found = [names(daemon, repo.path, f"name_{number}") for number in (0, 7, 19)]
    for number, hits in zip((0, 7, 19), found, strict=True):
        assert hits is None or hits[0] == f"name_{number}", (number, hits)
    return None not in found


def verified(daemon: Daemon, repo: Repo) -> bool:
    """Whether what is published equals a rebuild; not so when it is refused as damaged."""
    settled(daemon, repo.path)
    try:
        return bool(daemon.call("verify", path=str(repo.path))["equal"])
    except RpcError as error:
        if error.code not in REFUSALS:
            raise
        return False


def recovers(daemon: Daemon, repo: Repo) -> None:
    """Right answers, from what is equal to a rebuild; until then, refusals that say why."""
    wait_until(lambda: right(daemon, repo), 60, "right answers")
    wait_until(lambda: verified(daemon, repo) and right(daemon, repo), 60, "equality with a rebuild")
    settled(daemon, repo.path)


def test_a_cache_that_is_deleted_while_serving_is_made_anew_by_the_same_daemon(repo: Repo) -> None:
    configure(NO_DENSE)
    with running() as daemon:
        daemon.add(repo.path)
        daemon.published(repo.path)
        assert right(daemon, repo)
        pid = daemon.call("hello")["pid"]
        shutil.rmtree(daemon.cache)
        recovers(daemon, repo)
        repo.write("file0.py", "def moved_on():\n    pass\n")
        repo.commit("two")
        daemon.published(repo.path)
        assert (names(daemon, repo.path, "moved_on") or [])[0] == "moved_on"
        assert daemon.call("hello")["pid"] == pid


def garbage(path: Path) -> None:
    path.write_bytes(b"this is no database" * 500)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def zeroed(path: Path) -> None:
    """Every page but the first is overwritten in place, as a bad disk would."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\0" * (size - 4096))


DATABASES = ("catalog.db", "structure.db", "facts.db")
DAMAGES: dict[str, Callable[[Path], None]] = {
    "deleted": Path.unlink,
    "garbage": garbage,
    "cut": cut,
    "zeroed": zeroed,
}


def checkpointed(folder: Path) -> None:
    """Bring what is in the logs into the databases, so that the damage is to what counts."""
    for name in DATABASES:
        with sqlite3.connect(folder / name) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()


@pytest.mark.parametrize("name", DATABASES)
def test_a_damaged_store_is_made_anew(daemon: Daemon, repo: Repo, name: str) -> None:
    added = daemon.add(repo.path)
    daemon.published(repo.path)
    folder = daemon.cache / "repositories" / added["repository"]
    for damage in DAMAGES.values():
        checkpointed(folder)
        damage(folder / name)
        recovers(daemon, repo)


@pytest.mark.parametrize("suffix", [".term", ".store", ".idx", "generation.json"])
def test_a_damaged_lexical_generation_is_made_anew(repo: Repo, suffix: str) -> None:
    """Damaged while nobody has it open: to cut a file that is mapped ends the process that mapped it."""
    configure(NO_DENSE)
    with running() as daemon:
        added = daemon.add(repo.path)
        daemon.published(repo.path)
        daemon.stop()
        folder = daemon.cache / "repositories" / added["repository"] / "lexical"
        damaged = [path for path in folder.rglob(f"*{suffix}") if path.stat().st_size]
        assert damaged
        cut(damaged[0])
        daemon.start()
        recovers(daemon, repo)


@pytest.mark.parametrize("number", [errno.EXDEV, errno.EPERM, errno.EMLINK])
def test_a_file_system_without_hard_links_has_files_copied(
    tmp_path: Path, repo: Repo, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    asked = []

    def refused(*paths: object, **_: object) -> None:
        asked.append(paths)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refused)
    views = Views(tmp_path / "views", repo)
    views.repair()
    repo.write("file3.py", "def changed():\n    return 'text'\n")
    repo.commit("two")
    made = views.repair()
    assert asked
    assert made.snapshot.views[View.LEXICAL].work["documents_added"] < 5
    assert views.differences() == []
    views.close()


def test_a_full_disk_fails_the_repair_with_its_reason_and_is_no_more_once_there_is_room(repo: Repo) -> None:
    configure(NO_DENSE)
    cache = Path(os.environ["XDG_CACHE_HOME"])
    with small_disk(cache, "24m"), running() as daemon:
        daemon.add(repo.path)
        daemon.published(repo.path)
        first = repo.head()
        filler = fill(cache)
        repo.write("new.py", "def fresh():\n    pass\n")
        repo.commit("two")

        def failed() -> bool:
            error = daemon.call("status", path=str(repo.path))["error"] or ""
            return "no space" in error.lower() or "full" in error

        wait_until(failed, 60, "the failure to be told")
        answer = daemon.call("search", path=str(repo.path), query="name_7")
        assert answer["snapshot"]["commit"] == first
        assert answer["hits"][0]["name"] == "name_7"
        used = answer["views"]["lexical"]
        assert used["lag"]["commits"] == 1
        assert "no space" in used["reason"].lower() or "full" in used["reason"]
        filler.unlink()
        settled(daemon, repo.path)
        assert daemon.call("symbols", path=str(repo.path), name="fresh")["hits"]
        recovers(daemon, repo)


def test_a_full_disk_under_state_stops_neither_git_nor_the_daemon(repo: Repo) -> None:
    configure(NO_DENSE)
    state = Path(os.environ["XDG_STATE_HOME"])
    with small_disk(state, "1m"), running() as daemon:
        added = daemon.add(repo.path)
        daemon.published(repo.path)
        install(repo.path, Path(added["marker"]), state / "nibd" / "hooks")
        fill(state)
        repo.write("file0.py", "def moved_on():\n    pass\n")
        done = subprocess.run(
            ["git", "commit", "-qam", "two"], cwd=repo.path, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert settled(daemon, repo.path)["snapshot"]["commit"] == repo.head()
        assert (names(daemon, repo.path, "moved_on") or [])[0] == "moved_on"
        with pytest.raises(RpcError, match=r"cannot be written: No space left .*; make room") as refused:
            daemon.call("repository.remove", path=str(repo.path))
        assert refused.value.code == ErrorCode.NOT_STORED
        settled(daemon, repo.path)


def lost_row(folder: Path) -> None:
    """SQLite takes it for good, and no checksum is left to tell of it."""
    with sqlite3.connect(folder / "structure.db") as database:
        database.execute("DELETE FROM unit WHERE name = 'name_7'")
    database.close()


def flipped(folder: Path) -> None:
    """A bit of postings, where neither a size nor a structure tells of it."""
    path = next(path for path in sorted(folder.rglob("*.store")) if path.stat().st_size > 200)
    data = bytearray(path.read_bytes())
    data[60] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [lost_row, flipped])
def test_what_only_verify_can_find_is_made_anew(repo: Repo, damage: Callable[[Path], None]) -> None:
    configure(NO_DENSE)
    with running() as daemon:
        added = daemon.add(repo.path)
        daemon.published(repo.path)
        daemon.stop()
        damage(daemon.cache / "repositories" / added["repository"])
        daemon.start()
        assert not verified(daemon, repo)
        wait_until(lambda: verified(daemon, repo), 60, "equality with a rebuild")
        assert right(daemon, repo)


def test_a_search_that_meets_a_damaged_row_is_refused_and_all_is_made_anew(
    daemon: Daemon, repo: Repo
) -> None:
    """The lexical view alone would not do: definitions that a query names are looked up in structure.db."""
    damage = "UPDATE unit SET qualified = 'other' WHERE name = 'name_7'"
    added = daemon.add(repo.path)
    daemon.published(repo.path)
    structure = daemon.cache / "repositories" / added["repository"] / "structure.db"
    with closing(sqlite3.connect(structure)) as database:
        assert database.execute(damage).rowcount
        database.commit()
    assert names(daemon, repo.path, "name_7") is None
    recovers(daemon, repo)


def test_a_collection_that_meets_a_damaged_snapshot_goes_on_names_it_and_has_it_made_again(
    daemon: Daemon, repo: Repo, tmp_path: Path
) -> None:
    added = daemon.add(repo.path)
    daemon.published(repo.path)
    wait_until(lambda: events(daemon, "job_done", job="collect"), what="the first collection")
    structure = daemon.cache / "repositories" / added["repository"] / "structure.db"
    with closing(sqlite3.connect(structure)) as database:
        database.execute("UPDATE listing SET checksum = checksum + 1")
        database.commit()
    repo.git("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other")
    daemon.add(tmp_path / "linked")  # publishes, and what was published before is collected
    daemon.published(tmp_path / "linked")
    wait_until(lambda: events(daemon, "snapshot_damaged"), what="the damage to be named")
    (event,) = events(daemon, "snapshot_damaged")
    assert event["repository"] == added["repository"]
    assert "is damaged" in event["reason"]
    recovers(daemon, repo)
    assert not events(daemon, "job_failed")
