"""ServiceAccount: every pod runs as a service account, which must exist, and gets its pull secrets and its token."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import Any

from apiserver.admission.chain import CREATE, UPDATE, Attributes, Plugin
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of, name_of
from kubeloop.apimachinery.names import generate_name
from kubeloop.apimachinery.pod_references import MIRROR_ANNOTATION, projections, secret_names
from kubeloop.apimachinery.validation import path_segment_errors

SERVICE_ACCOUNTS = "serviceaccounts"
DEFAULT = "default"

_MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUME_PREFIX = "kube-api-access-"
_ENFORCE_ANNOTATION = "kubernetes.io/enforce-mountable-secrets"
_GO_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
# An hour and a little: the kubelet renews it in time, and the odd number tells it from a token asked for by hand.
_TOKEN_SECONDS = 3607
_DEFAULT_ATTEMPTS = 9


class ServiceAccount(Plugin):
    operations = frozenset({CREATE, UPDATE})
    resources = frozenset({"pods"})

    def __init__(self, reader: Reader, clock: Clock, rng: random.Random) -> None:
        self._reader = reader
        self._clock = clock
        self._rng = rng

    async def admit(self, attributes: Attributes) -> None:
        if attributes.operation != CREATE or attributes.subresource or attributes.object is None:
            return
        pod = attributes.object
        if MIRROR_ANNOTATION in annotations_of(pod):
            _check_mirror(attributes, pod)
            return
        spec = pod.setdefault("spec", {})
        if not spec.get("serviceAccountName"):
            # The old name of the field stays beside the new one; API conversion does it in the real server.
            spec["serviceAccountName"] = spec["serviceAccount"] = DEFAULT
        account = await self._account_of(attributes, pod)
        if _wants_token(account, spec):
            self._mount_token(spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": secret.get("name", "")} for secret in account["imagePullSecrets"]]
        _check_secrets(attributes, account, pod)

    async def validate(self, attributes: Attributes) -> None:
        """Once more on the pod as it will be stored, and on containers that are added for debugging."""
        pod = attributes.object
        if pod is None or not _is_checked(attributes):
            return
        if MIRROR_ANNOTATION in annotations_of(pod) and attributes.operation == CREATE:
            _check_mirror(attributes, pod)
            return
        _check_secrets(attributes, await self._account_of(attributes, pod), pod)

    async def _account_of(self, attributes: Attributes, pod: ReadOnlyObject) -> Object:
        namespace, name = attributes.namespace, (pod.get("spec") or {}).get("serviceAccountName", "")
        if not name:
            raise attributes.forbidden(f"no service account specified for pod {namespace}/{name_of(pod)}")
        account = self._reader.get(SERVICE_ACCOUNTS, namespace, name)
        if account is None and name == DEFAULT:
            account = await self._awaited_default(namespace)
        if account is None:
            why = _lookup_error(name)
            raise attributes.forbidden(f"error looking up service account {namespace}/{name}: {why}")
        return account

    async def _awaited_default(self, namespace: str) -> Object | None:
        """The default account of a namespace so new that the service account loop has yet to make it."""
        pause_seconds = 0.1 + self._rng.random() / 10
        for _ in range(_DEFAULT_ATTEMPTS):
            await self._clock.sleep(pause_seconds)
            account = self._reader.get(SERVICE_ACCOUNTS, namespace, DEFAULT)
            if account is not None:
                return account
        return None

    def _mount_token(self, spec: Object) -> None:
        """Mount the token in every container that has nothing at its place yet."""
        volumes = spec.get("volumes") or []
        present = next((one["name"] for one in volumes if one.get("name", "").startswith(_VOLUME_PREFIX)), "")
        name = present or generate_name(_VOLUME_PREFIX, self._rng)
        is_mounted = False
        for field in ("initContainers", "containers"):
            for container in spec.get(field) or ():
                mounts = container.get("volumeMounts") or []
                if all(mount.get("mountPath") != _MOUNT_PATH for mount in mounts):
                    container["volumeMounts"] = [*mounts, _mount(name)]
                    is_mounted = True
        if is_mounted and not present:
            spec["volumes"] = [*volumes, {"name": name, "projected": _projected()}]


def _lookup_error(name: str) -> str:
    """What a client says of an account that is not there, or that nothing could be called."""
    if wrong := path_segment_errors(name):
        return f"invalid resource name {go_quote(name)}: [{' '.join(wrong)}]"
    return f"serviceaccount {go_quote(name)} not found"


def _is_checked(attributes: Attributes) -> bool:
    if attributes.operation == UPDATE:
        return attributes.subresource == "ephemeralcontainers"
    return not attributes.subresource


def _wants_token(account: ReadOnlyObject, spec: Mapping[str, Any]) -> bool:
    """The pod's own word counts, then the account's; else yes."""
    for one in (spec, account):
        if one.get("automountServiceAccountToken") is not None:
            return bool(one["automountServiceAccountToken"])
    return True


def _mount(name: str) -> Object:
    return {"name": name, "readOnly": True, "mountPath": _MOUNT_PATH}


def _projected() -> Object:
    """The token, the cluster's CA and the namespace, as client libraries expect them."""
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
        ],
        "defaultMode": 420,
    }


