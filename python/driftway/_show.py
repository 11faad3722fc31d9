"""Tables as text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from driftway._driftway import Events, Table

#: Rows that are shown of a longer table.
ROWS = 20
#: Characters of a line that are used if there is no terminal.
WIDTH = 120


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _rows(table: Table) -> list[list[str]]:
    columns = [[_cell(value) for value in table.head(ROWS).column(name)] for name in table.columns]
    return [list(row) for row in zip(*columns)]


def text(table: Table) -> str:
    """Return the first rows of a table, and as many columns as a line has place for."""
    from shutil import get_terminal_size

    rows = _rows(table)
    names = table.columns
    widths = [max([len(name), *(len(row[at]) for row in rows)]) for at, name in enumerate(names)]
    room, count = get_terminal_size((WIDTH, 24)).columns, 0
    while count < len(names) and sum(widths[: count + 1]) + 2 * count <= room:
        count += 1
    count = max(count, 1)
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row[:count], widths)) for row in [names, *rows]]
    size = f"{len(table)} rows, {len(names)} columns"
    if count < len(names):
        size += f"; not shown: {', '.join(names[count:])}"
    return "\n".join([*lines, size])


def html(table: Table) -> str:
    """Return the first rows of a table for a notebook; a column's meaning shows under the pointer."""
    meanings = table.meanings()
    head = "".join(f'<th title="{escape(meanings[name] or "")}">{escape(name)}</th>' for name in table.columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in _rows(table)
    )
    size = f"{len(table)} rows, {len(table.columns)} columns"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{size}</p>"


def rows(events: Events) -> Iterator[dict[str, Any]]:
    """Yield the rows of event logs, of which one batch is in memory."""
    for batch in events.batches():
        columns = batch.to_dict()
        for values in zip(*columns.values()):
            yield dict(zip(columns, values))
