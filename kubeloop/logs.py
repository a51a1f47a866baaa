"""Logging of every process: structlog, as klog-like text or JSON lines, on standard error."""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logging(form: str, verbosity: int) -> None:
    """`form` is "text" or "json"; a verbosity of 4 or more shows details."""
    level = logging.DEBUG if verbosity >= 4 else logging.INFO
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(message)s")
    renderer = (
        structlog.processors.JSONRenderer()
        if form == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
