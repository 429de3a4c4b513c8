"""Every test runs in a home of its own: no user's configuration, no user's daemon, fixed dates."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from daemon_world import NOT_INHERITED, Daemon, git_variables, running_at_home
from gitrepo import Repo
from nibd.repair.embedding_profile import missing_dense

# Hundreds of processes are started: where no bytecode is kept, as in many containers, each would compile all
# that it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# An example that takes long says how busy the machine is.
settings.register_profile("nibd", deadline=None)
settings.load_profile("nibd")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-goldens", action="store_true", help="rewrite expected listings; read the difference by eye"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the dense extra where that is missing. Found out without importing torch, which would
    take every worker 7 s."""
    lacking = missing_dense()
    if lacking:
        for item in items:
            if item.get_closest_marker("dense"):
                item.add_marker(pytest.mark.skip(reason=lacking))


@pytest.fixture(autouse=True)
def isolated_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """Point HOME, the XDG folders and Git's configuration at an empty folder; return it.

    The runtime folder is short and apart, since a Unix socket's path may not exceed 107 bytes.
    """
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for variable, folder in {
        "XDG_CONFIG_HOME": "config",
        "XDG_STATE_HOME": "state",
        "XDG_CACHE_HOME": "cache",
        "XDG_DATA_HOME": "data",
    }.items():
        (home / folder).mkdir()
        monkeypatch.setenv(variable, str(home / folder))
    for variable, value in git_variables(home).items():
        monkeypatch.setenv(variable, value)
    for variable in NOT_INHERITED:
        monkeypatch.delenv(variable, raising=False)
    with tempfile.TemporaryDirectory(prefix="nibd-") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        yield home


@pytest.fixture(scope="session")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with running_at_home(tmp_path_factory.mktemp("shared")) as started:
        yield started


@pytest.fixture
def daemon(shared_daemon: Daemon) -> Iterator[Daemon]:
    """A daemon that runs, without a dense view and relations, and that other tests had and will have: who
    changes its settings, ends it or counts what it did since its start has one of their own."""
    yield shared_daemon
    shared_daemon.forget()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a file in one commit; a module that needs another has a fixture of its own."""
    made = Repo(tmp_path / "repo")
    made.write("a.py", "def alpha():\n    return 'first'\n")
    made.commit("one")
    return made
