"""Reviews: questions about users and permissions that are asked by creating an object, which is answered, not stored.

The store calls `review` for the kinds of authorization.k8s.io and authentication.k8s.io and returns what it returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from apiserver.auth.authentication import Authenticator, TokenRefused, User
from apiserver.auth.authorization import Access, Authorizer
from apiserver.auth.review_selectors import field_selector_of, selector_errors, unread
from kubeloop.apimachinery import field
from kubeloop.apimachinery.errors import BadRequest, Invalid
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.metadata_validation import go_owner_reference
from kubeloop.apimachinery.times import format_time

AUTHORIZATION_GROUP = "authorization.k8s.io"
# Those that a question may be sent with, in the order of Go's type.
_METADATA_FIELDS = (
    "name",
    "generateName",
    "namespace",
    "resourceVersion",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_SYSTEM_FIELDS = ("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "selfLink", "uid")


@dataclass(frozen=True, slots=True)
class Reviewers:
    """What answers are made from. `now` is when the request came."""

    authenticator: Authenticator
    authorizer: Authorizer
    now: datetime


def prepare(obj: Object, namespace: str) -> None:
    """What every create does to its object first: the system's fields go, and the namespace is the URL's.

    `namespace` is "" for what has none. BadRequest where the object says another.
    """
    metadata = obj["metadata"] = dict(obj.get("metadata") or {})
    for name in _SYSTEM_FIELDS:
        metadata.pop(name, None)
    if not namespace:
        metadata.pop("namespace", None)
    elif metadata.setdefault("namespace", namespace) != namespace:
        raise BadRequest("the namespace of the provided object does not match the namespace sent on the request")


def review(kind: str, obj: Object, user: User, reviewers: Reviewers, namespace: str = "") -> Object:
    """The object with its status filled in; Invalid or BadRequest where the question makes no sense.

    `namespace` is the one of the URL (LocalSubjectAccessReview).
    """
    return _REVIEWS[kind](obj, user, reviewers, namespace)


def _self_subject_access_review(obj: Object, user: User, reviewers: Reviewers, namespace: str) -> Object:
    spec = obj.get("spec") or {}
    _check(_attributes_errors(spec) + _selector_errors(spec) + _metadata_errors(obj, ()))
    return {**_question(obj), "status": _access_status(spec, user, reviewers.authorizer)}


def _subject_access_review(obj: Object, user: User, reviewers: Reviewers, namespace: str) -> Object:
    spec = obj.get("spec") or {}
    _check(_attributes_errors(spec) + _subject_errors(spec) + _selector_errors(spec) + _metadata_errors(obj, ()))
    return {**_question(obj), "status": _access_status(spec, _subject(spec), reviewers.authorizer)}


def _local_subject_access_review(obj: Object, user: User, reviewers: Reviewers, namespace: str) -> Object:
    spec = obj.get("spec") or {}
    own = (obj.get("metadata") or {}).get("namespace", "")
    _check(
        _attributes_errors(spec)
        + _subject_errors(spec)
        + _selector_errors(spec)
        + _metadata_errors(obj, ("namespace",))
        + _local_errors(spec, own)
    )
    return {**_question(obj), "status": _access_status(spec, _subject(spec), reviewers.authorizer)}


def _self_subject_rules_review(obj: Object, user: User, reviewers: Reviewers, namespace: str) -> Object:
    """The rules that hold for the user; the question itself is not repeated in the answer."""
    asked = (obj.get("spec") or {}).get("namespace")
    if not asked:
        raise BadRequest("no namespace on request")
    found = reviewers.authorizer.rules_for(user, asked)
    resource_fields = ("verbs", "apiGroups", "resources", "resourceNames")
    status: Object = {
        "resourceRules": [_picked(rule, resource_fields) for rule in found.rules if rule.get("resources")],
        "nonResourceRules": [
            _picked(rule, ("verbs", "nonResourceURLs")) for rule in found.rules if rule.get("nonResourceURLs")
        ],
        "incomplete": found.incomplete,
    }
    if found.error:
        status["evaluationError"] = found.error
    return {**_type_of(obj), "metadata": {}, "spec": {}, "status": status}


def _self_subject_review(obj: Object, user: User, reviewers: Reviewers, namespace: str) -> Object:
    metadata = {"creationTimestamp": format_time(reviewers.now)}
    return {**_type_of(obj), "metadata": metadata, "status": {"userInfo": user_info(user)}}


def _token_review(obj: Object, user: User, reviewers: Reviewers, namespace: str) -> Object:
    """Whose a token is, for the audiences asked about."""
    spec = obj.get("spec") or {}
    if not spec.get("token"):
        raise BadRequest("token is required for TokenReview in authentication")
    authenticator = reviewers.authenticator
    try:
        found = authenticator.identify(spec["token"], spec.get("audiences") or authenticator.audiences)
    except TokenRefused as refused:
        status: Object = {"user": {}, "error": str(refused)}
    else:
        status = {"authenticated": True, "user": user_info(found.user), "audiences": list(found.audiences)}
    return {**_question(obj), "status": status}


_REVIEWS: Mapping[str, Callable[[Object, User, Reviewers, str], Object]] = {
    "LocalSubjectAccessReview": _local_subject_access_review,
    "SelfSubjectAccessReview": _self_subject_access_review,
    "SelfSubjectReview": _self_subject_review,
    "SelfSubjectRulesReview": _self_subject_rules_review,
    "SubjectAccessReview": _subject_access_review,
    "TokenReview": _token_review,
}


def user_info(user: User) -> Object:
    """A user as authentication.k8s.io writes one."""
    info: Object = {"username": user.name}
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = list(user.groups)
    if user.extra:
        info["extra"] = {key: list(values) for key, values in user.extra.items()}
    return info


def _access_status(spec: Mapping[str, Any], user: User, authorizer: Authorizer) -> Object:
    decision = authorizer.authorize(_access(spec, user))
    status: Object = {"allowed": decision.allowed}
    if decision.reason:
        status["reason"] = decision.reason
    if errors := unread(spec.get("resourceAttributes") or {}):
        status["evaluationError"] = "; ".join(errors)
    return status


def _access(spec: Mapping[str, Any], user: User) -> Access:
    path = spec.get("nonResourceAttributes")
    if path is not None:
        return Access(user, path.get("verb", ""), path=path.get("path", ""))
    asked = spec["resourceAttributes"]
    return Access(
        user,
        asked.get("verb", ""),
        asked.get("group", ""),
        asked.get("version") or "*",
        asked.get("resource", ""),
        asked.get("subresource", ""),
        asked.get("namespace", ""),
        asked.get("name", ""),
        field_selector=field_selector_of(asked),
    )


def _subject(spec: Mapping[str, Any]) -> User:
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), spec.get("extra") or {})


def _check(errors: Sequence[FieldError]) -> None:
    """The real server leaves kind and name of a refused review empty."""
    if errors:
        raise Invalid.of("", AUTHORIZATION_GROUP, "", errors)


def _attributes_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and path is not None:
        shown = _go_path(path)
        detail = "cannot be specified in combination with resourceAttributes"
        return [field.invalid("spec.nonResourceAttributes", shown, detail)]
    if resource is None and path is None:
        detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        return [field.invalid("spec.resourceAttributes", None, detail)]
    return []


def _subject_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    if spec.get("user") or spec.get("groups"):
        return []
    return [field.invalid("spec.user", "", "at least one of user or group must be specified")]


def _selector_errors(spec: Mapping[str, Any]) -> list[FieldError]:
    return selector_errors(spec.get("resourceAttributes") or {})


def _metadata_errors(obj: Object, allowed: Sequence[str]) -> list[FieldError]:
    metadata = obj.get("metadata") or {}
    if all(key in allowed or key == "managedFields" or not value for key, value in metadata.items()):
        return []
    detail = "must be empty except for namespace" if allowed else "must be empty"
    return [field.invalid("metadata", _go_metadata(metadata), detail)]


def _go_metadata(metadata: Mapping[str, Any]) -> Object:
    """Metadata as Go prints it: in its type's order, maps sorted, without what is empty."""
    printed: Object = {name: metadata[name] for name in _METADATA_FIELDS if metadata.get(name)}
    for name in ("labels", "annotations"):
        if name in printed:
            printed[name] = dict(sorted(printed[name].items()))
    if owners := printed.get("ownerReferences"):
        printed["ownerReferences"] = [go_owner_reference(owner) for owner in owners]
    return printed


def _local_errors(spec: Mapping[str, Any], namespace: str) -> list[FieldError]:
    errors = []
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None and resource.get("namespace", "") != namespace:
        asked = resource.get("namespace", "")
        errors.append(field.invalid("spec.resourceAttributes.namespace", asked, "must match metadata.namespace"))
    if path is not None:
        shown = _go_path(path)
        errors.append(field.invalid("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
    return errors


def _go_path(path: Mapping[str, Any]) -> Object:
    """nonResourceAttributes with the field names of Go's internal type, as its errors print it."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _question(obj: Object) -> Object:
    """The object as it was asked, without a status the asker may have sent."""
    return {**_type_of(obj), "metadata": obj.get("metadata") or {}, "spec": obj.get("spec") or {}}


def _type_of(obj: Object) -> Object:
    return _picked(obj, ("kind", "apiVersion"))


def _picked(obj: Mapping[str, Any], names: Sequence[str]) -> Object:
    return {name: obj[name] for name in names if obj.get(name)}
