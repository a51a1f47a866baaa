"""Logging of every process: structlog on standard error, as klog's text (the default) or klog's JSON lines."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from collections.abc import MutableMapping
from datetime import UTC, datetime
from typing import Any

import orjson
import structlog

from kubeloop.apimachinery.times import format_micro_time

Fields = MutableMapping[str, Any]

# klog writes "debug" messages from verbosity 4 on.
DEBUG_VERBOSITY = 4


def configure_logging(form: str, verbosity: int) -> None:
    """`form` is "text" or "json"; a verbosity of 4 or more shows details. Once, at the start of a process."""
    level = logging.DEBUG if verbosity >= DEBUG_VERBOSITY else logging.INFO
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    structlog.configure(
        processors=[_render_json if form == "json" else _render_text],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def plain_logs_in_tests() -> None:
    """The same lines, to wherever standard error goes at the time, unless somebody has configured structlog already.

    structlog's own default shows the local variables of every frame: pages for each retry, Secrets included.
    """
    if not structlog.is_configured():
        structlog.configure(
            processors=[_render_text],
            logger_factory=lambda *_: structlog.WriteLogger(sys.stderr),
            cache_logger_on_first_use=False,
        )


def _render_text(_: Any, level: str, fields: Fields) -> str:
    """`I1130 00:02:50.123456    4711] "scaled replica set" replica_set="default/web" replicas_to=3`."""
    now = datetime.now(UTC)
    message, error = _take_message(fields)
    pairs = "".join(f" {name}={_quoted(value)}" for name, value in fields.items())
    head = f"{_LETTERS.get(level, 'I')}{now:%m%d %H:%M:%S.%f} {os.getpid():>7}]"
    line = f'{head} "{message}"{pairs}'
    return f"{line}\n{error.rstrip()}" if error else line


def _render_json(_: Any, level: str, fields: Fields) -> str:
    message, error = _take_message(fields)
    line = {"ts": format_micro_time(datetime.now(UTC)), "level": level, "msg": message, **fields}
    if error:
        line["stacktrace"] = error
    return orjson.dumps(line, default=str).decode()


def _take_message(fields: Fields) -> tuple[str, str]:
    """The constant message, and the traceback of `exc_info` as text."""
    message = fields.pop("event", "")
    error = fields.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()[1]
    return message, "".join(traceback.format_exception(error)) if isinstance(error, BaseException) else ""


def _quoted(value: Any) -> str:
    return orjson.dumps(value, default=str).decode()


_LETTERS = {"debug": "I", "info": "I", "warning": "W", "error": "E", "critical": "F", "exception": "E"}
