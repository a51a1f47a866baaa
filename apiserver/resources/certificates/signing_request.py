"""CertificateSigningRequests: what is asked for never changes; approval and certificate come through endpoints."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from apiserver.auth.authentication import User
from apiserver.registry.strategy import UpdateRules
from apiserver.resources.certificates.signer_name import check_signer_name
from apiserver.resources.checks import NO_FIELDS, NO_ITEMS, Errors, check_one_of
from apiserver.resources.kinds import FieldMap, PlainKind, carry_over
from kubeloop.apimachinery import der, field, pem
from kubeloop.apimachinery.certificate_request import RequestError, parse_request
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.times import format_time

Json = Mapping[str, Any]

LEGACY_SIGNER = "kubernetes.io/legacy-unknown"
SHORTEST_LIFE_SECONDS = 600
APPROVED, DENIED, FAILED = "Approved", "Denied", "Failed"
STATUSES = ("False", "True", "Unknown")
USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)
FIELDS = FieldMap({"spec.signerName": ("spec", "signerName")})


class SigningRequestStrategy(PlainKind):
    rechecks_object = True
    checks_names = False

    def prepare_for_create(self, obj: Object) -> None:
        spec = obj.setdefault("spec", {})
        for name in ("username", "uid", "groups", "extra"):
            spec.pop(name, None)
        obj["status"] = {}

    def stamp_creator(self, obj: Object, user: User) -> None:
        """Whoever signs wants to know who asked."""
        extra = {key: list(values) for key, values in user.extra.items()}
        said = {"username": user.name, "uid": user.uid, "groups": list(user.groups), "extra": extra}
        obj["spec"].update({k: v for k, v in said.items() if v})

    def check(self, obj: Object, errors: Errors) -> None:
        _check_spec(obj.get("spec") or NO_FIELDS, "spec", errors)
        _check_conditions(_conditions(obj), "status.conditions", errors)

    def prepare_for_update(self, new: Object, old: Object) -> None:
        carry_over(new, old, "spec", "status")

    def check_update(self, new: Object, old: Object, errors: Errors) -> None:
        _check_change(self, new, old, errors, may_certify=False, may_approve=False)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Approval is decided elsewhere: where conditions of it are neither new nor gone, they stay as they were."""
        super().prepare_for_status_update(new, old)
        for kind in (APPROVED, DENIED):
            before, after = _of_type(old, kind), _of_type(new, kind)
            if len(before) == len(after):
                for condition, kept in zip(after, before, strict=True):
                    condition.clear()
                    condition.update(kept)

    def check_status_update(self, new: Object, old: Object, errors: Errors) -> None:
        _check_change(self, new, old, errors, may_certify=True, may_approve=False)

    def update_rules(self, subresource: str) -> UpdateRules:
        return _ApprovalRules(self) if subresource == "approval" else super().update_rules(subresource)

    def stamp_update(self, new: Object, old: Object, now: datetime) -> None:
        """Times of conditions that their writer left out."""
        moment, before = format_time(now), _conditions(old)
        for condition in _conditions(new):
            condition["lastUpdateTime"] = condition.get("lastUpdateTime") or moment
            if not condition.get("lastTransitionTime"):
                same = (c for c in before if all(c.get(k) == condition.get(k) for k in ("type", "status")))
                kept = next((c["lastTransitionTime"] for c in same if c.get("lastTransitionTime")), moment)
                condition["lastTransitionTime"] = kept

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        return FIELDS.values(obj)

    @property
    def selectable_field_names(self) -> frozenset[str]:
        return FIELDS.names


class _ApprovalRules:
    """/approval changes the conditions and nothing else."""

    def __init__(self, strategy: SigningRequestStrategy) -> None:
        self._strategy = strategy

    def prepare(self, new: Object, old: Object) -> None:
        conditions = _conditions(new)
        carry_over(new, old, "spec")
        new["status"] = {k: v for k, v in (old.get("status") or NO_FIELDS).items() if k != "conditions"}
        if conditions:
            new["status"]["conditions"] = list(conditions)

    def validate(self, new: Object, old: Object) -> Sequence[FieldError]:
        errors: Errors = []
        _check_change(self._strategy, new, old, errors, may_certify=False, may_approve=True)
        return errors


def _conditions(obj: Json) -> Sequence[Object]:
    return (obj.get("status") or NO_FIELDS).get("conditions") or NO_ITEMS


