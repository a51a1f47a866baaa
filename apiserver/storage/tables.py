"""The tables of the revision log, and their version.

`changes` is the log: one row a revision, appended only; a deletion has no body. `prev_revision` is the row it replaced.
`current` says which revision of each object is the newest; it is written in the same transaction.
`meta` holds `schema` (SCHEMA_VERSION) and `compacted`.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, Table, Text

# Raised by whoever changes the tables, together with a migration in sql.py. A newer directory is refused.
SCHEMA_VERSION = 1

metadata = MetaData()

_REVISION = BigInteger().with_variant(Integer(), "sqlite")  # SQLite's rowid is spelled INTEGER

# The body stands last: SQLite then reads the other columns without touching a long body's overflow pages.
CHANGES = Table(
    "changes",
    metadata,
    Column("revision", _REVISION, primary_key=True, autoincrement=False),
    Column("resource", Text, nullable=False),
    Column("namespace", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("prev_revision", _REVISION),
    Column("selectable", Text),
    Column("body", LargeBinary),
)

CURRENT = Table(
    "current",
    metadata,
    Column("resource", Text, primary_key=True),
    Column("namespace", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("revision", _REVISION, nullable=False),
    sqlite_with_rowid=False,
)

META = Table("meta", metadata, Column("name", Text, primary_key=True), Column("value", _REVISION, nullable=False))
