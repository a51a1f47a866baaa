"""Programs that ask for others: names are those of Services and pods, and pages are the ones that pods answer with.

Where a script is only guessed at nobody can be asked. It is assumed that whoever is asked for answers, which is what
people write such containers for: to see that it does, or to wait until it does. What the answer says is not known; who
reads a log may ask later.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubelet_sim.shell.effects import STDERR, STDOUT, Ask, Running, Write, WriteUnknown
from kubelet_sim.shell.interpreter import Shell
from kubelet_sim.shell.programs import Program, refuse

DNS_SERVER = "10.96.0.10"
_PORT = re.compile("[0-9]{1,5}")


@dataclass(frozen=True, slots=True)
class Page:
    """What is answered to GET. `is_refused`: the host is there, and nothing listens on that port."""

    body: str = ""
    is_refused: bool = False


def _assumed(ask: Ask, told: Callable[[Any], str]) -> Running:
    """It has answered."""
    yield WriteUnknown(ask, told)
    return 0


def _body(page: Page | None) -> str:
    return "" if page is None else page.body


def _nslookup(shell: Shell, arguments: Sequence[str]) -> Running:
    names = [argument for argument in arguments if not argument.startswith("-")]
    if not names:
        return (yield from refuse("nslookup", "usage: nslookup HOST"))
    name = names[0]

    def told(found: Sequence[str] | None) -> str:
        records = "".join(f"Name:\t{name}\nAddress: {address}\n" for address in found or ())
        said = records or f"** server can't find {name}: NXDOMAIN\n"
        return f"Server:\t\t{DNS_SERVER}\nAddress:\t{DNS_SERVER}:53\n\n{said}\n"

    ask = Ask("addresses", name)
    if shell.world.is_guess:
        return (yield from _assumed(ask, told))
    found = yield ask
    yield Write(STDOUT, told(found))
    return 0 if found else 1


def _getent(shell: Shell, arguments: Sequence[str]) -> Running:
    if len(arguments) != 2 or arguments[0] not in ("hosts", "ahosts"):
        return (yield from refuse("getent", "usage: getent hosts HOST"))
    name = arguments[1]

    def told(found: Sequence[str] | None) -> str:
        return "".join(f"{address:<15} {name}\n" for address in found or ())

    ask = Ask("addresses", name)
    if shell.world.is_guess:
        return (yield from _assumed(ask, told))
    found = yield ask
    if found:
        yield Write(STDOUT, told(found))
    return 0 if found else 2


def _wget(shell: Shell, arguments: Sequence[str]) -> Running:
    url, target, is_quiet = _wanted(arguments, output="O")
    if not url:
        return (yield from refuse("wget", "usage: wget [-q] [-O FILE] URL"))
    host, port, path = _split(url)
    ask = Ask("page", host + path, port)
    if shell.world.is_guess:
        return (yield from _assumed(ask, _body)) if target == "-" else 0
    page = yield ask
    if page is None:
        return (yield from refuse("wget", f"bad address '{host}'"))
    if page.is_refused:
        return (yield from refuse("wget", f"can't connect to remote host ({host}:{port}): Connection refused"))
    if not is_quiet:
        yield Write(STDERR, f"Connecting to {host}:{port}\n")
    target = target or path.rpartition("/")[2] or "index.html"
    if target == "-":
        yield Write(STDOUT, page.body)
    else:
        shell.world.files[shell.path(target)] = page.body
    return 0


def _curl(shell: Shell, arguments: Sequence[str]) -> Running:
    url, target, _ = _wanted(arguments, output="o")
    if not url:
        return (yield from refuse("curl", "no URL specified", code=2))
    host, port, path = _split(url)
    ask = Ask("page", host + path, port)
    if shell.world.is_guess:
        return (yield from _assumed(ask, _body)) if target in ("", "-") else 0
    page = yield ask
    if page is None:
        return (yield from refuse("curl", f"(6) Could not resolve host: {host}", code=6))
    if page.is_refused:
        return (yield from refuse("curl", f"(7) Failed to connect to {host} port {port}: Connection refused", code=7))
    if target and target != "-":
        if target != "/dev/null":
            shell.world.files[shell.path(target)] = page.body
    else:
        yield Write(STDOUT, page.body)
    return 0


_WITH_VALUE = frozenset("OoTtmXHdAUw")


def _wanted(arguments: Sequence[str], output: str) -> tuple[str, str, bool]:
    """The URL, the file that it goes into, and whether nothing else is to be said."""
    url, target, is_quiet, rest = "", "", False, list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument.startswith("--"):
            continue
        if not argument.startswith("-") or argument == "-":
            url = url or argument
            continue
        for i, letter in enumerate(argument[1:], 1):
            is_quiet |= letter in "qs"
            if letter in _WITH_VALUE:
                value = argument[i + 1 :] or (rest.pop(0) if rest else "")
                target = value if letter == output else target
                break
    return url, target, is_quiet


def _split(url: str) -> tuple[str, int, str]:
    """Host, port and path."""
    scheme, has_scheme, rest = url.partition("://")
    host, slash, path = (rest if has_scheme else url).partition("/")
    default = 443 if has_scheme and scheme == "https" else 80
    name, colon, port = host.rpartition(":")
    if colon and _PORT.fullmatch(port):
        return name, int(port), slash + path
    return host, default, slash + path


NETWORK_PROGRAMS: Mapping[str, Program] = {
    "curl": _curl,
    "getent": _getent,
    "nslookup": _nslookup,
    "wget": _wget,
}
