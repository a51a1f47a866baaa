"""Request options, checked: CreateOptions, UpdateOptions, PatchOptions, DeleteOptions, ListOptions of meta.k8s.io.

The handlers read them from the query (and, for deletes, the body); the stores obey them.
Source of the rules: apimachinery/pkg/apis/meta/v1/validation and internalversion/validation (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from apiserver.registry.selectors import parse_selectors
from kubeloop.apimachinery import numbers
from kubeloop.apimachinery.errors import BadRequest, Invalid
from kubeloop.apimachinery.field import FieldError, forbidden, invalid, not_supported, required
from kubeloop.apimachinery.metadata_validation import field_manager_errors
from kubeloop.apimachinery.values import value

Query = Mapping[str, list[str]]

IGNORE, WARN, STRICT = "Ignore", "Warn", "Strict"


def refused(kind: str, errors: list[FieldError]) -> Invalid:
    """`CreateOptions.meta.k8s.io "" is invalid: …`."""
    return Invalid.of(kind, "meta.k8s.io", "", errors)


def first(query: Query, name: str) -> str:
    values = query.get(name)
    return values[0] if values else ""


def parse_int(text: str) -> int:
    """A number as Go's strconv.ParseInt takes it; the 400 carries its words."""
    try:
        return numbers.parse_int(text)
    except numbers.NumError as error:
        raise BadRequest(str(error)) from error


