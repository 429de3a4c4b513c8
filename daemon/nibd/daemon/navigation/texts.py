"""The texts of the files of a tree, opened when they are asked for."""

from __future__ import annotations

from nibd.daemon.answers import Blobs
from nibd.daemon.reading import Reading
from nibd.daemon.registry import Checkout
from nibd.query.navigation_files import SourceText, TreeFile, TreeFiles
from nibd.repair.syntax.occurrences import FileSymbols
from nibd.repair.text import Text, decode
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.types import BlobId, FileVersion, RepoPath

TEXT_CACHE_BYTES = 32 << 20
TEXT_FACTOR = 8
"""What a text takes with its units and the words that were looked for, in times of its bytes."""


class Texts:
    """Opens the files of trees; what was made of a blob is kept. For any thread."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._kept: BoundedCache[tuple[BlobId, str], SourceText] = BoundedCache(TEXT_CACHE_BYTES)

    def of_tree(self, reading: Reading, checkout: Checkout) -> TreeFiles:
        opened: dict[RepoPath, TreeFile | None] = {}

        def open_file(path: RepoPath) -> TreeFile | None:
            if path not in opened:
                version = reading.version(path)
                text = self._text(reading, checkout, version) if version else None
                opened[path] = TreeFile(version, text) if version and text else None
            return opened[path]

        return open_file

    def _text(self, reading: Reading, checkout: Checkout, version: FileVersion) -> SourceText | None:
        key = (version.blob, version.language)
        found = self._kept.get(key)
        if found is None and version.skip is None:
            data = self._blobs.read(checkout, version.blob)
            text = None if data is None else decode(data)
            if isinstance(text, Text):
                units = reading.facts.units(*key)
                found = SourceText(text.content, units, FileSymbols(text.content, units))
                self._kept.put(key, found, TEXT_FACTOR * len(text.content) + 10_000)
        return found
