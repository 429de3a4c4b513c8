"""Rules of what is left out, against `git check-attr` and `git check-ignore` as oracles."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitrepo import Repo
from nibd.repair.git import ChangeSet, open_source, pattern_list
from nibd.repair.git.attributes import Attributes, parse_attributes
from nibd.repair.git.ignores import Ignores, parse_ignores
from nibd.repair.git.wildmatch import PathPattern
from nibd.repair.rules import MAX_GENERAL, MAX_NOTES, MAX_RULE_FILE_BYTES, Flaw, Rules, rules_scope
from nibd.stores.types import RepoPath, Skip, TreeId

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

PIECES = (
    "a|b|d|x|y|.c|*|**|***|/|/**/|**/|/**|?|"
    "[ab]|[!a]|[^b/]|[a-c]|[]a]|[[:alpha:]]|[[:x:]]|[a|[a-|\\|\\a|\\*|!|-| "
)
WORDS = (
    "linguist-generated -linguist-generated !linguist-generated linguist-generated=false "
    "linguist-vendored -linguist-vendored linguist-vendored=yes binary -binary !binary "
    "diff -diff made -made other -bad-=name b@d"
)
MACROS = "[attr]made [attr]other [attr]diff [attr]b@d"
pattern = st.lists(st.sampled_from(PIECES.split("|")), min_size=1, max_size=6).map("".join)
ignore_line = st.one_of(
    pattern,
    pattern.map("!{}".format),
    pattern.map("{}/".format),
    st.sampled_from(["", "# a", "\\#a", "\\!a", "a\\ b  ", "a\r"]),
)
words = st.lists(st.sampled_from(WORDS.split()), max_size=3).map(" ".join)
attribute_line = st.one_of(
    st.tuples(pattern.filter(lambda text: " " not in text), words).map(" ".join),
    st.tuples(st.sampled_from(MACROS.split()), words).map(" ".join),
    st.sampled_from(
        ['"a b" binary', '"\\377.c" linguist-vendored', '"a binary', "# x", " d/* binary", "\tb.c made\r"]
    ),
)
FOLDERS = [b"", b"d/", b"d/a/", b"x/"]


@pytest.fixture(scope="module")
def tree_of_paths(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    repo = Repo(tmp_path_factory.mktemp("rules") / "repo")
    for path in PATHS:
        repo.write(path, "x")
    return repo


@contextmanager
def _looked_up() -> Iterator[None]:
    """Lists as short as those of these tests are looked up like long ones, and keys are soon full."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pattern_list, "SHORT_LIST", 0)
        patch.setattr(pattern_list, "MOST_PER_KEY", 2)
        yield


LIMITS = (nullcontext, _looked_up)


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
    expected = [path for path in said.split(b"\0") if path]
    for limits in LIMITS:
        with limits():
            ignores = Ignores({folder: parse_ignores(content) for folder, content in contents.items()})
        assert [path for path in PATHS if ignores.ignores(path)] == expected


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from(FOLDERS), st.lists(attribute_line, max_size=5), min_size=1))
def test_gives_the_attributes_that_git_check_attr_gives(
    tree_of_paths: Repo, files: dict[bytes, list[str]]
) -> None:
    contents = _write(tree_of_paths, b".gitattributes", files)
    said = tree_of_paths.git_bytes("check-attr", "-z", "--stdin", *ATTRIBUTES, data=b"\0".join(PATHS))
    words = said.split(b"\0")[:-1]
    expected = {(words[at], words[at + 1]): words[at + 2] for at in range(0, len(words), 3)}
    for limits in LIMITS:
        with limits():
            parsed = {folder: parse_attributes(content) for folder, content in contents.items()}
            attributes = Attributes(parsed, ATTRIBUTES)
        assert _values(attributes, PATHS) == expected


def _values(attributes: Attributes, paths: list[bytes]) -> dict[tuple[bytes, bytes], bytes]:
    """In the words of `git check-attr`."""
    found = {}
    for path in paths:
        values = attributes.of(path)
        for name in ATTRIBUTES:
            value = values.get(name)
            text = {True: b"set", False: b"unset", None: b"unspecified"}
            found[path, name] = value if isinstance(value, bytes) else text[value]
    return found


def _many(kind: random.Random) -> tuple[list[str], list[bytes]]:
    """3,000 patterns of every sort, and paths of which a good part match."""
    shapes = (
        *("name{0}.py", "/src/d{1}/name{0}.py", "*.x{0}", "gen_{0}*", "*_{0}_*.c", "**/d{1}/*_{0}.c"),
        *("/d{1}/**/n?me{0}.py", "d{1}/x{0}/", "!name{0}.py", "na[m-n]e{0}.*", "*{1}*{0}*", "!*.x{0}"),
        *("*[0-9]{0}.??", "\\name{0}*", "d{1}/**"),
    )
    patterns = [kind.choice(shapes).format(kind.randrange(900), kind.randrange(40)) for _ in range(3000)]
    names = ("name{0}.py", "a.x{0}", "gen_{0}.py", "p_{0}_q.c", "p_{0}.c", "x{0}/f.py", "z{0}", "7{0}.js")
    paths = []
    for _ in range(1500):
        folders = kind.choices(["src", "d{1}", "e", "d{1}/e"], k=kind.randrange(4))
        text = "/".join([*folders, kind.choice(names)])
        paths.append(text.format(kind.randrange(1800), kind.randrange(60)).encode())
    return patterns, sorted(set(paths))


