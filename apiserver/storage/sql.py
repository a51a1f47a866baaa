"""The journal in an SQL database, through SQLAlchemy Core. Which database is the dialect's business."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from sys import intern
from typing import Any

import orjson
from sqlalchemy import Connection, Engine, delete, func, insert, select, update
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from apiserver.storage import statements
from apiserver.storage.batch import Batch, Record
from apiserver.storage.dialects import Dialect
from apiserver.storage.interface import Change, Key, StorageUnavailable, Stored
from apiserver.storage.journal import Busy, Recovered
from apiserver.storage.statements import Row
from apiserver.storage.tables import CHANGES, CURRENT, META, SCHEMA_VERSION, metadata

_PREVIOUS = CHANGES.alias("previous")
_KEYS_AT_ONCE = 500


class SqlJournal:
    """One connection, one transaction at a time."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.is_quick = dialect.is_quick
        self._engine: Engine | None = None
        self._connection: Connection | None = None

    def open(self) -> Recovered:
        self._engine = self._dialect.engine()
        with self._transaction() as connection:
            metadata.create_all(connection)
            compacted = _compacted_of_known_schema(connection)
            newest = connection.execute(select(func.max(CHANGES.c.revision))).scalar()
            return Recovered(max(newest or 0, compacted), compacted, _current_objects(connection))

    def close(self) -> None:
        self._disconnect()
        if self._engine is not None:
            self._engine.dispose()

    def commit(self, batch: Batch, *, waits: bool = True) -> None:
        changes = [_row(record) for record in batch.records if record.change.revision not in batch.forgotten]
        put = [(*key, stored.revision) for key, stored in batch.current.items() if stored is not None]
        removed = [tuple(key) for key, stored in batch.current.items() if stored is None]
        begin = batch.records[0].change.revision
        forgotten = [(revision,) for revision in batch.forgotten if revision < begin]
        with self._transaction(waits=waits) as connection:
            self._execute(connection, statements.insert_changes, changes)
            self._execute(connection, statements.put_current, put)
            self._execute(connection, statements.remove_current, removed)
            self._execute(connection, statements.remove_changes, forgotten)

    def read(self, after: int, limit: int) -> Sequence[Change]:
        query = (
            select(*CHANGES.c, _PREVIOUS.c.selectable, _PREVIOUS.c.body)
            .outerjoin_from(CHANGES, _PREVIOUS, _PREVIOUS.c.revision == CHANGES.c.prev_revision)
            .where(CHANGES.c.revision > after)
            .order_by(CHANGES.c.revision)
            .limit(limit)
        )
        with self._transaction() as connection:
            return [_change(row) for row in connection.execute(query)]

    def versions_at(self, resource: str, revision: int) -> Mapping[Key, Stored | None]:
        later = (
            select(CHANGES.c.namespace, CHANGES.c.name, CHANGES.c.prev_revision)
            .where(CHANGES.c.revision > revision, CHANGES.c.resource == resource)
            .order_by(CHANGES.c.revision)
        )
        links: dict[Key, int | None] = {}
        with self._transaction() as connection:
            for namespace, name, link in connection.execute(later):
                links.setdefault(Key(resource, namespace, name), link)
            wanted = sorted(link for link in links.values() if link is not None)
            stored = {found.revision: found for found in _stored_at(connection, wanted)}
        # A link to what compaction just took has no version; the log then refuses the revision.
        return {key: None if link is None else stored.get(link) for key, link in links.items()}

    def compact(self, compacted: int, revision: int) -> None:
        passed = CHANGES.c.revision.between(compacted + 1, revision)
        replaced = select(CHANGES.c.prev_revision).where(passed, CHANGES.c.prev_revision.is_not(None))
        with self._transaction() as connection:
            connection.execute(delete(CHANGES).where(CHANGES.c.revision.in_(replaced)))
            connection.execute(delete(CHANGES).where(passed, CHANGES.c.body.is_(None)))
            forward = (META.c.name == "compacted", META.c.value < revision)  # steps of two compactions may mix
            connection.execute(update(META).where(*forward).values(value=revision))

    def trim(self) -> bool:
        with self._errors_explained():
            return self._dialect.trim(self._connected())

    def _execute(self, connection: Connection, text: statements.Text, rows: Sequence[Row]) -> None:
        for count, parameters in statements.chunks(rows):
            connection.exec_driver_sql(text(count, self._dialect.mark), parameters)

    @contextmanager
    def _transaction(self, *, waits: bool = True) -> Iterator[Connection]:
        """Commits at the end, or rolls back and raises."""
        with self._errors_explained():
            connection = self._connected()
            self._dialect.wait_for_others(connection, waits)
            with connection.begin():
                yield connection

    @contextmanager
    def _errors_explained(self) -> Iterator[None]:
        try:
            yield
        except SQLAlchemyError as error:
            if self._connection is not None and self._connection.in_transaction():
                self._disconnect()  # not even the rollback worked; the next call connects anew
            if not isinstance(error, DBAPIError):
                raise StorageUnavailable(str(error)) from error
            refusal = Busy if self._dialect.is_busy(error) else StorageUnavailable
            raise refusal(self._dialect.explain(error)) from error

    def _connected(self) -> Connection:
        if self._connection is None:
            assert self._engine is not None  # open() comes first
            self._connection = self._engine.connect()
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(SQLAlchemyError):
                connection.close()


