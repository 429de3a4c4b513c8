"""Which checkout `nibd remove` means: by its top or its name, and by nothing that is only a part of one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nibd.daemon.commands._failures import CommandError, Exit
from nibd.daemon.commands.remove import _path_of


@pytest.fixture
def tops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """`shop` has folders that are called as it is, and as another checkout is; `gone` is not there."""
    tops = {name: tmp_path / name for name in ("shop", "docs", "gone")}
    for folder in ("shop/shop", "shop/docs", "shop/src", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tops["shop"])
    return tops


@pytest.fixture
def client(tops: dict[str, Path]) -> Any:
    checkouts = [{"path": str(top), "name": name, "checkout": f"id-{name}"} for name, top in tops.items()]
    return SimpleNamespace(call=lambda _: {"checkouts": checkouts})


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        (None, "shop"),
        (".", "shop"),
        ("src/..", "shop"),
        ("shop", "shop"),
        ("id-docs", "docs"),
        ("../docs", "docs"),
        ("../gone", "gone"),
        ("gone", "gone"),
    ],
)
def test_a_checkout_is_meant_by_its_top_or_its_name(
    client: Any, tops: dict[str, Path], argument: str | None, name: str
) -> None:
    assert _path_of(client, argument) == str(tops[name])


@pytest.mark.parametrize("argument", ["src", "docs", "../gone/src", None])
def test_a_part_of_a_checkout_is_refused_with_its_top(
    client: Any, tops: dict[str, Path], argument: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if argument is None:
        monkeypatch.chdir("src")

    with pytest.raises(CommandError, match="give the top of the one to forget") as refused:
        _path_of(client, argument)

    top = tops["gone" if argument == "../gone/src" else "shop"]
    assert f" is in the checkout {top}" in str(refused.value)
    assert refused.value.exit_code is Exit.USAGE
    assert (f"and the name of {tops['docs']}" in str(refused.value)) == (argument == "docs")


def test_what_is_misspelt_is_no_part_of_the_checkout_around(client: Any) -> None:
    with pytest.raises(
        CommandError, match="is not there, and in no registered checkout, and none is called so"
    ):
        _path_of(client, "shoop")
