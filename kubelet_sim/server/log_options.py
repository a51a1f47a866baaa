"""What is asked of a log: PodLogOptions as the API server hands them on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from kubelet_sim import log
from kubelet_sim.server.exchange import Refused
from kubeloop.apimachinery.times import parse_time
from kubeloop.runtime.http_request import Request

_STREAMS = {"": (log.STDOUT, log.STDERR), "All": (log.STDOUT, log.STDERR)} | {
    "Stdout": (log.STDOUT,),
    "Stderr": (log.STDERR,),
}


@dataclass(frozen=True, slots=True)
class Options:
    """PodLogOptions; None where something is not limited."""

    follows: bool = False
    is_previous: bool = False
    has_timestamps: bool = False
    since: datetime | None = None
    tail_lines: int | None = None
    limit_bytes: int | None = None
    streams: tuple[int, ...] = (log.STDOUT, log.STDERR)

    @classmethod
    def of(cls, request: Request, now: datetime) -> Options:
        """Refused where they cannot be read; the API server has read them before."""
        since = None
        try:
            if text := request.first("sinceTime"):
                since = parse_time(text)
            if text := request.first("sinceSeconds"):
                since = now - timedelta(seconds=int(text))
            tail, limit = request.first("tailLines"), request.first("limitBytes")
            return cls(
                request.first("follow") == "true",
                request.first("previous") == "true",
                request.first("timestamps") == "true",
                since,
                int(tail) if tail else None,
                int(limit) if limit else None,
                _STREAMS[request.first("stream")],
            )
        except (ValueError, KeyError, OverflowError) as error:
            raise Refused(400, '{"message": "Unable to decode query."}') from error
