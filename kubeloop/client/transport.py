"""What the Api needs of HTTP: send a request, get a response whose body is read at once or as it comes.

Two kinds exist: `connections.Connections` (sockets, what processes use) and `HttpxTransport`, which makes any httpx
transport fit (the in-process one of kubeloop.testing). httpx's own socket transport costs 700 µs of CPU a small
request, ours 100 µs (bench/client_request.py), and a control loop does little else than small requests.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, Protocol

from kubeloop.apimachinery.errors import ApiError

if TYPE_CHECKING:
    import httpx


class ConnectionFailed(ApiError):
    """No answer: refused, reset or timed out. A write may or may not have happened."""

    code, reason = 503, "ConnectionFailed"


class Request(NamedTuple):
    """`target` is path and query, in ASCII and percent-encoded; `on_warning` gets the answer's Warning headers."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    is_stream: bool = False  # its answer may never end: a watch
    on_warning: Callable[[str], None] | None = None


class Response(Protocol):
    """Must be closed. Both ways of reading raise ConnectionFailed where the connection is cut before the end."""

    @property
    def status(self) -> int: ...

    @property
    def content_type(self) -> str: ...

    async def read(self) -> bytes: ...

    def chunks(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class Transport(Protocol):
    async def send(self, request: Request) -> Response:
        """Returns once the head of the response is there; raises ConnectionFailed."""
        ...

    async def aclose(self) -> None: ...


class HttpxTransport:
    """Adapts an httpx transport."""

    def __init__(self, base_url: str, transport: httpx.AsyncBaseTransport) -> None:
        import httpx  # costs 30 ms; a process that speaks over sockets never needs it

        self._httpx = httpx
        self._base_url, self._transport = base_url, transport

    async def send(self, request: Request) -> Response:
        httpx = self._httpx
        message = httpx.Request(
            request.method, self._base_url + request.target, headers=request.headers, content=request.body or None
        )
        try:
            response = await self._transport.handle_async_request(message)
        except (httpx.HTTPError, OSError) as error:
            raise ConnectionFailed(f"{request.method} {request.target}: {error!r}") from error
        if request.on_warning:
            for warning in response.headers.get_list("warning"):
                request.on_warning(warning)
        return _HttpxResponse(response, (httpx.HTTPError, httpx.StreamError, OSError))

    async def aclose(self) -> None:
        await self._transport.aclose()


class _HttpxResponse:
    def __init__(self, response: httpx.Response, failures: tuple[type[Exception], ...]) -> None:
        self._response, self._failures = response, failures
        self.status = response.status_code
        self.content_type = response.headers.get("content-type", "")

    async def read(self) -> bytes:
        try:
            return await self._response.aread()
        except self._failures as error:
            raise ConnectionFailed(repr(error)) from error

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_raw():
                yield chunk
        except self._failures as error:
            raise ConnectionFailed(repr(error)) from error

    async def aclose(self) -> None:
        await self._response.aclose()
