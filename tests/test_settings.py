"""Reading the user's settings and a repository's, and that the second only narrows the first."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nibd.daemon.repository_settings import (
    MAX_PROBLEMS,
    RepositorySettings,
    effective,
    parse_repository,
    refused,
)
from nibd.daemon.settings import (
    MAX_FILE_BYTES,
    RULES,
    SECTIONS,
    DenseSettings,
    IndexSettings,
    Narrowing,
    Settings,
    SettingsError,
    Value,
    allowed,
    load,
    parse,
)

DOCUMENT = Path(__file__).parent.parent / "docs" / "settings.md"


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(tmp_path / "config.toml")

    assert settings == Settings()
    assert settings.index.max_file_bytes == 1024 * 1024
    assert settings.dense.model == "all-MiniLM-L6-v2"
    assert not settings.dense.allow_download


def test_what_the_file_sets_is_taken_and_the_rest_stays(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text(
        '[index]\nmax_file_bytes = 2048\nignore = ["*.min.js", "!keep.js"]\n'
        '[dense]\nenabled = false\nmodel = "/models/mine"\n'
    )

    assert load(file) == Settings(
        index=IndexSettings(max_file_bytes=2048, ignore=("*.min.js", "!keep.js")),
        dense=DenseSettings(enabled=False, model="/models/mine"),
    )


@pytest.mark.parametrize(
    ("text", "key", "found", "says"),
    [
        ("[index]\nmax_file_byte = 1", "index.max_file_byte", "unknown key", "max_file_bytes"),
        ("[indexes]\n", "indexes", "unknown section", "[index], [dense], [relations], [context], [daemon]"),
        ("index = 3", "index", "3", "[index]"),
        ("[index]\nmax_file_bytes = true", "index.max_file_bytes", "True", "from 1024 to"),
        ("[index]\nmax_file_bytes = 1.5", "index.max_file_bytes", "1.5", "whole number"),
        ("[index]\nmax_file_bytes = 10", "index.max_file_bytes", "10", "from 1024 to"),
        ('[index]\ngenerated = "drop"', "index.generated", "drop", '"skip" or "index"'),
        ('[index]\nignore = "*.js"', "index.ignore", "*.js", "patterns"),
        ('[index]\nignore = ["a\\nb"]', "index.ignore", "a\\nb", "one line"),
        ("[index]\nignore = [1]", "index.ignore", "[1]", "patterns"),
        ("[dense]\nenabled = 1", "dense.enabled", "1", "true or false"),
        ('[dense]\nmodel = "./mine"', "dense.model", "./mine", "absolute path"),
        ('[dense]\nmodel = ""', "dense.model", "''", "a name"),
        ('[daemon]\nlog_level = "loud"', "daemon.log_level", "loud", '"debug" or "info"'),
        ("[daemon]\ncompare_interval_s = 1979-05-27", "daemon.compare_interval_s", "1979", "whole number"),
    ],
)
def test_a_mistake_names_file_key_what_was_found_and_what_is_allowed(
    text: str, key: str, found: str, says: str
) -> None:
    with pytest.raises(SettingsError) as mistake:
        parse(text.encode(), "/home/ann/config.toml")

    assert (mistake.value.file, mistake.value.key) == ("/home/ann/config.toml", key)
    assert found in mistake.value.found
    assert says in mistake.value.allowed
    assert str(mistake.value).startswith(f"/home/ann/config.toml: {key}: found ")


@pytest.mark.parametrize(
    "data",
    [
        b"[index\n",
        b"\xff\xfe",
        b"[index]\nworkers = 1\nworkers = 2\n",
        b"x = " + b"[" * 20_000,
        b"[index]\nworkers = " + b"9" * 5000,
        b"#" * (MAX_FILE_BYTES + 1),
    ],
    ids=["not TOML", "not UTF-8", "twice", "nested", "long number", "too large"],
)
def test_a_file_that_cannot_be_read_as_a_whole_is_an_error_that_names_it(data: bytes) -> None:
    with pytest.raises(SettingsError) as mistake:
        parse(data, "c.toml")

    assert mistake.value.key == ""
    assert str(mistake.value).startswith("c.toml: found ")


def test_a_folder_in_the_files_place_is_an_error_not_a_default(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="readable file"):
        load(tmp_path)


def test_a_byte_order_mark_is_no_mistake() -> None:
    assert parse(b"\xef\xbb\xbf[index]\nworkers = 2\n", "c.toml").index.workers == 2


def test_a_repository_narrows() -> None:
    user = parse(b'[index]\ngenerated = "index"\nvendored = "index"\nignore = ["*.log"]\n', "c.toml")
    repository = parse_repository(
        b'[index]\nmax_file_bytes = 4096\ngenerated = "skip"\nignore = ["data/", "!a.log"]\n'
        b"[dense]\nenabled = false\n"
    )

    narrowed = effective(user, repository)

    assert narrowed.index == IndexSettings(
        max_file_bytes=4096,
        generated="skip",
        vendored="index",
        ignore=("data/", "!a.log", "*.log"),
    )
    assert not narrowed.dense.enabled
    assert refused(user, repository) == ()


def test_what_a_repository_may_not_widen_stays_and_is_said() -> None:
    user = parse(b"[index]\nmax_file_bytes = 2048\n[dense]\nenabled = false\n", "c.toml")
    repository = parse_repository(
        b'[index]\nmax_file_bytes = 999999\nvendored = "index"\n[dense]\nenabled = true\n'
    )

    assert effective(user, repository) == user
    said = refused(user, repository)
    assert [sentence.split("; ")[0] for sentence in said] == [
        ".nibd.toml: index.max_file_bytes = 999999 would widen the user's 2048",
        '.nibd.toml: index.vendored = "index" would widen the user\'s "skip"',
        ".nibd.toml: dense.enabled = true would widen the user's false",
    ]
    assert all("set it in your own config.toml" in sentence for sentence in said)


@pytest.mark.parametrize("key", [key for key, rule in RULES.items() if rule.repository is Narrowing.NOTHING])
def test_what_only_a_user_may_set_is_refused_to_a_repository_and_the_rest_is_granted(key: str) -> None:
    chosen, name = key.split(".")
    default = Settings().get(key)
    value = f'"{default}"' if isinstance(default, str) else str(default).lower()
    tables = dict.fromkeys(SECTIONS, "")
    tables |= {"index": "max_file_bytes = 4096\n", "dense": "enabled = false\n"}
    tables[chosen] += f"{name} = {value}\n"
    text = "".join(f"[{each}]\n{keys}" for each, keys in tables.items())

    repository = parse_repository(text.encode())

    (problem,) = repository.problems
    assert f".nibd.toml: {key} = {value}: only the user's own file sets this" in problem
    assert "take it out" in problem
    narrowed = effective(Settings(), repository)
    assert narrowed == Settings(index=IndexSettings(max_file_bytes=4096), dense=DenseSettings(enabled=False))


def test_every_mistake_of_a_repository_is_named_and_what_is_right_beside_it_is_granted() -> None:
    repository = parse_repository(
        b'[index]\nmax_file_byte = 1\nmax_file_bytes = 10\ngenerated = "skip"\nignore = ["data/"]\n'
        b'[dense]\nmodel = "/opt/evil"\nenabled = false\n[hooks]\nrun = "/bin/sh"\n'
    )

    assert dict(repository.asked) == {
        "index.generated": "skip",
        "index.ignore": ("data/",),
        "dense.enabled": False,
    }
    assert [problem.split(":")[1].split(" =")[0].strip() for problem in repository.problems] == [
        "index.max_file_byte",
        "index.max_file_bytes",
        "dense.model",
        "hooks",
    ]
    assert all("take it out" in problem for problem in repository.problems)


@pytest.mark.parametrize("data", [b"[index\n", b"\xff", b"#" * (MAX_FILE_BYTES + 1)])
def test_a_repository_file_that_cannot_be_read_as_a_whole_asks_for_nothing_and_is_named(data: bytes) -> None:
    repository = parse_repository(data)

    assert repository.asked == ()
    (problem,) = repository.problems
    assert problem.startswith(".nibd.toml: found ")


def test_thousands_of_mistakes_are_told_in_few_words() -> None:
    names = "".join(f"{'k' * 200}{number} = {number}\n" for number in range(200))

    problems = parse_repository(f"[index]\n{names}".encode()).problems

    assert len(problems) == MAX_PROBLEMS + 1
    assert problems[-1] == ".nibd.toml: 180 more keys are not honoured"
    assert max(map(len, problems)) < 400


def _values(key: str) -> st.SearchStrategy[Value]:
    rule, default = RULES[key], Settings().get(key)
    if rule.choices:
        return st.sampled_from(rule.choices)
    if isinstance(default, bool):
        return st.booleans()
    if isinstance(default, int):
        return st.integers(rule.minimum, rule.maximum)
    return st.lists(st.sampled_from(["*.js", "!a", "data/"]), max_size=3).map(tuple)


NARROWABLE = [key for key, rule in RULES.items() if rule.repository is not Narrowing.NOTHING]
ASKED = st.fixed_dictionaries({}, optional={key: _values(key) for key in NARROWABLE})


@given(ASKED, ASKED)
def test_no_repository_widens_whatever_it_asks(
    of_user: dict[str, Value], of_repository: dict[str, Value]
) -> None:
    everything = parse(b'[index]\ngenerated = "index"\nvendored = "index"\nmax_file_bytes = 67108864\n', "c")
    user = effective(everything, RepositorySettings(tuple(of_user.items())))

    result = effective(user, RepositorySettings(tuple(of_repository.items())))

    assert result.index.max_file_bytes <= user.index.max_file_bytes
    assert result.index.ignore[len(result.index.ignore) - len(user.index.ignore) :] == user.index.ignore
    assert user.dense.enabled or not result.dense.enabled
    for treatment in ("generated", "vendored"):
        assert getattr(user.index, treatment) == "index" or getattr(result.index, treatment) == "skip"
    assert result.daemon == user.daemon
    assert effective(result, RepositorySettings(())) == result


def test_the_document_has_a_row_for_each_setting_as_it_is_declared() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (.*) \|$", DOCUMENT.read_text(), re.MULTILINE)
    expected = [
        (
            key.split(".")[1],
            " | ".join([f"`{_toml(Settings().get(key))}`", allowed(key), rule.repository.value, rule.about]),
        )
        for key, rule in RULES.items()
    ]

    assert rows == expected


def test_the_documents_examples_are_read() -> None:
    user, repository = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)

    assert parse(user.encode(), "example") != Settings()
    assert parse_repository(repository.encode()).asked


def _toml(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else "[]" if value == () else str(value)
