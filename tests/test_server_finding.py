"""Finding servers and counting characters: what is known before a server runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_servers import Project
from nibd.daemon.doctor import Verdict, check_relations
from nibd.daemon.relations.installed import have_changed, stamps
from nibd.daemon.relations.server_places import ServerPlaces
from nibd.daemon.settings import RelationsSettings, parse
from nibd.repair.languages import CODE_LANGUAGES
from nibd.repair.servers import (
    DRIVERS,
    Installed,
    Lines,
    Missing,
    Options,
    Search,
    driver_of,
    driver_of_family,
    path_of_uri,
)
from nibd.repair.servers.locations import Uris
from nibd.stores.types import RepoPath


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_every_language_of_the_first_rank_has_one_driver() -> None:
    with_driver = {language for language in CODE_LANGUAGES if driver_of(language)}
    assert with_driver == {"python", "typescript", "tsx", "javascript", "go", "rust", "c", "cpp"}
    assert sum(len(driver.languages) for driver in DRIVERS) == len(with_driver)
    assert all(driver.guards for driver in DRIVERS)


def test_a_missing_server_comes_with_the_command_that_brings_it(tmp_path: Path) -> None:
    found = driver_of_family("python").find(Search(str(tmp_path)))
    assert found == Missing("ty is not installed", "pip install ty")


def test_a_server_that_does_not_run_is_told_from_one_that_is_not_there(tmp_path: Path) -> None:
    broken = program(tmp_path / "a", "ty", "exit 1")
    find = driver_of_family("python").find
    assert find(Search(str(tmp_path / "a"))) == Missing(f"{broken} does not run", "pip install ty")
    working = program(tmp_path / "b", "ty", "echo ty 9.9")
    assert find(Search(f"{tmp_path}/a:{tmp_path}/b")) == Installed(working, "ty 9.9")
    preferred = program(tmp_path / "c", "ty", "echo ty 8.8")
    assert find(Search(f"{tmp_path}/b", (tmp_path / "c",))) == Installed(preferred, "ty 8.8")


def test_a_new_version_at_the_same_place_is_seen(tmp_path: Path) -> None:
    find = driver_of_family("python").find
    program(tmp_path, "ty", "echo ty 1")
    assert find(Search(str(tmp_path))) == Installed(tmp_path / "ty", "ty 1")
    program(tmp_path, "ty", "echo ty 2.0")
    assert find(Search(str(tmp_path))) == Installed(tmp_path / "ty", "ty 2.0")


def test_an_older_typescript_is_named(tmp_path: Path) -> None:
    program(tmp_path, "tsc", "echo Version 5.4.2")
    found = driver_of_family("javascript").find(Search(str(tmp_path)))
    assert isinstance(found, Missing)
    assert "older than TypeScript 7" in found.reason
    assert found.install.endswith("typescript@7")


def rustup(folder: Path, toolchains: Path) -> Path:
    """Where its proxies are, which find what is in `toolchains` by RUSTUP_HOME alone."""
    for name in ("rustc", "cargo", "rust-analyzer"):
        program(toolchains / "stable" / "bin", name, f"echo {name} 1.0")
    told = f'[ "$RUSTUP_HOME" = {toolchains} ] || exit 1\n'
    program(folder, "rustup", told + '[ "$1" = --print ] && echo $RUSTUP_HOME/stable || echo 1.0')
    for name in ("rustc", "cargo", "rust-analyzer"):
        (folder / name).symlink_to(folder / "rustup")
    return folder


def test_toolchains_are_found_where_rustup_keeps_them(tmp_path: Path) -> None:
    find, toolchains = driver_of_family("rust").find, tmp_path / "toolchains"
    proxies = rustup(tmp_path / "bin", toolchains)
    found = find(Search(str(proxies), home=tmp_path, rustup_home=toolchains))
    assert isinstance(found, Installed)
    own = toolchains / "stable" / "bin"
    assert found.program == own / "rust-analyzer"  # a proxy has no home once the server runs
    assert found.tools == {"rustc": own / "rustc", "cargo": own / "cargo"}
    settings, environment = parse(b"", "config.toml"), {"PATH": str(proxies), "RUSTUP_HOME": str(toolchains)}
    (told,) = (each for each in check_relations(settings, environment) if each.name == "relations rust")
    assert told.verdict is Verdict.OK


def test_another_toolchain_of_rustup_is_seen_at_once(tmp_path: Path) -> None:
    """Nothing of the proxies changes when rustup is told to use another."""
    home = tmp_path / "rustup"
    places = ServerPlaces.of(
        RelationsSettings(), {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path), "RUSTUP_HOME": str(home)}
    )
    for toolchain in ("stable", "nightly"):
        for name in ("rustc", "cargo", "rust-analyzer"):
            program(home / "toolchains" / toolchain / "bin", name, f"echo {name} of {toolchain}")
    for name in ("rustc", "rust-analyzer"):
        says = "echo $RUSTUP_HOME/toolchains/$(cat $RUSTUP_HOME/settings.toml)"
        program(tmp_path / "bin", "rustup", f'[ "$1" = --print ] && {says} || echo 1.0')
        (tmp_path / "bin" / name).symlink_to(tmp_path / "bin" / "rustup")
    seen = []
    for toolchain in ("stable", "nightly"):
        before = stamps(places.watched())
        (home / "settings.toml").write_text(toolchain)
        assert have_changed(before)
        found = driver_of_family("rust").find(places.search())
        assert isinstance(found, Installed)
        seen.append((found.program, found.identity))
    assert seen == [
        (
            home / "toolchains" / toolchain / "bin" / "rust-analyzer",
            f"rust-analyzer of {toolchain}; cargo cargo of {toolchain}; rustc rustc of {toolchain}",
        )
        for toolchain in ("stable", "nightly")
    ]


def test_a_toolchain_that_is_missing_comes_with_a_command(tmp_path: Path) -> None:
    find = driver_of_family("rust").find
    program(tmp_path / "bin", "rust-analyzer", "echo 1.0")
    found = find(Search(str(tmp_path / "bin")))
    assert isinstance(found, Missing)
    assert found.advice == "install it with: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh"
    program(tmp_path / "bin", "rustc", "exit 1")
    found = find(Search(str(tmp_path / "bin")))
    assert isinstance(found, Missing)
    assert f"{tmp_path / 'bin' / 'rustc'} knows no toolchain that works" in found.reason


def test_of_go_it_is_said_where_it_is_to_be_had(tmp_path: Path) -> None:
    program(tmp_path, "gopls", "echo gopls 1")
    found = driver_of_family("go").find(Search(str(tmp_path)))
    assert isinstance(found, Missing)
    assert f"{found.reason}; {found.advice}".endswith("not installed; see https://go.dev/dl")


def test_a_version_is_asked_outside_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Version managers look from the working folder upwards for what a repository wants."""
    monkeypatch.chdir(tmp_path)
    program(tmp_path / "bin", "ty", 'echo "ty in $PWD"')
    found = driver_of_family("python").find(Search(str(tmp_path / "bin")))
    assert isinstance(found, Installed)
    assert found.version == "ty in /"


