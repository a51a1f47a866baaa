"""Helm, unmodified: what charts of databases and of operators do beside what every chart does."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509

from tests.testkit.eventually import eventually
from tests.testkit.helm import Helm
from tests.testkit.stack import Kubectl

pytestmark = pytest.mark.e2e

STORAGE_CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: charts}
provisioner: kubeloop.io/hostpath-sim
volumeBindingMode: WaitForFirstConsumer
"""


@pytest.mark.client(
    "Helm", "`--wait-for-jobs`, passwords kept through `lookup`, StatefulSets with claims, `resource-policy: keep`"
)
def test_a_database_keeps_its_password_and_its_volumes(helm: Helm) -> None:
    """Over upgrades and reinstallation: what was generated once is found by `lookup`; what is kept is kept."""
    kubectl = helm.kubectl
    kubectl("apply -f -", STORAGE_CLASS)

    helm("install pg database --set=persistence.storageClass=charts --wait --wait-for-jobs --timeout=180s")
    schema = kubectl.json("get job pg-database-schema-1")["status"]
    password = _password(kubectl)
    helm(
        "upgrade pg database --set=persistence.storageClass=charts,parameters.max_connections=200 --wait --timeout=180s"
    )
    kubectl("create job by-hand --from=cronjob/pg-database-backup")
    kubectl("wait --for=condition=Complete job/by-hand --timeout=180s")

    assert 1 == schema["succeeded"], "--wait-for-jobs"
    assert 24 == len(password)
    assert password == _password(kubectl)
    pods = kubectl.json("get pods -l app.kubernetes.io/name=database")["items"]
    assert ["pg-database-0", "pg-database-1"] == sorted(pod["metadata"]["name"] for pod in pods)
    assert 1 == len({pod["metadata"]["annotations"]["checksum/config"] for pod in pods})
    assert "max_connections = 200" in kubectl("exec pg-database-0 -- cat /etc/postgresql/postgresql.conf")
    assert f"{password}\n" == kubectl("exec pg-database-1 -c postgresql -- printenv POSTGRES_PASSWORD")
    assert "dumping pg-database\n" == kubectl("logs job/by-hand")

    helm("uninstall pg --wait --timeout=180s")
    assert "secret/pg-database\n" == kubectl("get secrets -o name")
    assert 2 == len(kubectl("get pvc -o name").split())
    helm("install pg database --set=persistence.storageClass=charts --take-ownership")
    assert password == _password(kubectl)
    kubectl("delete storageclass charts")


@pytest.mark.client("Helm", "crds/, webhooks with generated certificates, subcharts, Job hooks")
def test_an_operator_comes_with_its_definition_webhook_and_rights(helm: Helm) -> None:
    """In one command: the definition is established before its objects come, the certificate fits the webhook."""
    kubectl = helm.kubectl

    helm("install cache operator --set=dashboard.enabled=true,global.logLevel=debug --wait --timeout=180s")
    try:
        secret = kubectl.json("get secret cache-operator-cert")["data"]
        hook = kubectl.json(f"get validatingwebhookconfiguration {kubectl.namespace}-cache-operator")["webhooks"][0]
        arguments = kubectl("get deployment cache-operator -o jsonpath={.spec.template.spec.containers[0].args}")
        assert '["--leader-elect","--zap-log-level=debug","--dashboard-port=8443"]' == arguments
        assert [f"cache-operator-webhook.{kubectl.namespace}.svc"] == _names(secret["tls.crt"])[:1]
        assert secret["ca.crt"] == hook["clientConfig"]["caBundle"]
        assert {"port": "8443", "logLevel": "debug"} == kubectl.json("get configmap cache-dashboard")["data"]
        assert "cache.cache.example.com/cache-sessions\n" == kubectl("get caches -o name")
        account = f"system:serviceaccount:{kubectl.namespace}:cache-operator"
        assert "yes\n" == kubectl(f"auth can-i update caches --as={account}")
        assert "" == kubectl("get jobs -o name"), "hook-succeeded"

        helm("upgrade cache operator --set=caches[0].name=sessions,caches[0].size=5,caches[0].policy=LFU")
        assert "5LFU" == kubectl("get cache cache-sessions -o jsonpath={.spec.size}{.spec.policy}")
        assert "" == kubectl("get configmap cache-dashboard --ignore-not-found"), "the subchart is off again"

        helm("uninstall cache --wait --timeout=180s")
        assert "job.batch/cache-operator-pre-delete\n" == kubectl("get jobs -o name"), "its policy keeps it"
        assert "" == kubectl("get caches,clusterroles -o name -l app.kubernetes.io/instance=cache")
    finally:
        kubectl("delete crd caches.cache.example.com")
    eventually(lambda: "caches" not in kubectl("api-resources --no-headers"), "the kind goes with its definition")


def _password(kubectl: Kubectl) -> str:
    return base64.b64decode(kubectl.json("get secret pg-database")["data"]["password"]).decode()


def _names(pem: str) -> list[Any]:
    certificate = x509.load_pem_x509_certificate(base64.b64decode(pem))
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return names.get_values_for_type(x509.DNSName)
