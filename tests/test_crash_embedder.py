"""The embedder, killed at work with a real (tiny) model: no text is embedded twice."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from daemon_world import Daemon, configure, running
from tiny_model import make_tiny_model
from trouble_world import events, large
from waiting import wait_until

pytestmark = pytest.mark.dense

FILES = 120


def vectors(daemon: Daemon) -> int:
    database = daemon.cache / "embeddings.db"
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as connection:
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'vector'").fetchone():
            return 0
        return int(connection.execute("SELECT count(*) FROM vector").fetchone()[0])


def test_an_embedder_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    model = make_tiny_model(tmp_path / "model")
    configure(f'[dense]\nmodel = "{model}"\nthreads = 1\n')
    repo = large(tmp_path / "repo", FILES, functions=12)
    with running() as daemon:
        daemon.add(repo.path)
        wait_until(lambda: vectors(daemon) > 0, 60, "the first vectors")
        pid = daemon.pid_of("embedder")
        assert pid
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: events(daemon, "embedding_failed"), what="its death to be seen")
        kept = vectors(daemon)
        status = daemon.published(repo.path, view="dense")
        view = status["views"]["dense"]
        assert (view["state"], view["assurance"]) == ("ready", "exact")
        every = view["coverage"]["of"]
        assert view["coverage"]["done"] == every == vectors(daemon)
        assert 0 < kept < every
        assert sum(event["texts"] for event in events(daemon, "embedded")) == every - kept
        hits = daemon.call("search", path=str(repo.path), query="name value", plan="dense")["hits"]
        assert len(hits) == 10
