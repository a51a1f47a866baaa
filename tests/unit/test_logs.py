"""Log lines as klog writes them."""

import re
from collections.abc import Iterator

import orjson
import pytest
import structlog

from kubeloop.logs import configure_logging


@pytest.fixture(autouse=True)
def fresh_structlog() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def test_text_lines_are_klogs(capsys: pytest.CaptureFixture[str]) -> None:
    """Letter, date, time, process id, quoted message, then the fields."""
    configure_logging("text", 2)

    structlog.get_logger().warning("node is gone", node="n1", seconds=40)

    line = capsys.readouterr().err
    assert re.fullmatch(r'W\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+\] "node is gone" node="n1" seconds=40\n', line)


def test_json_lines_are_one_object_each(capsys: pytest.CaptureFixture[str]) -> None:
    """Message and fields are keys, and an exception's traceback stays within its line."""
    configure_logging("json", 2)

    structlog.get_logger().error("failed", pod="web", exc_info=ValueError("boom"))

    (line,) = capsys.readouterr().err.splitlines()
    entry = orjson.loads(line)
    assert ("error", "failed", "web") == (entry["level"], entry["msg"], entry["pod"])
    assert "ValueError: boom" in entry["stacktrace"]


@pytest.mark.parametrize(("verbosity", "lines"), [(2, 0), (4, 1)])
def test_details_are_shown_from_verbosity_4_on(verbosity: int, lines: int, capsys: pytest.CaptureFixture[str]) -> None:
    """Debug messages are klog's V(4)."""
    configure_logging("text", verbosity)

    structlog.get_logger().debug("detail")

    assert lines == len(capsys.readouterr().err.splitlines())