def _compacted_of_known_schema(connection: Connection) -> int:
    meta = {row.name: row.value for row in connection.execute(select(META))}
    if not meta:
        connection.execute(
            insert(META), [{"name": "schema", "value": SCHEMA_VERSION}, {"name": "compacted", "value": 0}]
        )
        return 0
    if meta["schema"] > SCHEMA_VERSION:
        raise StorageUnavailable(
            f"the data was written by a newer version of this server (schema {meta['schema']}, "
            f"this one knows up to {SCHEMA_VERSION})"
        )
    return meta["compacted"]


def _current_objects(connection: Connection) -> Sequence[Stored]:
    columns = (CHANGES.c[name] for name in ("revision", "resource", "namespace", "name", "selectable", "body"))
    query = select(*columns).join_from(CURRENT, CHANGES, CURRENT.c.revision == CHANGES.c.revision)
    return [_stored(_key(*row[1:4]), row[0], *row[4:]) for row in connection.execute(query)]


def _stored_at(connection: Connection, revisions: Sequence[int]) -> Iterator[Stored]:
    columns = [CHANGES.c[name] for name in ("revision", "resource", "namespace", "name", "selectable", "body")]
    for begin in range(0, len(revisions), _KEYS_AT_ONCE):
        query = select(*columns).where(CHANGES.c.revision.in_(revisions[begin : begin + _KEYS_AT_ONCE]))
        for revision, resource, namespace, name, selectable, body in connection.execute(query):
            yield _stored(_key(resource, namespace, name), revision, selectable, body)


def _row(record: Record) -> Row:
    change, stored = record.change, record.change.current
    if stored is None:
        return (change.revision, *change.key, record.link, None, None)
    return (change.revision, *change.key, record.link, _selectable(stored), stored.body)


def _selectable(stored: Stored) -> str:
    return orjson.dumps({"labels": stored.labels, "fields": stored.fields}).decode()


def _key(resource: str, namespace: str, name: str) -> Key:
    return Key(intern(resource), intern(namespace), name)


def _stored(key: Key, revision: int, selectable: str, body: bytes) -> Stored:
    found = orjson.loads(selectable)
    return Stored(key, revision, body, found["labels"], found["fields"])


def _change(row: Any) -> Change:
    revision, resource, namespace, name, link, selectable, body, previous_selectable, previous_body = row
    key = _key(resource, namespace, name)
    return Change(
        revision,
        key,
        None if body is None else _stored(key, revision, selectable, body),
        None if previous_body is None else _stored(key, link, previous_selectable, previous_body),
    )