def test_thousands_of_patterns_say_what_git_says_and_few_are_tried(
    repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns, paths = _many(random.Random(20240105))
    lines = [f"{pattern} binary" for pattern in patterns if pattern[0] != "!"]
    repo.write(".gitignore", "\n".join(patterns) + "\n")
    repo.write(".gitattributes", "\n".join(lines) + "\n")
    said = repo.git_bytes("check-ignore", "--no-index", "-z", "--stdin", data=b"\0".join(paths), check=False)
    words = repo.git_bytes("check-attr", "-z", "--stdin", *ATTRIBUTES, data=b"\0".join(paths)).split(b"\0")
    tried = 0
    matches = PathPattern.matches

    def counted(pattern: PathPattern, path: bytes, *, is_folder: bool) -> bool:
        nonlocal tried
        tried += 1
        return matches(pattern, path, is_folder=is_folder)

    monkeypatch.setattr(PathPattern, "matches", counted)
    ignores = Ignores({b"": parse_ignores(repo.file(".gitignore").read_bytes())})
    ignored = [path for path in paths if ignores.ignores(path)]
    attributes = Attributes({b"": parse_attributes(repo.file(".gitattributes").read_bytes())}, ATTRIBUTES)
    values = _values(attributes, paths)

    assert ignored == [path for path in said.split(b"\0") if path]
    assert values == {(words[at], words[at + 1]): words[at + 2] for at in range(0, len(words) - 1, 3)}
    assert len(paths) // 10 < len(ignored) < len(paths)
    assert tried < len(paths) * 100  # of 6,000


def _rules(repo: Repo, revision: str = "HEAD", extra: tuple[str, ...] = ()) -> Rules:
    source = open_source(repo.path)
    try:
        return Rules.read(source, TreeId(repo.tree(revision)), extra)
    finally:
        source.close()


def _changes(repo: Repo, old: str, new: str) -> ChangeSet:
    source = open_source(repo.path)
    try:
        return source.changes(TreeId(repo.tree(old)), TreeId(repo.tree(new)))
    finally:
        source.close()


def _updated(repo: Repo, rules: Rules, old: str, new: str) -> Rules:
    source = open_source(repo.path)
    try:
        return rules.updated(source, _changes(repo, old, new))
    finally:
        source.close()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "repo")


def test_each_rule_gives_its_reason(repo: Repo) -> None:
    repo.write(".gitattributes", "*.pb.go linguist-generated\nvendor/** linguist-vendored\n*.dat binary\n")
    repo.write(".nibdignore", "secret*\n")
    repo.write("docs/.nibdignore", "/old/\n!secret.md\n")
    repo.write("vendor/ours/.gitattributes", "* -linguist-vendored\nx.go linguist-generated=false\n")
    repo.commit()
    rules = _rules(repo, extra=("*.log", "!kept.log"))
    expected = {
        b"a.pb.go": Skip.GENERATED,
        b"vendor/x/y.c": Skip.VENDORED,
        b"vendor/ours/y.c": None,
        b"vendor/ours/x.go": None,
        b"x.dat": Skip.BINARY,
        b"secret.py": Skip.IGNORED,
        b"docs/secret.md": None,
        b"docs/old/a/b": Skip.IGNORED,
        b"old/a": None,
        b"a/x.log": Skip.IGNORED,
        b"a/kept.log": None,
        b"vendor/x/secret": Skip.IGNORED,
        b"plain.py": None,
        b"\xff.dat": Skip.BINARY,
    }
    assert {path: rules.skip(RepoPath(path)) for path in expected} == expected


def test_only_the_tree_counts(repo: Repo) -> None:
    repo.write("a.py", "")
    repo.commit()
    repo.write(".gitattributes", "* binary\n")
    repo.write(".nibdignore", "*\n")
    repo.write(".git/info/attributes", "* linguist-generated\n")
    assert _rules(repo).skip(RepoPath(b"a.py")) is None


def test_a_symlink_is_no_rule_file(repo: Repo) -> None:
    repo.write("elsewhere", "*\n")
    repo.symlink(".nibdignore", "elsewhere")
    repo.commit()
    assert _rules(repo).skip(RepoPath(b"a.py")) is None


