"""What commands print: one JSON document, or text for people; notes and progress go to stderr.

Text for people holds names and source of repositories, which are nobody's to trust: control characters
in it are shown, never sent, so that no file can move a terminal's cursor or change its title.
Colours are for terminals, and not where NO_COLOR is set (https://no-color.org).
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import shutil
import sys
import textwrap
from typing import TextIO

from nibd.ipc.messages import Json

_VISIBLE = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (0x09, 0x0A)}
LINE = 80
"""Columns of a text that goes to no terminal."""
_STYLES = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "loud": "1;33", "match": "1;31"
}  # fmt: skip


class Style:
    """Colours text for one stream, or leaves it as it is."""

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled

    def __call__(self, name: str, text: str) -> str:
        return f"\x1b[{_STYLES[name]}m{text}\x1b[0m" if self._enabled and text else text


def style_of(stream: TextIO) -> Style:
    """Colours where `stream` is a terminal that takes them."""
    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    return Style(stream.isatty() and not plain)


def width_of_terminal() -> int | None:
    """Columns to fit in; `None` when the output goes to no terminal, where lines may be of any length."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def counted(count: int, what: str) -> str:
    """A number and what is counted; `what` is given in the plural."""
    return f"{count} {what.removesuffix('s') if count == 1 else what}"


def kind_beside(name: str, kind: str) -> str:
    """A unit's kind, to stand before its name; empty where that begins with it (`impl Display for Job`)."""
    return "" if name.startswith(f"{kind} ") else kind


def wrapped(text: str, width: int | None) -> list[str]:
    """Lines no longer than `width` (80 for `None`), all but the first indented. Long words stay whole."""
    return textwrap.wrap(
        text,
        max(width or LINE, 20),
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def clipped(text: str, most: int = 200) -> str:
    """The beginning of a message that is too long to be read."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def visible(text: str) -> str:
    """`text` with its control characters (but tabs and line breaks) shown as `\\xNN`."""
    return text.translate(_VISIBLE)


def visible_line(text: str) -> str:
    """As `visible`, on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def emit(arguments: argparse.Namespace, document: Json, text: str) -> None:
    """Print the document where `--json` was given, else the text (which ends without a line break)."""
    if arguments.json:
        emit_json(document)
    elif text:
        print(text)


def emit_json(document: Json) -> None:
    """One line. ASCII only, so undecodable bytes of a path (lone surrogates) are JSON escapes too."""
    print(json.dumps(document, allow_nan=False))


def note(text: str) -> None:
    """Say something on stderr that is not the answer."""
    print(text, file=sys.stderr)


def keep_bytes(stream: TextIO) -> None:
    """Let `stream` give undecodable bytes of a path as they are, and show what its encoding lacks."""
    codecs.register_error("nibd", _encode_anyway)
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="nibd")


def _encode_anyway(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    character = error.object[error.start]
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return character.encode("ascii", "backslashreplace"), error.start + 1