def test_a_compilation_database_is_made_where_there_is_none(tmp_path: Path) -> None:
    driver = driver_of_family("c")
    (tmp_path / "tree").mkdir()
    installed, options = Installed(Path("/opt/clangd"), ""), Options(cache=tmp_path / "cache")
    assert driver.launch(installed, tmp_path / "tree", options).limits != ()
    (tmp_path / "tree" / "compile_commands.json").write_text("[]")
    assert driver.launch(installed, tmp_path / "tree", options).limits == ()


def test_a_module_that_is_not_here_does_not_hide_the_others(tmp_path: Path) -> None:
    files = {
        "go.mod": "module example.org/app\n\ngo 1.15\n\nrequire example.org/absent v1.0.0\n",
        "app.go": 'package app\n\nimport "example.org/absent"\n\nvar x = absent.Y\n\nvar y = greet()\n',
        "lib.go": "package app\n\nfunc greet() int { return 1 }\n",
    }
    with Project(tmp_path, "go", files) as project:
        assert project.ask("app.go", "greet") == {("lib.go", 2, "greet")}
        assert project.ask("app.go", "Y") == set()
        assert any("example.org/absent" in limit for limit in project.server.limits)
        assert (project.root / "go.mod").read_text() == files["go.mod"]

        project.write("go.mod", "module example.org/app\n\ngo 1.15\n")
        project.tell(modified="go.mod")
        assert project.server.must_restart()


TEXTS = st.text(st.sampled_from("a\n\r\té🙂́ \u2028"), max_size=40)


@given(TEXTS, st.sampled_from([("\n",), ("\n", "\r")]))
def test_offsets_and_positions_are_each_others_inverse(text: str, ends: tuple[str, ...]) -> None:
    content = text.encode()
    for encoding, unit in (("utf-8", "utf-8"), ("utf-16", "utf-16-le")):
        lines = Lines(content, encoding, ends)
        for index in range(len(text) + 1):
            offset = len(text[:index].encode())
            line, character = lines.position(offset)
            assert lines.offset(line, character) == offset
            before = text[:index]
            kept = before.replace("\r\n", "\n")
            if "\r" in ends and text[index - 1 : index + 1] != "\r\n":
                kept = kept.replace("\r", "\n")
                assert line == kept.count("\n")
                tail = kept.rpartition("\n")[2]
                assert character == len(tail.encode(unit)) // (2 if encoding == "utf-16" else 1)
            elif "\r" not in ends:
                assert line == before.count("\n")


def test_a_position_beyond_a_lines_end_is_that_end() -> None:
    lines = Lines("aé\nb".encode(), "utf-16")
    assert lines.offset(0, 99) == 4
    assert lines.offset(1, 99) == 5
    assert lines.offset(9, 0) == 5


def test_uris_lead_back_to_the_paths_they_were_made_of() -> None:
    uris = Uris(Path("/tree"))
    for path in (b"a.py", b"a b/%41#?.py", b"\xff\xfe.c", "ü/é.go".encode()):
        assert uris.path(uris.of(RepoPath(path))) == path
    assert uris.path("file:///tree/x/../../etc/passwd") is None
    assert uris.path("file:///treehouse/a.py") is None
    assert uris.path("bundled:///libs/lib.es5.d.ts") is None
    assert path_of_uri("file:///a%20b/c") == b"/a b/c"


def test_locations_links_and_repeats_are_read() -> None:
    uris = Uris(Path("/tree"))
    span = {"start": {"line": 1, "character": 2}, "end": {"line": 1, "character": 5}}
    whole = {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}}
    plain = {"uri": "file:///tree/a.py", "range": span}
    link = {"targetUri": "file:///tree/a.py", "targetRange": whole, "targetSelectionRange": span}
    one = uris.locations(plain)
    assert uris.locations([plain, link]) == one
    assert isinstance(one, tuple)
    assert (one[0].path, one[0].start_line, one[0].end_character) == (b"a.py", 1, 5)
    assert uris.locations(None) == () == uris.locations([])
