"""A report as one page of HTML: its table, further tables, and its plots within."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from nibd.bench import charts
from nibd.bench.charts import Chart

STYLE = """
body { font: 15px/1.45 sans-serif; max-width: 62em; margin: 2em auto; padding: 0 1em; color: #222 }
table { border-collapse: collapse; margin: .6em 0 1.4em }
th, td { border: 1px solid #ccc; padding: .2em .6em; text-align: left; vertical-align: top }
th { background: #f3f3f3 }
td + td { font-variant-numeric: tabular-nums }
p.note { color: #555; max-width: 48em }
"""


@dataclass(frozen=True, slots=True)
class Table:
    """`rows` as they are read; the first cell of each names it."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


def page(title: str, machine: str, parts: Iterable[Table | Chart]) -> str:
    """Where pygal is missing, the page says so in the place of its plots."""
    reason = charts.missing()
    body = [f"<h1>{escape(title)}</h1>", f'<p class="note">{escape(machine)}</p>']
    for part in parts:
        if isinstance(part, Table):
            body.append(_table(part))
        elif reason:
            body.append(f'<p class="note">{escape(part.title)}: no plot ({escape(reason)})</p>')
        else:
            body.append(f"<figure>{charts.svg(part)}</figure>")
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n'
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _table(table: Table) -> str:
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    head = _row(table.head, "th")
    rows = "".join(_row(row, "td") for row in table.rows)
    return f"<h2>{escape(table.title)}</h2>{note}<table>{head}{rows}</table>"


def _row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
