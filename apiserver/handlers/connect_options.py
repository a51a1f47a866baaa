"""What a call to connect (exec, attach, port-forward, proxy) asks for, as the object that admission is shown.

Facts: PodExecOptions and its like in k8s.io/api/core/v1, getRequestOptions in endpoints/handlers/rest.go (v1.36).
"""

from __future__ import annotations

from apiserver.handlers.call import Call
from apiserver.registry.options import Query, first, parse_bool, parse_int
from kubeloop.apimachinery.meta import Object

_STREAMS = ("stdin", "stdout", "stderr", "tty")


def connect_options(call: Call) -> Object:
    """The options in a query; a proxy's path is what follows it in the URL."""
    query, what = call.query, call.target.subresource
    if what == "portforward":
        ports = [parse_int(port) for value in query.get("ports", ()) for port in value.split(",")]
        return {"ports": ports} if ports else {}
    if what == "proxy":
        return {"path": f"/{call.target.tail}"} if call.target.tail else {}
    return _streams(query) | ({"command": query.get("command")} if what == "exec" else {})


def _streams(query: Query) -> Object:
    options: Object = {name: True for name in _STREAMS if parse_bool(query, name)}
    if container := first(query, "container"):
        options["container"] = container
    return options


def stream_query(options: Object) -> Query:
    """How a kubelet is told of the streams and of the command (streamParams of registry/core/pod)."""
    names = {"stdin": "input", "stdout": "output", "stderr": "error", "tty": "tty"}
    query = {names[name]: ["1"] for name in _STREAMS if options.get(name)}
    return query | ({"command": list(options["command"])} if options.get("command") else {})


def port_query(options: Object) -> Query:
    return {"port": [str(port) for port in options["ports"]]} if options.get("ports") else {}
