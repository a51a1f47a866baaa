"""What the signers of kubernetes.io demand (the cases of upstream's helpers_test.go and signer_test.go)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controllers.certificates.signers import CLIENT, FAULTS, LEGACY, NODE_CLIENT, NODE_SERVING
from kubeloop.apimachinery.certificate_request import CertificateRequest

NODE = CertificateRequest("system:node:foo", ("system:nodes",))
SERVING = replace(NODE, dns_names=("foo",))
CLIENT_USAGES = ["client auth", "digital signature", "key encipherment"]
ALICE = CertificateRequest("alice", ())
OF_NO_NODE = "subject organization is not system:nodes"
NO_NODE = "subject common name does not begin with system:node:"
FOR_CLIENT = " usage for client certificate"
SERVER_USAGES = ["server auth", "digital signature", "key encipherment"]


@pytest.mark.parametrize(
    ("signer", "request_", "usages", "fault"),
    [
        (NODE_CLIENT, NODE, CLIENT_USAGES, ""),
        (NODE_CLIENT, NODE, CLIENT_USAGES[:2], ""),
        (NODE_CLIENT, replace(NODE, organizations=()), CLIENT_USAGES, OF_NO_NODE),
        (NODE_CLIENT, replace(NODE, organizations=("system:nodes", "x")), CLIENT_USAGES, OF_NO_NODE),
        (NODE_CLIENT, SERVING, CLIENT_USAGES, "DNS subjectAltNames are not allowed"),
        (NODE_CLIENT, replace(NODE, emails=("a@b",)), CLIENT_USAGES, "Email subjectAltNames are not allowed"),
        (NODE_CLIENT, replace(NODE, addresses=("1.2.3.4",)), CLIENT_USAGES, "IP subjectAltNames are not allowed"),
        (NODE_CLIENT, replace(NODE, uris=("a:b",)), CLIENT_USAGES, "URI subjectAltNames are not allowed"),
        (NODE_CLIENT, replace(NODE, common_name="foo"), CLIENT_USAGES, NO_NODE),
        (NODE_CLIENT, NODE, SERVER_USAGES, f"usages did not match [{' '.join(CLIENT_USAGES)}]"),
        (NODE_CLIENT, NODE, ["client auth"], f"usages did not match [{' '.join(CLIENT_USAGES)}]"),
        (NODE_SERVING, SERVING, SERVER_USAGES, ""),
        (NODE_SERVING, replace(NODE, addresses=("1.2.3.4",)), SERVER_USAGES[:2], ""),
        (NODE_SERVING, NODE, SERVER_USAGES, "DNS or IP subjectAltName is required"),
        (NODE_SERVING, replace(SERVING, emails=("a@b",)), SERVER_USAGES, "Email subjectAltNames are not allowed"),
        (NODE_SERVING, replace(SERVING, uris=("a:b",)), SERVER_USAGES, "URI subjectAltNames are not allowed"),
        (NODE_SERVING, replace(SERVING, organizations=("x",)), SERVER_USAGES, OF_NO_NODE),
        (NODE_SERVING, SERVING, CLIENT_USAGES, "usages did not match [digital signature key encipherment server auth]"),
        (NODE_SERVING, replace(SERVING, common_name="foo"), SERVER_USAGES, NO_NODE),
        (CLIENT, ALICE, CLIENT_USAGES, ""),
        (CLIENT, ALICE, ["client auth"], ""),
        (CLIENT, ALICE, ["client auth", "server auth"], f"invalid{FOR_CLIENT}: server auth"),
        (CLIENT, ALICE, ["digital signature"], f"missing required{FOR_CLIENT}: client auth"),
        (LEGACY, CertificateRequest("", ()), ["any"], ""),
    ],
)
def test_what_a_signer_demands(signer: str, request_: CertificateRequest, usages: list[str], fault: str) -> None:
    """A request with several faults is told the first, in upstream's order."""
    assert fault == FAULTS[signer](request_, usages)
