"""What a request body says it is: kind and apiVersion, read before anything else, with the real server's refusals.

`handlers` calls `sent_kind` on a parsed body, then `refusal` with the kind the path names; what the body leaves out is
taken from the path. Messages are those of k8s.io/apimachinery's serializers and of the request handlers (v1.36).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from apiserver.schema.definitions import Schema
from kubeloop.apimachinery.field import go_quote

_QUOTED_BYTES = 30
_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_STRUCT = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'

# Versions the real server can still read although no path serves them any more.
_READABLE = {
    "admissionregistration.k8s.io": {"v1beta1", "v1alpha1"},
    "apps": {"v1beta1", "v1beta2"},
    "authentication.k8s.io": {"v1beta1", "v1alpha1"},
    "authorization.k8s.io": {"v1beta1"},
    "batch": {"v1beta1"},
    "certificates.k8s.io": {"v1beta1", "v1alpha1"},
    "coordination.k8s.io": {"v1beta1", "v1alpha2"},
    "discovery.k8s.io": {"v1beta1"},
    "events.k8s.io": {"v1beta1"},
    "extensions": {"v1beta1"},
    "flowcontrol.apiserver.k8s.io": {"v1beta1", "v1beta2", "v1beta3"},
    "networking.k8s.io": {"v1beta1"},
    "node.k8s.io": {"v1beta1", "v1alpha1"},
    "policy": {"v1beta1"},
    "rbac.authorization.k8s.io": {"v1beta1", "v1alpha1"},
    "scheduling.k8s.io": {"v1beta1", "v1alpha2"},
    "storage.k8s.io": {"v1beta1", "v1alpha1"},
}


class GroupVersionKind(NamedTuple):
    """A kind in a version of an API group; the core group is ""."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


_LIST = GroupVersionKind("", "v1", "List")  # what kubectl makes of several objects; it has no definition


class TypeMetaError(ValueError):
    """The body does not say what it is; the message goes into `unrecognized`."""


def sent_kind(value: Any, expected: GroupVersionKind) -> GroupVersionKind:
    """The kind a parsed body names, completed from the path's. Raises TypeMetaError."""
    if value is None:
        return expected
    if not isinstance(value, dict):
        raise TypeMetaError(_parse_error(f"json: cannot unmarshal {_go_kind(value)} into Go value of type {_STRUCT}"))
    api_version, kind = _text(value, "apiVersion"), _text(value, "kind")
    if api_version.count("/") > 1:
        raise TypeMetaError(f"unexpected GroupVersion string: {api_version}")
    group, _, version = api_version.rpartition("/")
    kind = kind or expected.kind
    if not version and group in ("", expected.group):
        return GroupVersionKind(expected.group, expected.version, kind)
    return GroupVersionKind(group, version, kind)


def _text(value: dict[str, Any], key: str) -> str:
    text = value.get(key)
    if text is None:
        return ""
    if not isinstance(text, str):
        message = f"json: cannot unmarshal {_go_kind(text)} into Go struct field .{key} of type string"
        raise TypeMetaError(_parse_error(message))
    return text


def refusal(schema: Schema, sent: GroupVersionKind, expected: GroupVersionKind) -> str:
    """Why a body of the kind `sent`, decodable as such, cannot be taken for `expected`; "" where it is that kind."""
    if sent == expected:
        return ""
    if why := inconvertible(schema, sent, expected):
        return cannot_be_handled(sent, expected.kind, why)
    return (
        f"the API version in the data ({sent.api_version}) does not match the expected API version "
        f"({expected.api_version})"
    )


def inconvertible(schema: Schema, sent: GroupVersionKind, expected: GroupVersionKind) -> str:
    """Why no `expected` can be made of a `sent`; "" where it can, for it is but another version of it."""
    known = schema.definition_name(*sent) != "" or sent == _LIST
    if not known and not (sent.kind == expected.kind and sent.version in _READABLE.get(sent.group, ())):
        kind, version = go_quote(sent.kind), go_quote(sent.api_version)
        return f'no kind {kind} is registered for version {version} in scheme "{_SCHEME}"'
    if sent.kind != expected.kind or not _is_family(sent.group, expected.group):
        internal = f"{_internal(expected.group)}.{expected.kind}"
        return f"converting ({sent.version}.{sent.kind}) to ({internal}): unknown conversion"
    return ""


def cannot_be_handled(sent: GroupVersionKind, expected_kind: str, why: str) -> str:
    """`Deployment in version "v1" cannot be handled as a Deployment: …`."""
    return f"{sent.kind} in version {go_quote(sent.version)} cannot be handled as a {expected_kind}: {why}"


def unrecognized(expected_kind: str, why: object, raw: bytes) -> str:
    """The refusal of a body that does not even say what it is, with its first bytes, as text if that may be JSON."""
    return f"the object provided is unrecognized (must be of type {expected_kind}): {why} ({_summary(raw)})"


def json_problem(error: ValueError) -> str:
    """A JSON syntax error as the reader of kind and apiVersion reports it."""
    return _parse_error(str(error))


def _parse_error(why: str) -> str:
    return f"couldn't get version/kind; json parse error: {why}"


def _summary(raw: bytes) -> str:
    if not raw:
        return "<empty>"
    shown = raw[:_QUOTED_BYTES]
    text = shown.decode("utf-8", "replace") if raw.startswith(b"{") else shown.hex()
    return text + (" ..." if len(raw) > _QUOTED_BYTES else "")


def _is_family(sent: str, expected: str) -> bool:
    """Whether two groups share Go types: events moved out of core, workloads out of extensions."""
    return sent == expected or sent == "extensions" or {sent, expected} == {"", "events.k8s.io"}


def _internal(group: str) -> str:
    """The Go package of a group's internal types."""
    return "core" if group in ("", "events.k8s.io") else group.partition(".")[0]


def _go_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    return "object" if isinstance(value, dict) else "number"
