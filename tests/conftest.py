"""Every test runs in a home of its own: no user's configuration, no user's daemon, fixed dates."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from hypothesis import settings

from daemon_world import Daemon, isolated, running_at_home
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
    """Point HOME, the XDG folders and Git's configuration at an empty folder; return it."""
    home = tmp_path_factory.mktemp("home")
    with tempfile.TemporaryDirectory(prefix="nibd-") as runtime:
        for variable, value in isolated(home, Path(runtime)).items():
            if value is None:
                monkeypatch.delenv(variable, raising=False)
            else:
                monkeypatch.setenv(variable, value)
        yield home


@pytest.fixture(scope="session")
def shared_daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Daemon]]:
    """The one that runs; where it ended, another, in a new home."""
    started: list[Daemon] = []
    with ExitStack() as stack:

        def living() -> Daemon:
            if not started or started[-1].ended():
                home = tmp_path_factory.mktemp("shared")
                started.append(stack.enter_context(running_at_home(home)))
            return started[-1]

        yield living


@pytest.fixture
def daemon(shared_daemon: Callable[[], Daemon], request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """A daemon that runs, without a dense view and relations, and that other tests had and will have: who
    changes its settings, ends it or counts what it did since its start has one of their own."""
    shared = shared_daemon()
    yield shared
    if how := shared.ended():
        pytest.fail(f"{request.node.nodeid} ended the daemon that tests share: {how}", pytrace=False)
    shared.forget()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a file in one commit; a module that needs another has a fixture of its own."""
    made = Repo(tmp_path / "repo")
    made.write("a.py", "def alpha():\n    return 'first'\n")
    made.commit("one")
    return made
