"""`authorizer` in expressions: questions about access, built up call by call, and their answers.

Facts: k8s.io/apiserver/pkg/cel/library/authz.go (v1.36). Who decides is the caller's: an Authority
answers. `Remembering` asks it each question once, as upstream's caching authorizer does for each write.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

from kubeloop.apimachinery import validation
from kubeloop.cel import types
from kubeloop.cel.functions import Library, function, library
from kubeloop.cel.values import EvaluationError


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of a question. `error` says why it could not be answered."""

    cel_type: ClassVar[str] = types.DECISION.name
    allowed: bool
    reason: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """May `user` do `verb`: on a resource, or on a path where there is one."""

    user: Any
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


class Authority(Protocol):
    """Knows users and answers questions; users are opaque here."""

    def rule(self, question: Question) -> Ruling: ...

    def service_account(self, namespace: str, name: str) -> Any: ...


class Remembering:
    """An Authority that asks another one each question once."""

    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._known: dict[tuple[Any, ...], Ruling] = {}

    def rule(self, question: Question) -> Ruling:
        key = (repr(question.user), *(getattr(question, name) for name in _TOLD_APART))
        if key not in self._known:
            self._known[key] = self._authority.rule(question)
        return self._known[key]

    def service_account(self, namespace: str, name: str) -> Any:
        return self._authority.service_account(namespace, name)


_TOLD_APART = ("verb", "group", "resource", "subresource", "namespace", "name", "path")


@dataclass(frozen=True, slots=True)
class Authorizer:
    cel_type: ClassVar[str] = types.AUTHORIZER.name
    authority: Authority = field(repr=False)
    user: Any

    def of_service_account(self, namespace: str, name: str) -> Authorizer:
        if validation.dns_subdomain_errors(name):
            raise EvaluationError("Invalid service account name")
        if validation.dns_label_errors(namespace):
            raise EvaluationError("Invalid service account namespace")
        return Authorizer(self.authority, self.authority.service_account(namespace, name))


@dataclass(frozen=True, slots=True)
class PathCheck:
    cel_type: ClassVar[str] = types.PATH_CHECK.name
    authorizer: Authorizer
    path: str

    def check(self, verb: str) -> Ruling:
        return self.authorizer.authority.rule(Question(self.authorizer.user, verb, path=self.path))


@dataclass(frozen=True, slots=True)
class GroupCheck:
    cel_type: ClassVar[str] = types.GROUP_CHECK.name
    authorizer: Authorizer
    group: str


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    """Selectors are part of the question upstream; no authorizer here tells accesses apart by them."""

    cel_type: ClassVar[str] = types.RESOURCE_CHECK.name
    of_group: GroupCheck
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""

    def check(self, verb: str) -> Ruling:
        authorizer = self.of_group.authorizer
        return authorizer.authority.rule(
            Question(
                authorizer.user,
                verb,
                self.of_group.group,
                self.resource,
                self.subresource,
                self.namespace,
                self.name,
            )
        )


def _path(authorizer: Authorizer, path: str) -> PathCheck:
    return PathCheck(authorizer, _filled(path, "path"))


def _resource(check: GroupCheck, resource: str) -> ResourceCheck:
    return ResourceCheck(check, _filled(resource, "resource"))


def _filled(text: str, what: str) -> str:
    if not text.strip():
        raise EvaluationError(f"{what} must not be empty")
    return text


def _with(name: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def narrowed(check: ResourceCheck, value: str) -> ResourceCheck:
        changes: dict[str, Any] = {name: value}
        return replace(check, **changes)

    return narrowed


def _narrowing(cel_name: str, name: str) -> Any:
    return function(cel_name, _with(name), "resource_check.(string) resource_check")


AUTHORIZATION: Library = library(
    function("path", _path, "authorizer.(string) path_check"),
    function("group", GroupCheck, "authorizer.(string) group_check"),
    function("serviceAccount", lambda a, *who: a.of_service_account(*who), "authorizer.(string, string) authorizer"),
    function("resource", _resource, "group_check.(string) resource_check"),
    _narrowing("subresource", "subresource"),
    _narrowing("namespace", "namespace"),
    _narrowing("name", "name"),
    _narrowing("fieldSelector", "field_selector"),
    _narrowing("labelSelector", "label_selector"),
    function(
        "check",
        lambda check, verb: check.check(verb),
        "path_check.(string) decision",
        "resource_check.(string) decision",
    ),
    function("errored", lambda ruling: bool(ruling.error), "decision.() bool"),
    function("error", lambda ruling: ruling.error, "decision.() string"),
    function("allowed", lambda ruling: ruling.allowed, "decision.() bool"),
    function("reason", lambda ruling: ruling.reason, "decision.() string"),
)
