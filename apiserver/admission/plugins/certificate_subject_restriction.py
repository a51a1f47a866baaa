"""CertificateSubjectRestriction: nobody becomes a member of system:masters by a client certificate."""

from __future__ import annotations

import base64

from apiserver.admission.chain import CREATE, Attributes, Plugin
from apiserver.auth.authentication import MASTERS
from kubeloop.apimachinery.certificate_request import RequestError, parse_request

_CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client"


class CertificateSubjectRestriction(Plugin):
    operations = frozenset({CREATE})
    resources = frozenset({"certificatesigningrequests.certificates.k8s.io"})

    async def validate(self, attributes: Attributes) -> None:
        if attributes.object is None or attributes.subresource:
            return
        spec = attributes.object.get("spec") or {}
        if spec.get("signerName") != _CLIENT_SIGNER:
            return
        try:
            request = parse_request(base64.b64decode(spec.get("request") or ""))
        except RequestError as error:
            raise attributes.forbidden(f"failed to parse CSR: {error}") from error
        if MASTERS in request.organizations:
            raise attributes.forbidden(f"use of {_CLIENT_SIGNER} signer with {MASTERS} group is not allowed")
