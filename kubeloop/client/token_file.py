"""A bearer token that lives in a file and is renewed there: the kubelet replaces a pod's every hour or so."""

from __future__ import annotations

from pathlib import Path

import structlog

from kubeloop.apimachinery.clock import Clock

log = structlog.get_logger(__name__)

REREAD_SECONDS = 60.0


class TokenFile:
    """Called with every request: the file's content, read again once a minute. What cannot be read is the last one."""

    def __init__(self, path: Path, clock: Clock) -> None:
        """OSError where there is no such file to begin with."""
        self._path, self._clock = path, clock
        self._token, self._read_at = path.read_text().strip(), clock.monotonic()

    def __call__(self) -> str:
        now = self._clock.monotonic()
        if now - self._read_at >= REREAD_SECONDS:
            self._read_at = now
            try:
                self._token = self._path.read_text().strip() or self._token
            except OSError as error:
                log.warning("token not read anew", file=str(self._path), error=error.strerror)
        return self._token
