"""Statements that carry many rows."""

from __future__ import annotations

from apiserver.storage.statements import chunks, insert_changes, remove_current


def test_rows_are_cut_into_powers_of_two() -> None:
    """Every row comes once, in order, in pieces whose sizes are powers of two."""
    rows = [(i, str(i)) for i in range(1300)]

    pieces = list(chunks(rows))

    assert [512, 512, 256, 16, 4] == [count for count, _ in pieces]
    flat = [value for _, parameters in pieces for value in parameters]
    assert [value for row in rows for value in row] == flat


def test_no_rows_need_no_statement() -> None:
    """Nothing to write, nothing to execute."""
    assert [] == list(chunks([]))


def test_a_statement_has_a_mark_for_each_parameter() -> None:
    """Placeholders are spelled as the database driver wants them."""
    assert 14 == insert_changes(2, "?").count("?")
    assert 9 == remove_current(3, "%s").count("%s")
