"""A folder with facts and lexical generations, each made by the change from the one before."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from pathlib import Path

from lexical_corpus import LANGUAGE, MadeFile, facts_of
from nibd.stores.facts import FactStore
from nibd.stores.lexical import GenerationStats, LexicalGeneration, build
from nibd.stores.types import RepoPath


class Shelf:
    """Facts and generations in a folder; each generation is made from the one before."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.facts = FactStore.open(root / "facts.db", "made-1")
        self.files: dict[RepoPath, MadeFile] = {}
        self._numbers = count()
        self.latest: Path | None = None
        self.hard_links = True

    def repair(self, tree: Iterable[MadeFile]) -> LexicalGeneration:
        """The next generation, which holds `tree`, by the change from the one before."""
        new = {file.path: file for file in tree}
        removed = [file for file in self.files.values() if new.get(file.path) != file]
        added = [file for file in new.values() if self.files.get(file.path) != file]
        self._put(added)
        target = self._new()
        self.stats = self._build(self.latest, target, removed, added)
        self.latest, self.files = target, new
        return LexicalGeneration.open(target)

    def fresh(self) -> LexicalGeneration:
        """The same tree from nothing."""
        target = self._new()
        self._build(None, target, [], self.files.values())
        return LexicalGeneration.open(target)

    def _put(self, files: Iterable[MadeFile]) -> None:
        self.facts.put_many((file.blob, LANGUAGE, facts_of(file)) for file in files)

    def _new(self) -> Path:
        return self.root / "lexical" / str(next(self._numbers))

    def _build(
        self, base: Path | None, target: Path, removed: Iterable[MadeFile], added: Iterable[MadeFile]
    ) -> GenerationStats:
        return build(
            base,
            target,
            [f.key for f in removed],
            [f.key for f in added],
            self.facts,
            hard_links=self.hard_links,
        )
