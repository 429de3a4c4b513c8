"""What of a tree is left out, decided from the tree alone.

    .nibdignore      in any folder, in the syntax of .gitignore     -> ignored
    extra patterns   from settings, the same, outranking the files  -> ignored
    .gitattributes   linguist-vendored                              -> vendored
                     linguist-generated                             -> generated
                     binary                                         -> binary

An attribute counts when it is set to anything but `false`; `-linguist-generated` takes it back. A
*rule file* is a file of one of the two names; as in Git, a symlink of that name is none. Rules are
read once from a tree and then carried from one tree to the next by its change set.

A rule file can have a *flaw*, for which it is not honoured; `notes` says so. Most flaws follow from its
bytes, so they are as lasting as the bytes are. One does not: a *missing* blob may be there tomorrow under
the same tree, and is looked for again at each repair.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from nibd.repair.git.attributes import AttributeFile, Attributes, Value, parse_attributes
from nibd.repair.git.ignores import Ignores, parse_ignores
from nibd.repair.git.pattern_list import PatternList
from nibd.repair.git.types import EXECUTABLE, REGULAR, ChangeSet, GitSource, TreeEntry
from nibd.stores.types import BlobId, RepoPath, Skip, TreeId

RULES_VERSION = 2
"""Part of the digest: to be raised when the same files come to mean something else."""
MAX_RULE_FILE_BYTES = 256 * 1024
ATTRIBUTES_NAME = b".gitattributes"
IGNORES_NAME = b".nibdignore"
_SKIPS = {
    b"linguist-vendored": Skip.VENDORED,
    b"linguist-generated": Skip.GENERATED,
    b"binary": Skip.BINARY,
}

MAX_GENERAL = 128
"""Patterns of one file that have to be tried for every path (see `nibd.repair.git.pattern_list`)."""
MAX_NOTES = 20
"""So many flawed rule files are named; a hostile tree has thousands."""


class Flaw(StrEnum):
    """Why a rule file is not honoured, and what to do."""

    MISSING = "not honoured: its object is missing from the repository; it is looked for at each repair"
    TOO_LARGE = (
        f"ignored because too large (more than {MAX_RULE_FILE_BYTES} bytes): "
        "shorten it, or divide it among folders"
    )
    TOO_GENERAL = (
        f"ignored because more than {MAX_GENERAL} of its patterns hold too little text to be looked up by, "
        "and would be tried for every file: give them longer names, or divide it among folders"
    )


Parsed = AttributeFile | PatternList | Flaw
"""A rule file's content, or why there is none."""


