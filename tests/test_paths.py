"""Where things lie, by the XDG base directory specification."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from nibd.daemon.paths import Paths, PathsError
from nibd.stores.types import RepositoryId


def _unused_uid() -> int:
    taken = {entry.pw_uid for entry in pwd.getpwall()}
    return next(uid for uid in range(50_000, 60_000) if uid not in taken)


def test_defaults_are_under_the_home_folder() -> None:
    paths = Paths.from_environment({"HOME": "/home/ann"}, 1000)

    assert paths.config_file == Path("/home/ann/.config/nibd/config.toml")
    assert paths.state_dir == Path("/home/ann/.local/state/nibd")
    assert paths.cache_dir == Path("/home/ann/.cache/nibd")
    assert paths.runtime_dir is None


def test_each_variable_moves_its_own_places() -> None:
    paths = Paths.from_environment(
        {
            "HOME": "/home/ann",
            "XDG_CONFIG_HOME": "/c",
            "XDG_STATE_HOME": "/s",
            "XDG_CACHE_HOME": "/k",
            "XDG_RUNTIME_DIR": "/run/user/1000",
        },
        1000,
    )

    assert paths.config_file == Path("/c/nibd/config.toml")
    lasting = (
        paths.registry_file,
        paths.markers_dir,
        paths.hook_records_dir,
        paths.lock_file,
        paths.log_file,
    )
    assert all(path.is_relative_to("/s/nibd") for path in lasting)
    assert len(set(lasting)) == len(lasting)
    assert paths.embeddings_db == Path("/k/nibd/embeddings.db")
    assert paths.repository_dir(RepositoryId("flask-0a1b")) == Path("/k/nibd/repositories/flask-0a1b")
    assert paths.runtime_dir == "/run/user/1000"


@pytest.mark.parametrize("value", ["", "relative", "./x", "~/x"])
def test_an_empty_or_relative_variable_counts_for_nothing(value: str) -> None:
    environment = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"), value)

    expected = Paths.from_environment({"HOME": "/h"}, 7)
    assert Paths.from_environment({"HOME": "/h", **environment}, 7) == expected


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_a_usable_home_variable_the_user_database_decides(home: str) -> None:
    expected = pwd.getpwuid(os.getuid()).pw_dir

    assert Paths.from_environment({"HOME": home}, os.getuid()).home == Path(expected)


def test_without_any_home_folder_it_says_what_to_set() -> None:
    with pytest.raises(PathsError, match="set HOME"):
        Paths.from_environment({}, _unused_uid())


@pytest.mark.parametrize("repository", ["", ".", "..", "a/b", "../x", "a\0b"])
def test_an_id_that_could_leave_the_folder_is_refused(repository: str) -> None:
    with pytest.raises(ValueError, match="not the id"):
        Paths.from_environment({"HOME": "/h"}, 1).repository_dir(RepositoryId(repository))