def _check_mirror(attributes: Attributes, pod: ReadOnlyObject) -> None:
    """Mirror pods show what a kubelet runs from a file: they may use nothing of the API."""
    spec = pod.get("spec") or {}
    if spec.get("serviceAccountName"):
        raise attributes.forbidden("a mirror pod may not reference service accounts")
    if any(secret_names(pod)):
        raise attributes.forbidden("a mirror pod may not reference secrets")
    sources = (source for volume in spec.get("volumes") or () for source in projections(volume))
    if any("serviceAccountToken" in source for source in sources):
        raise attributes.forbidden("a mirror pod may not use ServiceAccountToken volume projections")


def _check_secrets(attributes: Attributes, account: ReadOnlyObject, pod: ReadOnlyObject) -> None:
    """Where the account enforces its list, the pod uses no other secrets."""
    if annotations_of(account).get(_ENFORCE_ANNOTATION) not in _GO_TRUE:
        return
    is_debugging = attributes.operation == UPDATE
    refusal = next(_unlisted_secrets(account, pod, is_debugging), None)
    if refusal is not None:
        # For containers added for debugging the real server forgets to make it a refusal of the pod.
        raise ApiError(refusal) if is_debugging else attributes.forbidden(refusal)


def _container_secrets(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Where a container names a secret, and which."""
    for variable in container.get("env") or ():
        reference = (variable.get("valueFrom") or {}).get("secretKeyRef")
        if reference is not None:
            yield f"envVar {variable.get('name', '')}", reference.get("name", "")
    for source in container.get("envFrom") or ():
        if "secretRef" in source:
            yield "envFrom", source["secretRef"].get("name", "")


def _unlisted_secrets(account: ReadOnlyObject, pod: ReadOnlyObject, is_debugging: bool) -> Iterator[str]:
    """Refusals of secrets that the account does not list, where it is annotated to enforce its list."""
    spec, owner = pod.get("spec") or {}, name_of(account)
    listed = {secret.get("name") for secret in account.get("secrets") or ()}
    why = f"is not allowed because service account {owner} does not reference that secret"
    if not is_debugging:
        for volume in spec.get("volumes") or ():
            name = volume["secret"].get("secretName", "") if "secret" in volume else None
            if name is not None and name not in listed:
                yield f'volume with secret.secretName="{name}" {why}'
    fields = {"ephemeralContainers": "ephemeral container"} if is_debugging else _CONTAINER_WORDS
    for field, word in fields.items():
        for container in spec.get(field) or ():
            for place, name in _container_secrets(container):
                if name not in listed:
                    yield f'{word} {container["name"]} with {place} referencing secret.secretName="{name}" {why}'
    if is_debugging:
        return
    pulls = {secret.get("name") for secret in account.get("imagePullSecrets") or ()}
    for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if secret.get("name") not in pulls:
            reason = f"is not allowed because service account {owner} does not reference that imagePullSecret"
            yield f'imagePullSecrets[{i}].name="{secret.get("name", "")}" {reason}'


_CONTAINER_WORDS = {"initContainers": "init container", "containers": "container"}