def _of_type(obj: Json, kind: str) -> list[Object]:
    return [condition for condition in _conditions(obj) if condition.get("type") == kind]


def _certificate(obj: Json) -> str:
    return (obj.get("status") or NO_FIELDS).get("certificate") or ""


def _check_spec(spec: Json, path: str, errors: Errors) -> None:
    request = spec.get("request")
    try:
        parse_request(base64.b64decode(request or ""))
    except RequestError as error:
        errors.append(field.invalid(f"{path}.request", request, str(error)))
    _check_usages(spec.get("usages") or NO_ITEMS, f"{path}.usages", errors)
    signer = spec.get("signerName", "")
    if signer == LEGACY_SIGNER:
        reason = "the legacy signerName is not allowed via this API version"
        errors.append(field.invalid(f"{path}.signerName", signer, reason))
    else:
        check_signer_name(signer, f"{path}.signerName", errors)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < SHORTEST_LIFE_SECONDS:
        reason = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(field.invalid(f"{path}.expirationSeconds", seconds, reason))


def _check_usages(usages: Sequence[str], path: str, errors: Errors) -> None:
    if not usages:
        errors.append(field.required(path))
    for i, usage in enumerate(usages):
        check_one_of(usage, USAGES, f"{path}[{i}]", errors)
    for i, usage in enumerate(usages):
        if usage in usages[:i]:
            errors.append(field.duplicate(f"{path}[{i}]", usage))


def _check_conditions(conditions: Sequence[Json], path: str, errors: Errors) -> None:
    """What has been decided is decided: some types are true or absent, and two of them exclude each other."""
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        kind, status, at = condition.get("type", ""), condition.get("status", ""), f"{path}[{i}]"
        if not kind:
            errors.append(field.required(f"{at}.type"))
        if not status:
            errors.append(field.required(f"{at}.status"))
        else:
            allowed = ("True",) if kind in (APPROVED, DENIED, FAILED) else STATUSES
            check_one_of(status, allowed, f"{at}.status", errors)
        if (kind == APPROVED and DENIED in seen) or (kind == DENIED and APPROVED in seen):
            reason = "Approved and Denied conditions are mutually exclusive"
            errors.append(field.invalid(path, kind, reason))
        if kind in seen:
            errors.append(field.duplicate(f"{at}.type", kind))
        seen.add(kind)


def _check_change(
    strategy: SigningRequestStrategy, new: Object, old: Object, errors: Errors, *, may_certify: bool, may_approve: bool
) -> None:
    strategy.check(new, errors)
    certificate, before = _certificate(new), _certificate(old)
    if certificate and certificate != before and (reason := _certificate_error(base64.b64decode(certificate))):
        errors.append(field.invalid("status.certificate", "<certificate data>", reason))
    for kind in (APPROVED, DENIED, FAILED):
        if len(_of_type(new, kind)) < len(_of_type(old, kind)):
            _forbid_condition_change("remove", kind, errors)
    for kind in () if may_approve else (APPROVED, DENIED):
        conditions, old_conditions = _of_type(new, kind), _of_type(old, kind)
        if len(conditions) > len(old_conditions):
            _forbid_condition_change("add", kind, errors)
        elif len(conditions) == len(old_conditions) and conditions != old_conditions:
            _forbid_condition_change("modify", kind, errors)
    if certificate != before and not may_certify:
        errors.append(field.forbidden("status.certificate", "updates may not set certificate content"))
    elif certificate != before and before:
        errors.append(field.forbidden("status.certificate", "updates may not modify existing certificate content"))


def _forbid_condition_change(verb: str, kind: str, errors: Errors) -> None:
    errors.append(field.forbidden("status.conditions", f'updates may not {verb} a condition of type "{kind}"'))


def _certificate_error(text: bytes) -> str:
    """Why this is no chain of certificates; "" where it is one."""
    found = False
    for block in pem.blocks(text):
        if block.kind != "CERTIFICATE":
            return f"only CERTIFICATE PEM blocks are allowed, found {field.go_quote(block.kind)}"
        if block.has_headers:
            return "no PEM block headers are permitted"
        try:
            der.parse(block.data).expect(der.SEQUENCE)
        except der.DerError:
            return "x509: malformed certificate"
        found = True
    return "" if found else "must contain at least one CERTIFICATE PEM block"


SIGNING_REQUEST = SigningRequestStrategy()
