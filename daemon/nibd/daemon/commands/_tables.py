"""Tables for people: columns where they fit, a paragraph a row where they don't. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nibd.daemon.commands._output import Style

_GAP = "  "


def table(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    style: Style,
    width: int | None,
    colours: dict[str, str] | None = None,
) -> Iterator[str]:
    """Lines of a table. `width` is what may be used, `None` for any; `colours` styles whole cells."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    if width is not None and sum(widths) + len(_GAP) * (len(widths) - 1) > width:
        yield from _paragraphs(header, rows, style, colours or {})
        return
    yield style("dim", _line(header, widths))
    for row in rows:
        padded = [cell.ljust(size) for cell, size in zip(row, widths, strict=True)]
        shown = [_coloured(cell, text, style, colours or {}) for cell, text in zip(row, padded, strict=True)]
        yield _GAP.join(shown).rstrip()


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP.join(cell.ljust(size) for cell, size in zip(cells, widths, strict=True)).rstrip()


def _paragraphs(
    header: Sequence[str], rows: Sequence[Sequence[str]], style: Style, colours: dict[str, str]
) -> Iterator[str]:
    for row in rows:
        yield style("bold", row[0])
        for name, cell in zip(header[1:], row[1:], strict=True):
            if cell:
                yield f"  {style('dim', name)} {_coloured(cell, cell, style, colours)}"


def _coloured(cell: str, text: str, style: Style, colours: dict[str, str]) -> str:
    return style(colours[cell], text) if cell in colours else text
