"""Requests that are lost, refused, late or overtaken."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Self

import orjson

from kubeloop.apimachinery.errors import ApiError
from kubeloop.client.transport import ConnectionFailed, Request, Response
from kubeloop.testing.faults.fault import Fault, Layer, Send, Site, is_watch, is_write

# What RaceWrites writes: comparisons of states leave it out.
TOUCHED = "kubeloop.testing/touched"
_REFUSALS = ((429, "TooManyRequests"), (500, "InternalError"), (503, "ServiceUnavailable"), (504, "Timeout"))


@dataclass(frozen=True)
class LoseAnswers(Fault):
    """Of `share` of the writes that are committed the connection breaks before the answer is read; `limit` times."""

    may_double = True
    share: float = 0.3
    limit: int = 50

    def layer(self, site: Site) -> Layer:
        return _Lossy(site, self)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.1, 0.3, 0.6)))


class _Lossy(Layer):
    def __init__(self, site: Site, fault: LoseAnswers) -> None:
        super().__init__(site)
        self._fault, self._lost = fault, 0

    async def send(self, request: Request, pass_on: Send) -> Response:
        response = await pass_on(request)
        if is_write(request) and self._lost < self._fault.limit and self.site.happens(self._fault.share):
            self._lost += 1
            await response.aclose()
            raise ConnectionFailed(f"{request.method} {request.target}: connection cut before the answer")
        return response


@dataclass(frozen=True)
class RefuseRequests(Fault):
    """`share` of all requests, reads and watches too, are answered 429, 500, 503 or 504 and have no effect.

    The limit lets a process get on that needs many answers in a row.
    """

    share: float = 0.2
    limit: int = 50

    def layer(self, site: Site) -> Layer:
        return _Refusing(site, self)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.1, 0.2, 0.4)))


class _Refusing(Layer):
    def __init__(self, site: Site, fault: RefuseRequests) -> None:
        super().__init__(site)
        self._fault, self._refused = fault, 0

    async def send(self, request: Request, pass_on: Send) -> Response:
        if self._refused >= self._fault.limit or not self.site.happens(self._fault.share):
            return await pass_on(request)
        self._refused += 1
        return refusal(*self.site.rng.choice(_REFUSALS), "refused by the test")


@dataclass(frozen=True)
class DelayRequests(Fault):
    """Each request but watches takes up to `seconds` to reach the server, its answer up to as long to come back."""

    seconds: float = 1.0

    def layer(self, site: Site) -> Layer:
        return _Slow(site, self)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.05, 0.5, 2.0)))


class _Slow(Layer):
    def __init__(self, site: Site, fault: DelayRequests) -> None:
        super().__init__(site)
        self._fault = fault

    async def send(self, request: Request, pass_on: Send) -> Response:
        if is_watch(request) or not self.site.is_active():
            return await pass_on(request)
        await self._wait()
        response = await pass_on(request)
        try:
            await self._wait()
        except BaseException:
            await response.aclose()
            raise
        return response

    async def _wait(self) -> None:
        await self.site.clock.sleep(self._fault.seconds * self.site.rng.random())


@dataclass(frozen=True)
class RaceWrites(Fault):
    """Just before `share` of the PUTs and PATCHes somebody else annotates the object: a version read before is old."""

    share: float = 0.3

    def layer(self, site: Site) -> Layer:
        return _Racing(site, self)

    @classmethod
    def drawn(cls, rng: random.Random) -> Self:
        return cls(rng.choice((0.2, 0.5)))


class _Racing(Layer):
    def __init__(self, site: Site, fault: RaceWrites) -> None:
        super().__init__(site)
        self._fault, self._touches = fault, 0

    async def send(self, request: Request, pass_on: Send) -> Response:
        if request.method in ("PUT", "PATCH") and is_write(request) and self.site.happens(self._fault.share):
            await self._touch(request.target.partition("?")[0])
        return await pass_on(request)

    async def _touch(self, path: str) -> None:
        parts = path.split("/")
        if parts[-1] in ("status", "scale", "finalize", "approval", "token", "resize"):
            path = "/".join(parts[:-1])
        self._touches += 1
        patch = {"metadata": {"annotations": {TOUCHED: f"{self.site.process} {self._touches}"}}}
        try:
            await self.site.other.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
        except ApiError:
            return  # it is gone


class Refusal:
    """An answer that no server gave."""

    content_type = "application/json"

    def __init__(self, status: int, body: bytes) -> None:
        self.status, self._body = status, body

    async def read(self) -> bytes:
        return self._body

    async def chunks(self) -> AsyncIterator[bytes]:
        yield self._body

    async def aclose(self) -> None:
        return


def refusal(code: int, reason: str, message: str) -> Refusal:
    return Refusal(code, orjson.dumps(status_of(code, reason, message)))


def status_of(code: int, reason: str, message: str) -> dict[str, object]:
    kind = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
    return {**kind, "message": message, "reason": reason, "code": code}
