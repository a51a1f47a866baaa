"""What things are called. manifests/crd.yaml says what a Certificate may look like."""

from __future__ import annotations

from kubeloop.apimachinery.resource import Resource

OPERATOR = "certificate-operator"
SYSTEM_NAMESPACE = "certificate-system"  # of the operator's account and its Lease

CERTIFICATES = Resource("certs.example.com", "v1", "certificates", "Certificate")

READY, ISSUING = "Ready", "Issuing"

TLS_TYPE = "kubernetes.io/tls"
CERTIFICATE_ENTRY, KEY_ENTRY, CA_ENTRY = "tls.crt", "tls.key", "ca.crt"
# On the Secret: whose it is, also where somebody took its owner reference off; and how many were issued before.
UID_ANNOTATION = "certs.example.com/certificate-uid"
REVISION_ANNOTATION = "certs.example.com/revision"
