"""`kubeloop stages`: what there is, and each set as documents that can be applied."""

from __future__ import annotations

import pytest
import yaml

from kubeloop.apimachinery.stage_sets import SETS
from kubeloop.cli.main import main


def test_the_sets_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with what it does."""
    assert 0 == main(["stages"])
    assert list(SETS) == [line.split()[0] for line in capsys.readouterr().out.splitlines()]


def test_a_set_is_printed_as_documents(capfd: pytest.CaptureFixture[str]) -> None:
    """By the process that plays it."""
    assert 0 == main(["stages", "fast"])
    assert {"Stage"} == {document["kind"] for document in yaml.safe_load_all(capfd.readouterr().out)}


def test_a_set_that_does_not_exist_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With those that do."""
    assert 1 == main(["stages", "slow"])
    assert "there are fast, general, chaos" in capsys.readouterr().err
