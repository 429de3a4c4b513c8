"""What the scripted agent's calls give: nibd's own grep, reading and search over a commit's views.

Texts are those that its messages hold: `grep` gives lines as `path:line: text`, or files as `path: N lines`,
`read` a stretch of a file, `packet` an eager packet.
"""

from __future__ import annotations

from collections.abc import Sequence

from nibd.bench.agent import MORE
from nibd.bench.retrieve_views import Opened
from nibd.query.context.packet import Piece, eager, lines_of
from nibd.query.context.tokens import TokenCounter
from nibd.query.grep import Asked, Found, Mode, search
from nibd.query.grep import Text as Searched
from nibd.query.hits import Hit
from nibd.query.matching import normalized
from nibd.query.pattern import compile_pattern
from nibd.query.ranking.path_classes import is_test
from nibd.repair.text import Text, decode
from nibd.stores.bounded_cache import BoundedCache
from nibd.stores.trigram_reader import TrigramReader
from nibd.stores.trigrams import has_text
from nibd.stores.types import BlobId, FileVersion, RepoPath, Skip

FOUND_LINES = 40
FOUND_FILES = 60
LINE_CHARACTERS = 160
READ_LINES = 160
TEXT_BYTES = 256 << 20


class Tools:
    """Over one commit."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._trigrams = TrigramReader(opened.folder.trigrams)
        self._texts: BoundedCache[BlobId, bytes] = BoundedCache(TEXT_BYTES)

    def close(self) -> None:
        self._trigrams.close()

    def grep(self, text: str) -> tuple[bool, str]:
        """Lines with a whole word, or of many their files, with how many each; those of tests left out.

        A word in lower case is looked for in any case.
        """
        pattern = compile_pattern(text, ignore_case=text.islower(), word=True, literal=True)
        tree = self._opened.tree
        rows = self._trigrams.candidates(pattern.need, tree.listing).rows
        files = sorted((file for _, file in tree.structure.files(rows)), key=lambda file: file.path)
        for mode, most in ((Mode.LINES, FOUND_LINES), (Mode.COUNT, FOUND_FILES)):
            page = search(Asked(pattern, mode, most), files, _is_searched, self._text, lambda: None)
            if page.next_offset is None:
                break
        lines = [_line(found) for found in page.found]
        if page.next_offset is not None:
            lines.append(MORE)
        return bool(page.found), "\n".join(lines) or "Nothing found."

    def read(self, path: str, line: int) -> tuple[bool, str]:
        tree = self._opened.tree
        at = tree.structure.at_path(tree.listing, RepoPath(path.encode()))
        text = self._text(at[1]) if at else "absent"
        if isinstance(text, str):
            return False, f"{path}: there is no such file."
        return True, lines_of(text.decode(), line, line + READ_LINES - 1)

    def packet(self, hits: Sequence[Hit], budget: int, counter: TokenCounter) -> str:
        pieces = [Piece(hit, self._of_hit(hit)) for hit in hits]
        return eager(pieces, self._opened.commit, budget, counter).text

    def _of_hit(self, hit: Hit) -> str | None:
        data = self._opened.source.read(hit.blob)
        text = None if data is None else decode(data)
        if not isinstance(text, Text):
            return None
        return lines_of(text.content.decode(), hit.start_line, hit.end_line)

    def _text(self, file: FileVersion) -> Searched:
        held = self._texts.get(file.blob)
        if held is None:
            data = self._opened.source.read(file.blob)
            if data is None:
                return Skip.MISSING_OBJECT.value
            text = decode(data)
            if isinstance(text, Skip):
                return text.value
            held = normalized(text.content)
            self._texts.put(file.blob, held, len(held))
        return held


def _is_searched(file: FileVersion) -> bool:
    return has_text(file.skip) and not is_test(file.path, file.language)


def _line(found: Found) -> str:
    path = found.file.path.decode(errors="replace")
    if found.shown is None:
        return f"{path}: {found.count} lines"
    return f"{path}:{found.line}: {found.shown.text.strip()[:LINE_CHARACTERS]}"
