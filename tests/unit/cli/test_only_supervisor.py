"""One supervisor a data directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from kubeloop.cli.options import UsageError
from kubeloop.cli.state import FILE, StackState, only_supervisor


def test_a_second_supervisor_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    """Two that start at the same moment would run every loop twice."""
    with only_supervisor(tmp_path), pytest.raises(UsageError) as refused, only_supervisor(tmp_path):
        pass

    assert "a stack already runs" in str(refused.value)


def test_the_next_supervisor_is_let_in_when_the_first_has_ended(tmp_path: Path) -> None:
    """The lock goes with its holder."""
    with only_supervisor(tmp_path):
        pass

    with only_supervisor(tmp_path):
        pass


@pytest.mark.parametrize("text", ["[]", "{}", '{"supervisor": {"colour": "red"}, "processes": []}', "not json"])
def test_a_state_of_another_version_is_said_to_be_one(tmp_path: Path, text: str) -> None:
    """A stack.json that cannot be read is one line, not a traceback."""
    (tmp_path / FILE).write_text(text)

    with pytest.raises(UsageError) as refused:
        StackState.load(tmp_path)

    assert "not of this version" in str(refused.value)
