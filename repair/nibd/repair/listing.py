"""From a change of trees to a new listing: which files the tree has and what is made of each.

`plan` turns Git's change set into file versions, reading as little as it can:

1. A path's mode decides first (submodule, symlink), then the rules that stand in the tree
   (.gitattributes, .nibdignore) and the policy, then its size, then its content.
2. When a rule file changed, every file it reaches is classified again: the rules are input too.
   So is every file whose object was missing, and every file that a rule file reaches which was
   missing when the base was made and is there now, or the other way round.
3. Content seen before at the same path is taken from structure.db, without reading it.

The result is the same whatever the base: a file version depends on the target tree alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nibd.repair.derive import Derivation, derive, rederive
from nibd.repair.git import GitSource, TreeEntry
from nibd.repair.git.types import SUBMODULE, SYMLINK
from nibd.repair.policy import EXTRACTOR, Policy
from nibd.repair.progress import Reporter
from nibd.repair.rules import Rules, outermost, rules_scope
from nibd.stores.bitmap import Bitmap
from nibd.stores.errors import CorruptFacts
from nibd.stores.repository import RepositoryStores
from nibd.stores.structure import FileRow
from nibd.stores.trigrams import has_text
from nibd.stores.types import EMPTY_TREE, BlobId, Facts, FileVersion, RepoPath, Skip, TreeId

_BY_MODE = {SUBMODULE: Skip.SUBMODULE, SYMLINK: Skip.SYMLINK}
REUSABLE = frozenset(Skip) - {
    Skip.MISSING_OBJECT,
    Skip.GENERATED,
    Skip.VENDORED,
    Skip.IGNORED,
    Skip.BINARY,  # an attribute may have said so, and the row does not tell
    Skip.PARSE_TIMEOUT,  # another day, or another machine, may have the time
}
"""Skips that follow from a file's bytes and the policy; the rest can change under the same bytes."""


@dataclass(frozen=True, slots=True)
class Base:
    """The tree a repair starts from, with its listing, and the rule files that were missing then."""

    tree: TreeId
    listing: Bitmap
    missing_rules: tuple[RepoPath, ...] = ()


EMPTY_BASE = Base(EMPTY_TREE, Bitmap())


@dataclass(frozen=True, slots=True)
class ListingChange:
    """What a repair of the listing found and did. `derivation` counts the facts that had to be made."""

    listing: Bitmap
    changed_paths: int
    reclassified: int
    derivation: Derivation


@dataclass(frozen=True, slots=True)
class ListingRepair:
    """`rules` are those of the target tree. For one thread."""

    source: GitSource
    stores: RepositoryStores
    policy: Policy
    rules: Rules
    report: Reporter
    workers: int

    def run(self, base: Base, tree: TreeId) -> ListingChange:
        """Make the listing of `tree` from `base`, deriving and storing the facts it needs."""
        # What was missing under both trees changes nothing between them.
        found_or_lost = set(base.missing_rules).symmetric_difference(self.rules.missing)
        changes = self.source.changes(base.tree, tree, renames=False)
        gone, come = list(changes.gone), list(changes.come)
        touched = {entry.path for entry in [*gone, *come]}
        scope = outermost({*rules_scope(changes), *found_or_lost})
        again = list(_again(self.stores, base, scope, touched))
        removed = [row for row, _ in again]
        for entry in gone:
            found = self.stores.structure.at_path(base.listing, entry.path)
            if found:
                removed.append(found[0])
        files, derivation = self._classify([*come, *(TreeEntry(f.path, f.mode, f.blob) for _, f in again)])
        return ListingChange(
            listing=base.listing.changed(remove=removed, add=self._store(files)),
            changed_paths=len(touched),
            reclassified=len(again),
            derivation=derivation,
        )

    def _classify(self, entries: list[TreeEntry]) -> tuple[list[FileVersion], Derivation]:
        files: list[FileVersion] = []
        unread: list[TreeEntry] = []
        for entry in entries:
            version = self._without_reading(entry)
            if version and (version.skip or not self._lacks_facts(version)):
                files.append(version)
            else:
                unread.append(entry)
        derived, derivation = derive(
            self.source, self.stores.facts, self.stores.trigrams, unread, self.report, self.workers
        )
        return files + derived, derivation

    def _lacks_facts(self, version: FileVersion) -> bool:
        return bool(self.stores.facts.missing([(version.blob, version.language)]))

    def _without_reading(self, entry: TreeEntry) -> FileVersion | None:
        """What an entry is, when that can be told without its content."""
        reason = _BY_MODE.get(entry.mode) or self.rules.skip(entry.path, self.policy.indexed)
        if reason is None:
            for known in self.stores.structure.known(
                entry.path, entry.blob, entry.mode, self.policy.profile
            ):
                if known.skip is None or known.skip in REUSABLE:
                    return known
            size = self.source.size(entry.blob)
            if size is None or size <= self.policy.max_file_bytes:
                return None
            reason = Skip.TOO_LARGE
        return FileVersion(entry.path, entry.blob, entry.mode, "", reason)

    def _store(self, files: list[FileVersion]) -> list[FileRow]:
        wanted = sorted(self.stores.structure.without_source(files, EXTRACTOR))
        facts = ((blob, language, self._facts(blob, language)) for blob, language in wanted)
        profile = self.policy.profile
        rows = self.stores.structure.add(files, facts, extractor=EXTRACTOR, profile=profile)
        texts = (file.blob if has_text(file.skip) else None for file in files)
        self.stores.trigrams.place(zip(rows, texts, strict=True))
        return rows

    def _facts(self, blob: BlobId, language: str) -> Facts:
        try:
            found = self.stores.facts.get(blob, language)
        except CorruptFacts:
            rederive(self.source, self.stores.facts, [(blob, language)])
            found = self.stores.facts.get(blob, language)
        assert isinstance(found, Facts), f"{blob} was classified as {language} without facts"
        return found


def _again(
    stores: RepositoryStores, base: Base, prefixes: Iterable[bytes], touched: set[RepoPath]
) -> Iterator[tuple[FileRow, FileVersion]]:
    """The base's files that Git's change set does not name but whose version may have changed."""
    seen: set[FileRow] = set()
    for row, file in stores.structure.skipped(base.listing, Skip.MISSING_OBJECT):
        if file.path not in touched:
            seen.add(row)
            yield row, file
    for prefix in prefixes:
        for row, file in stores.structure.under(base.listing, prefix):
            if file.path not in touched and row not in seen:
                seen.add(row)
                yield row, file