def test_a_rule_file_that_can_not_be_honoured_is_named(repo: Repo) -> None:
    repo.write("d/.nibdignore", b"*\n" * MAX_RULE_FILE_BYTES)
    repo.write(".gitattributes", "* binary\n")
    repo.commit()
    blob = repo.blob(".gitattributes")
    (repo.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    rules = _rules(repo)
    assert rules.missing == (b".gitattributes",)
    assert [note.split(" (")[0] for note in rules.notes] == [
        f"rule file .gitattributes: {Flaw.MISSING}",
        "rule file d/.nibdignore: ignored because too large",
    ]
    assert rules.skip(RepoPath(b"d/a")) is None


def test_thousands_of_flawed_rule_files_are_told_in_few_words(repo: Repo) -> None:
    for number in range(MAX_NOTES + 5):
        repo.write(f"d{number:02}/.nibdignore", b"*\n" * MAX_RULE_FILE_BYTES)
    repo.commit()
    notes = _rules(repo).notes
    assert len(notes) == MAX_NOTES + 1
    assert notes[-1] == "5 more rule files are not honoured"


def test_a_rule_file_that_was_missing_is_found_in_the_same_tree(repo: Repo, tmp_path: Path) -> None:
    repo.write(".nibdignore", "x\n")
    repo.commit()
    blob = repo.blob(".nibdignore")
    place = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    aside = place.rename(tmp_path / "aside")
    rules = _rules(repo)
    with closing(open_source(repo.path)) as source:
        assert rules.looked_for_again(source) is rules
    aside.rename(place)
    with closing(open_source(repo.path)) as source:
        found = rules.looked_for_again(source)
    assert (found.skip(RepoPath(b"x")), found.missing, found.notes) == (Skip.IGNORED, (), ())
    assert found.digest == _rules(repo).digest != rules.digest


def test_a_hostile_pattern_can_not_stall(repo: Repo) -> None:
    repo.write(".nibdignore", "*a" * 40 + "*b\n" + "**/a*/" * 40 + "b\n")
    repo.write(".gitattributes", "*a" * 40 + "*b binary\n")
    repo.commit()
    rules = _rules(repo)
    assert rules.skip(RepoPath(b"a" * 200)) is None
    assert rules.skip(RepoPath(b"a" * 200 + b"b")) is Skip.IGNORED
    assert rules.skip(RepoPath(b"aa/" * 300 + b"c")) is None


@pytest.mark.parametrize("name", [".nibdignore", ".gitattributes"])
def test_a_file_of_patterns_that_can_not_be_looked_up_is_ignored_and_named(repo: Repo, name: str) -> None:
    letters = "abcdefghijklmnop"
    patterns = [f"[{a}]*[{b}]" for a in letters for b in letters]
    patterns += ["?" * length for length in range(1, MAX_GENERAL + 1)]
    says, skip = (" binary", Skip.BINARY) if name == ".gitattributes" else ("", Skip.IGNORED)
    repo.write(f"few/{name}", "".join(f"{pattern}{says}\n" for pattern in patterns[-MAX_GENERAL:]))
    repo.write(f"many/{name}", "".join(f"{pattern}{says}\n" for pattern in patterns))
    repo.commit()
    rules = _rules(repo)
    assert (rules.skip(RepoPath(b"few/xx")), rules.skip(RepoPath(b"many/xx"))) == (skip, None)
    (note,) = rules.notes
    assert note.startswith(f"rule file many/{name}: ignored because more than {MAX_GENERAL} of its patterns")


def test_rules_are_carried_from_tree_to_tree(repo: Repo) -> None:
    repo.write("a.py", "1")
    commits = [repo.commit()]
    rules = _rules(repo)

    def after(scope: tuple[bytes, ...]) -> Rules:
        commits.append(repo.commit())
        old, new = commits[-2:]
        assert rules_scope(_changes(repo, old, new)) == scope
        carried = _updated(repo, rules, old, new)
        assert carried.digest == _rules(repo).digest
        assert (carried is rules) == (scope == ())
        return carried

    repo.write("a.py", "2")
    rules = after(())
    repo.write("d/e/.nibdignore", "x\n")
    repo.write("d/.gitattributes", "y binary\n")
    rules = after((b"d/",))
    assert rules.skip(RepoPath(b"d/e/x")) is Skip.IGNORED
    repo.move("d/e/.nibdignore", "f/.nibdignore")
    rules = after((b"d/e/", b"f/"))
    assert (rules.skip(RepoPath(b"d/e/x")), rules.skip(RepoPath(b"f/x"))) == (None, Skip.IGNORED)
    repo.write("d/.gitattributes", "z binary\n")
    rules = after((b"d/",))
    assert (rules.skip(RepoPath(b"d/y")), rules.skip(RepoPath(b"d/z"))) == (None, Skip.BINARY)
    repo.remove("d/.gitattributes")
    repo.write(".gitattributes", "[attr]made linguist-generated\n*.g made\n")
    rules = after((b"",))
    assert (rules.skip(RepoPath(b"d/z")), rules.skip(RepoPath(b"d/z.g"))) == (None, Skip.GENERATED)
    repo.remove(".gitattributes")
    repo.symlink(".gitattributes", "a.py")
    rules = after((b"",))
    assert rules.skip(RepoPath(b"d/z.g")) is None


def test_digests_differ_where_answers_may(repo: Repo) -> None:
    repo.write(".nibdignore", "x\n")
    repo.commit()
    same, other = _rules(repo).digest, _rules(repo, extra=("y",)).digest
    assert same == _rules(repo).digest
    assert same != other
    repo.write(".nibdignore", "z\n")
    repo.commit()
    assert _rules(repo).digest not in {same, other}