def parse_bool(query: Query, name: str) -> bool:
    """A flag as Go's query decoding reads it: present and neither "false" nor "0" is true."""
    values = query.get(name) or ["false"]
    return values[0].lower() not in ("false", "0")


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """What a create, update or patch may ask for. `force` only means something to an apply patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = WARN
    force: bool = False
    sent: Mapping[str, Any] = field(default_factory=dict)  # as CreateOptions or UpdateOptions have it

    @classmethod
    def parse(cls, kind: str, query: Query) -> WriteOptions:
        """`kind` is CreateOptions or UpdateOptions: it names itself in refusals."""
        return cls._parse(kind, query, []) if query else _DEFAULT_WRITE

    @classmethod
    def parse_patch(cls, query: Query, *, is_apply: bool) -> WriteOptions:
        """PatchOptions: an apply needs a manager, and only an apply may be forced."""
        errors: list[FieldError] = []
        if is_apply and not first(query, "fieldManager"):
            errors.append(required("fieldManager", "is required for apply patch"))
        if not is_apply and "force" in query:
            errors.append(forbidden("force", "may not be specified for non-apply patch"))
        return cls._parse("PatchOptions", query, errors) if query or errors else _DEFAULT_WRITE

    @classmethod
    def _parse(cls, kind: str, query: Query, errors: list[FieldError]) -> WriteOptions:
        dry_run = query.get("dryRun", [])
        manager, validation = first(query, "fieldManager"), first(query, "fieldValidation")
        errors += field_manager_errors(manager, "fieldManager")
        errors += dry_run_errors(dry_run)
        if validation not in ("", IGNORE, WARN, STRICT):
            errors.append(not_supported("fieldValidation", validation, ["", IGNORE, STRICT, WARN]))
        if errors:
            raise refused(kind, errors)
        sent = {"dryRun": dry_run, "fieldManager": manager, "fieldValidation": validation}
        given = {name: value for name, value in sent.items() if value}
        return cls(bool(dry_run), manager, validation or WARN, parse_bool(query, "force"), given)


_DEFAULT_WRITE = WriteOptions()


def dry_run_errors(values: list[str]) -> list[FieldError]:
    if all(value == "All" for value in values):
        return []
    return [not_supported("dryRun", values, ["All"])]


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete. Unset values are None; `uid` and `resource_version` are the preconditions."""

    dry_run: bool = False
    grace_period_seconds: int | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    uid: str | None = None
    resource_version: str | None = None

    @property
    def says_what_becomes_of_dependents(self) -> bool:
        return self.propagation_policy is not None or self.orphan_dependents is not None

    def shown(self) -> Mapping[str, Any]:
        """What is set, as DeleteOptions has it."""
        preconditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        options = {
            "gracePeriodSeconds": self.grace_period_seconds,
            "preconditions": {name: value for name, value in preconditions.items() if value} or None,
            "orphanDependents": self.orphan_dependents,
            "propagationPolicy": self.propagation_policy,
            "dryRun": ["All"] if self.dry_run else None,
        }
        return {name: value for name, value in options.items() if value is not None}

    @classmethod
    def parse(cls, query: Query, body: Mapping[str, Any] | None) -> DeleteOptions:
        """A body, even an empty one, replaces the query."""
        if body is not None:
            options = cls._from_body(body)
            dry_run = body.get("dryRun") or []
        else:
            dry_run = query.get("dryRun", [])
            options = cls(
                dry_run=bool(dry_run),
                grace_period_seconds=parse_int(first(query, "gracePeriodSeconds"))
                if "gracePeriodSeconds" in query
                else None,
                propagation_policy=first(query, "propagationPolicy") if "propagationPolicy" in query else None,
                orphan_dependents=parse_bool(query, "orphanDependents") if "orphanDependents" in query else None,
                uid=first(query, "uid") or None,
                resource_version=first(query, "resourceVersion") or None,
            )
        options._check(dry_run)
        return options

    @classmethod
    def _from_body(cls, body: Mapping[str, Any]) -> DeleteOptions:
        preconditions = body.get("preconditions") or {}
        return cls(
            dry_run=bool(body.get("dryRun")),
            grace_period_seconds=body.get("gracePeriodSeconds"),
            propagation_policy=body.get("propagationPolicy"),
            orphan_dependents=body.get("orphanDependents"),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
        )

    def _check(self, dry_run: list[str]) -> None:
        errors: list[FieldError] = []
        if self.orphan_dependents is not None and self.propagation_policy is not None:
            errors.append(
                invalid(
                    "propagationPolicy",
                    self.propagation_policy,
                    "orphanDependents and deletionPropagation cannot be both set",
                )
            )
        if self.propagation_policy not in (None, "Foreground", "Background", "Orphan"):
            allowed = ["Foreground", "Background", "Orphan", "nil"]
            errors.append(not_supported("propagationPolicy", self.propagation_policy, allowed))
        errors += dry_run_errors(dry_run)
        if errors:
            raise refused("DeleteOptions", errors)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """What a list or watch asks for, as text where its meaning depends on the verb."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_token: str = ""
    watch: bool = False
    allow_watch_bookmarks: bool = False
    send_initial_events: bool | None = None
    timeout_seconds: int | None = None

    @classmethod
    def parse(cls, query: Query) -> ListOptions:
        """BadRequest for what cannot be read, then Invalid for what does not go together."""
        if not query:
            return _DEFAULT_LIST
        timeout, limit = first(query, "timeoutSeconds"), first(query, "limit")
        timeout_seconds = parse_int(timeout) if "timeoutSeconds" in query else None
        options = cls(
            label_selector=first(query, "labelSelector"),
            field_selector=first(query, "fieldSelector"),
            resource_version=first(query, "resourceVersion"),
            resource_version_match=first(query, "resourceVersionMatch"),
            limit=parse_int(limit) if "limit" in query else 0,
            continue_token=first(query, "continue"),
            watch=parse_bool(query, "watch"),
            allow_watch_bookmarks=parse_bool(query, "allowWatchBookmarks"),
            send_initial_events=parse_bool(query, "sendInitialEvents") if "sendInitialEvents" in query else None,
            timeout_seconds=timeout_seconds,
        )
        parse_selectors(options.label_selector, options.field_selector)
        options = options._with_defaults()
        errors = options._watch_errors() if options.watch else options._list_errors()
        if errors:
            raise refused("ListOptions", errors)
        return options

    def _with_defaults(self) -> ListOptions:
        """A watch from nowhere in particular begins with what exists, and says where that ends if bookmarks may come.

        The old form of a path, /watch/, does not count: only the parameter does.
        """
        is_open = self.watch and self.send_initial_events is None and not self.resource_version_match
        if not is_open or self.resource_version not in ("", "0"):
            return self
        return replace(self, send_initial_events=True, resource_version_match="NotOlderThan")

    def _list_errors(self) -> list[FieldError]:
        errors: list[FieldError] = []
        match = self.resource_version_match
        if match:
            if not self.resource_version:
                errors.append(
                    forbidden(
                        "resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided"
                    )
                )
            if self.continue_token:
                errors.append(
                    forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
                )
            if match not in ("Exact", "NotOlderThan"):
                errors.append(not_supported("resourceVersionMatch", match, ["Exact", "NotOlderThan", ""]))
            if match == "Exact" and self.resource_version == "0":
                errors.append(
                    forbidden(
                        "resourceVersionMatch", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
                    )
                )
        if self.send_initial_events is not None:
            errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
        return errors

    def _watch_errors(self) -> list[FieldError]:
        errors: list[FieldError] = []
        match, not_older = self.resource_version_match, "NotOlderThan"
        if self.send_initial_events is not None and match != not_older:
            errors.append(
                forbidden(
                    "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
                )
            )
        if match:
            if self.send_initial_events is None:
                errors.append(
                    forbidden(
                        "resourceVersionMatch",
                        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
                    )
                )
            if match != not_older:
                errors.append(not_supported("resourceVersionMatch", match, [not_older]))
            if self.continue_token:
                errors.append(
                    forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden when continue is provided")
                )
        return errors


_DEFAULT_LIST = ListOptions()


@value
class Warnings:
    """Texts for `Warning` headers, gathered while a request is carried out; each text once, in order."""

    _texts: dict[str, None] = field(default_factory=dict)

    def add(self, *texts: str) -> None:
        self._texts.update(dict.fromkeys(texts))

    @property
    def texts(self) -> Sequence[str]:
        return list(self._texts)