class Rules:
    """The rules of one tree. Immutable, but for a memory of folders; for one thread at a time."""

    def __init__(
        self, files: Mapping[RepoPath, tuple[BlobId, Parsed]], extra: Sequence[str] = ()
    ) -> None:
        self._files = files
        self._extra = tuple(extra)
        by_folder = {path.rpartition(b"/"): parsed for path, (_, parsed) in files.items()}
        self._attributes = Attributes(
            {
                folder + slash: parsed
                for (folder, slash, _), parsed in by_folder.items()
                if isinstance(parsed, AttributeFile)
            },
            list(_SKIPS),
        )
        self._ignores = Ignores(
            {
                folder + slash: parsed
                for (folder, slash, _), parsed in by_folder.items()
                if isinstance(parsed, PatternList)
            },
            parse_ignores("\n".join(extra).encode()),
        )

    @classmethod
    def read(cls, source: GitSource, tree: TreeId, extra: Sequence[str] = ()) -> Rules:
        """The rules of a tree, which is listed whole for it: once, not for each commit."""
        found = [entry for entry in source.list_tree(tree) if is_rule_file(entry)]
        return cls({entry.path: _parsed(source, entry) for entry in found}, extra)

    def updated(self, source: GitSource, changes: ChangeSet) -> Rules:
        """The rules after a change set; these very rules when it touches no rule file and none appeared."""
        if not rules_scope(changes):
            return self.looked_for_again(source)
        gone = {entry.path for entry in changes.gone}
        files = {path: file for path, file in self._files.items() if path not in gone}
        files |= {entry.path: _parsed(source, entry) for entry in changes.come if is_rule_file(entry)}
        return Rules(files, self._extra).looked_for_again(source)

    def looked_for_again(self, source: GitSource) -> Rules:
        """The rules with those files that were missing and are there now; else these very rules."""
        files = {path: _read(source, path, self._files[path][0]) for path in self.missing}
        if all(parsed is Flaw.MISSING for _, parsed in files.values()):
            return self
        return Rules({**self._files, **files}, self._extra)

    def skip(self, path: RepoPath, indexed: frozenset[Skip] = frozenset()) -> Skip | None:
        """Why the file at `path` is left out; `None` when it is not. Reasons in `indexed` don't count."""
        if self._ignores.ignores(path):
            return Skip.IGNORED
        values = self._attributes.of(path)
        found = (skip for name, skip in _SKIPS.items() if _counts(values.get(name)))
        return next((skip for skip in found if skip not in indexed), None)

    @property
    def missing(self) -> tuple[RepoPath, ...]:
        """Rule files whose blob is not there now, in the order of paths."""
        return tuple(sorted(path for path, (_, parsed) in self._files.items() if parsed is Flaw.MISSING))

    @property
    def notes(self) -> tuple[str, ...]:
        """A sentence for each rule file that is not honoured, in the order of paths."""
        files = self._files.items()
        flawed = sorted((path, parsed) for path, (_, parsed) in files if isinstance(parsed, Flaw))
        more = len(flawed) - MAX_NOTES
        rest = [f"{more} more rule files are not honoured"] if more > 0 else []
        return (*(f"rule file {_show(path)}: {flaw}" for path, flaw in flawed[:MAX_NOTES]), *rest)

    @property
    def digest(self) -> str:
        """Equal digests mean equal answers for every path."""
        digest = hashlib.blake2b(str(RULES_VERSION).encode(), digest_size=16)
        for part in (*self._extra, ""):
            digest.update(part.encode() + b"\0")
        for path, (blob, parsed) in sorted(self._files.items(), key=lambda file: file[0]):
            digest.update(path + b"\0" + blob.encode() + (b"\0" if parsed is Flaw.MISSING else b"\1"))
        return digest.hexdigest()


def is_rule_file(entry: TreeEntry) -> bool:
    name = entry.path.rpartition(b"/")[2]
    return name in {ATTRIBUTES_NAME, IGNORES_NAME} and entry.mode in {REGULAR, EXECUTABLE}


def rules_scope(changes: ChangeSet) -> tuple[bytes, ...]:
    """Prefixes of the paths that have to be classified again, since a rule file changed above them.

    Each is a folder with a slash at its end, or `b""` for everything; none lies inside another.
    """
    entries = (*changes.gone, *changes.come)
    return outermost(entry.path for entry in entries if is_rule_file(entry))


def outermost(paths: Iterable[bytes]) -> tuple[bytes, ...]:
    """The folders of these rule files (or folders themselves), as `rules_scope` gives them."""
    prefixes: list[bytes] = []
    for folder in sorted({path[: path.rfind(b"/") + 1] for path in paths}):
        if not prefixes or not folder.startswith(prefixes[-1]):
            prefixes.append(folder)
    return tuple(prefixes)


def _parsed(source: GitSource, entry: TreeEntry) -> tuple[BlobId, Parsed]:
    return _read(source, entry.path, entry.blob)


def _read(source: GitSource, path: RepoPath, blob: BlobId) -> tuple[BlobId, Parsed]:
    size = source.size(blob)
    if size is not None and size > MAX_RULE_FILE_BYTES:
        return blob, Flaw.TOO_LARGE
    data = source.read(blob)
    if data is None:
        return blob, Flaw.MISSING
    if path.endswith(ATTRIBUTES_NAME):
        attributes = parse_attributes(data)
        patterns = PatternList([pattern for pattern, _ in attributes.lines])
        return blob, attributes if patterns.general <= MAX_GENERAL else Flaw.TOO_GENERAL
    ignores = parse_ignores(data)
    return blob, ignores if ignores.general <= MAX_GENERAL else Flaw.TOO_GENERAL


def _show(path: RepoPath) -> str:
    return path.decode("utf-8", "backslashreplace")


def _counts(value: Value) -> bool:
    return value not in {None, False, b"false"}
