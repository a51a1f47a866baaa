"""The statements of the hot path, as SQL text that SQLite and PostgreSQL both take.

One statement carries many rows, as each statement costs a round trip (PostgreSQL) or a hand-over of the GIL (SQLite in
a thread). Row counts are powers of two, so that a handful of texts serves all batches and stays prepared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

_MOST_ROWS = 512  # times seven columns is well below SQLite's 32,766 and PostgreSQL's 65,535 parameters

Text = Callable[[int, str], str]
Row = tuple[Any, ...]


@cache
def insert_changes(rows: int, mark: str) -> str:
    columns = "revision, resource, namespace, name, prev_revision, selectable, body"
    return f"INSERT INTO changes ({columns}) VALUES {_values(rows, 7, mark)}"


@cache
def put_current(rows: int, mark: str) -> str:
    return (
        f"INSERT INTO current (resource, namespace, name, revision) VALUES {_values(rows, 4, mark)} "
        "ON CONFLICT (resource, namespace, name) DO UPDATE SET revision = excluded.revision"
    )


@cache
def remove_current(rows: int, mark: str) -> str:
    return f"DELETE FROM current WHERE (resource, namespace, name) IN (VALUES {_values(rows, 3, mark)})"


@cache
def remove_changes(rows: int, mark: str) -> str:
    return f"DELETE FROM changes WHERE revision IN ({', '.join([mark] * rows)})"


def chunks(rows: Sequence[Row]) -> Iterator[tuple[int, Row]]:
    """The rows as (count, flat parameters), the counts powers of two."""
    begin = 0
    while begin < len(rows):
        count = min(1 << ((len(rows) - begin).bit_length() - 1), _MOST_ROWS)
        yield count, tuple(value for row in rows[begin : begin + count] for value in row)
        begin += count


def _values(rows: int, columns: int, mark: str) -> str:
    row = f"({', '.join([mark] * columns)})"
    return ", ".join([row] * rows)
