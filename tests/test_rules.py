"""Rules of what is left out, against `git check-attr` and `git check-ignore` as oracles."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitrepo import Repo
from nibd.repair.git import open_source
from nibd.repair.git.attributes import Attributes, parse_attributes
from nibd.repair.git.ignores import Ignores, parse_ignores
from nibd.repair.git.wildmatch import parse_pattern
from nibd.repair.rules import Rules, rules_scope
from nibd.stores.types import EMPTY_TREE, CommitId, RepoPath, Skip

PATHS = [
    b"a",
    b"b",
    b"!a",
    b"#a",
    b"a b",
    b"ab",
    b"aab.c",
    b"b.c",
    b"]",
    b"a-b",
    b"a\\b",
    b"\xff.c",
    b"d/ab",
    b"d/b.c",
    b"d/a/b",
    b"d/a/b.c",
    b"d/d/a/b",
    b"d/d/d/a.c",
    b"x/a",
    b"x/ab/b",
    b"x/y/a/d/b.c",
    b"xa/y/b",
]
ATTRIBUTES = [b"linguist-generated", b"linguist-vendored", b"binary", b"diff"]

piece = st.sampled_from(
    ["a", "b", "d", "x", "y", ".c", "*", "**", "/", "/**/", "**/", "/**", "?", "[ab]", "[!a]", "[^b/]"]
    + ["[a-c]", "[]a]", "[[:alpha:]]", "[a", "\\a", "\\*", "!", "-", " ", "***", "[[:x:]]", "[a-", "\\"]
)
pattern = st.lists(piece, min_size=1, max_size=6).map("".join)
ignore_line = st.one_of(
    pattern, pattern.map("!{}".format), pattern.map("{}/".format), st.sampled_from(["", "# a", "\\#a", "\\!a", "a\\ b  "])
)
word = st.sampled_from(
    ["linguist-generated", "-linguist-generated", "!linguist-generated", "linguist-generated=false"]
    + ["linguist-vendored", "-linguist-vendored", "linguist-vendored=yes", "binary", "-binary", "!binary"]
    + ["diff", "-diff", "made", "-made", "other", "-bad-=name", "b@d"]
)
attribute_line = st.one_of(
    st.tuples(pattern.filter(lambda text: " " not in text), st.lists(word, max_size=3)).map(
        lambda line: " ".join([line[0], *line[1]])
    ),
    st.tuples(st.sampled_from(["[attr]made", "[attr]other", "[attr]diff", "[attr]b@d"]), st.lists(word, max_size=3)).map(
        lambda line: " ".join([line[0], *line[1]])
    ),
    st.sampled_from(['"a b" binary', '"\\377.c" linguist-vendored', '"a binary', "# x", " d/* binary", "\tb.c made\r"]),
)
FOLDERS = [b"", b"d/", b"d/a/", b"x/"]


@pytest.fixture(scope="module")
def tree_of_paths(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = Repo(tmp_path_factory.mktemp("rules") / "repo")
    for path in PATHS:
        repo.write(path, "x")
    return repo


def _write(repo: Repo, name: bytes, files: dict[bytes, list[str]]) -> dict[bytes, bytes]:
    contents = {folder: "\n".join(lines).encode() + b"\n" for folder, lines in files.items()}
    for folder in FOLDERS:
        repo.file(folder + name).unlink(missing_ok=True)
    for folder, content in contents.items():
        repo.write(folder + name, content)
    return contents


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(FOLDERS), st.lists(ignore_line, max_size=5), min_size=1))
def test_ignores_what_git_check_ignore_names(tree_of_paths: Repo, files: dict[bytes, list[str]]) -> None:
    contents = _write(tree_of_paths, b".gitignore", files)
    said = tree_of_paths.git_bytes(
        "check-ignore", "--no-index", "-z", "--stdin", data=b"\0".join(PATHS), check=False
    )
    ignores = Ignores({folder: parse_ignores(content) for folder, content in contents.items()})
    assert [path for path in PATHS if ignores.ignores(path)] == [path for path in said.split(b"\0") if path]


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(FOLDERS), st.lists(attribute_line, max_size=5), min_size=1))
def test_gives_the_attributes_that_git_check_attr_gives(
    tree_of_paths: Repo, files: dict[bytes, list[str]]
) -> None:
    contents = _write(tree_of_paths, b".gitattributes", files)
    said = tree_of_paths.git_bytes("check-attr", "-z", "--stdin", *ATTRIBUTES, data=b"\0".join(PATHS))
    words = said.split(b"\0")[:-1]
    expected = {(words[at], words[at + 1]): words[at + 2] for at in range(0, len(words), 3)}
    attributes = Attributes(
        {folder: parse_attributes(content) for folder, content in contents.items()}, ATTRIBUTES
    )
    found = {}
    for path in PATHS:
        values = attributes.of(path)
        for name in ATTRIBUTES:
            value = values.get(name)
            text = {True: b"set", False: b"unset", None: b"unspecified"}
            found[path, name] = value if isinstance(value, bytes) else text[value]
    assert found == expected
