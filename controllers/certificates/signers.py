"""The four signers of Kubernetes, and what each demands of a request.

pkg/apis/certificates/helpers.go and pkg/controller/certificates/signer, v1.36: the order of the checks decides which of
several faults is told.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from kubeloop.apimachinery.certificate_request import CertificateRequest

CLIENT = "kubernetes.io/kube-apiserver-client"
NODE_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
NODE_SERVING = "kubernetes.io/kubelet-serving"
LEGACY = "kubernetes.io/legacy-unknown"

NODE_PREFIX = "system:node:"
NODES = "system:nodes"

_SIGNATURE, _ENCIPHERMENT, _OF_CLIENT, _OF_SERVER = (
    "digital signature",
    "key encipherment",
    "client auth",
    "server auth",
)


def client_fault(request: CertificateRequest, usages: Collection[str]) -> str:
    """Anybody's certificate for this API server."""
    for usage in usages:
        if usage not in (_SIGNATURE, _ENCIPHERMENT, _OF_CLIENT):
            return f"invalid usage for client certificate: {usage}"
    return "" if _OF_CLIENT in usages else f"missing required usage for client certificate: {_OF_CLIENT}"


def node_client_fault(request: CertificateRequest, usages: Collection[str]) -> str:
    """A node's certificate for this API server."""
    if request.organizations != (NODES,):
        return _NOT_A_NODES
    if request.dns_names:
        return "DNS subjectAltNames are not allowed"
    if request.emails:
        return _NO_EMAILS
    if request.addresses:
        return "IP subjectAltNames are not allowed"
    if request.uris:
        return _NO_URIS
    if not request.common_name.startswith(NODE_PREFIX):
        return _NOT_A_NODE
    return _usages_fault(usages, _OF_CLIENT)


def node_serving_fault(request: CertificateRequest, usages: Collection[str]) -> str:
    """The certificate a kubelet serves with."""
    if request.organizations != (NODES,):
        return _NOT_A_NODES
    if not request.dns_names and not request.addresses:
        return "DNS or IP subjectAltName is required"
    if request.emails:
        return _NO_EMAILS
    if request.uris:
        return _NO_URIS
    if fault := _usages_fault(usages, _OF_SERVER):
        return fault
    return "" if request.common_name.startswith(NODE_PREFIX) else _NOT_A_NODE


# What is wrong with a request, "" where nothing is; the legacy signer takes everything.
Fault = Callable[[CertificateRequest, Collection[str]], str]
FAULTS: Mapping[str, Fault] = {
    CLIENT: client_fault,
    NODE_CLIENT: node_client_fault,
    NODE_SERVING: node_serving_fault,
    LEGACY: lambda request, usages: "",
}

_NOT_A_NODES = f"subject organization is not {NODES}"
_NOT_A_NODE = f"subject common name does not begin with {NODE_PREFIX}"
_NO_EMAILS = "Email subjectAltNames are not allowed"
_NO_URIS = "URI subjectAltNames are not allowed"


def _usages_fault(usages: Collection[str], purpose: str) -> str:
    """Keys that are not RSA cannot encipher keys: that usage may be left out."""
    wanted = {_SIGNATURE, _ENCIPHERMENT, purpose}
    if set(usages) in (wanted, wanted - {_ENCIPHERMENT}):
        return ""
    return f"usages did not match [{' '.join(sorted(wanted))}]"
