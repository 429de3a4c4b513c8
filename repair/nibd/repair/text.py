"""From a blob's bytes to text that can be parsed: UTF-8, without a byte-order mark.

Steps: a byte-order mark decides; else a NUL near the start means binary, as for Git; else UTF-8;
else Windows-1252, where bytes that it leaves undefined stand for themselves as in Latin-1, so that
every byte string without an early NUL is text. A later NUL becomes a space, because grammars take
it for the end of the file.

Lines end at `\\n` only, as for Git; a `\\r` before it is part of the line. Nothing here looks at the
size of a file: whoever reads blobs limits that.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from nibd.stores.types import Skip

NUL_WINDOW_BYTES = 8_000
"""Git looks for a NUL this far."""
LONG_LINE_BYTES = 2_000
LONG_MEAN_BYTES = 1_500
LONG_MEDIAN_BYTES = 200
LARGE_BYTES = 20_000

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""UTF-32 first: its little-endian mark begins with that of UTF-16."""


def _windows_1252() -> dict[int, str]:
    table = {}
    for byte in range(0x80, 0xA0):
        try:
            table[byte] = bytes([byte]).decode("cp1252")
        except UnicodeDecodeError:
            table[byte] = chr(byte)
    return table


_WINDOWS_1252 = _windows_1252()


@dataclass(frozen=True, slots=True)
class Text:
    """Valid UTF-8 without mark and NUL, and the name of the encoding that the blob had."""

    content: bytes
    encoding: str


def decode(data: bytes) -> Text | Skip:
    """Turn a blob into text, or `Skip.BINARY`. Offsets of units count in `Text.content`."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _transcoded(data[len(mark) :], encoding)
    if b"\0" in data[:NUL_WINDOW_BYTES]:
        return Skip.BINARY
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    data = data.replace(b"\0", b" ")
    if not is_utf8(data):
        return Text(data.decode("latin-1").translate(_WINDOWS_1252).encode("utf-8"), "cp1252")
    return Text(data, "utf-8")


def _transcoded(data: bytes, encoding: str) -> Text | Skip:
    try:
        return Text(data.decode(encoding).replace("\0", " ").encode("utf-8"), encoding)
    except UnicodeDecodeError:
        return Skip.BINARY


def is_utf8(data: bytes) -> bool:
    """Whether these bytes are UTF-8: of a file's name, what language servers can be told."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def is_minified(content: bytes, *, code: bool) -> bool:
    """Tell whether no person reads these lines: minified scripts, embedded data, exported tables.

    Code is minified when its lines are long on average or by median (some minifiers wrap at 500
    columns); a few long literals among ordinary lines are not enough. Other text is so when very long
    lines hold most of it: prose may have one paragraph a line.
    """
    if len(content) <= LONG_LINE_BYTES:
        return False
    sizes = sorted(map(len, content.split(b"\n")))
    if not code:
        return 2 * sum(size for size in sizes if size > LONG_LINE_BYTES) > len(content)
    if len(content) > LONG_MEAN_BYTES * len(sizes):
        return True
    return len(content) > LARGE_BYTES and sizes[len(sizes) // 2] > LONG_MEDIAN_BYTES


def line_count(content: bytes) -> int:
    """Count lines as Git does: a last line without `\\n` is one too, an empty file has none."""
    return content.count(b"\n") + (bool(content) and not content.endswith(b"\n"))
