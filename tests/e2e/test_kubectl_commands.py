"""Commands of the real kubectl that the recordings do not show: what they print, and what they leave."""

from __future__ import annotations

import json
import re
import select
import threading
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import httpx
import pytest

from tests.testkit.eventually import eventually
from tests.testkit.stack import Kubectl, KubectlError, Stack

pytestmark = pytest.mark.e2e

WEB = "examples/web/web.yaml"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: one}
spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: nginx}]}
"""
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crowds.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: crowds, singular: crowd, kind: Crowd, shortNames: [cr], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, description: What is wanted., properties: {size: {type: integer}}}
          status: {type: object, properties: {size: {type: integer}}}
"""
CROWD = """
apiVersion: example.com/v1
kind: Crowd
metadata: {name: big}
spec: {size: 7}
"""


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.fixture
def crowds(kubectl: Kubectl, stack: Stack) -> Iterator[Kubectl]:
    """With a kind of one's own that can be scaled."""
    stack.kubectl("apply -f -", DEFINITION)
    stack.kubectl("wait --timeout=180s --for=condition=Established crd/crowds.example.com")
    yield kubectl
    stack.kubectl("delete crd crowds.example.com")


def test_a_dump_holds_every_namespace(kubectl: Kubectl, tmp_path: Path) -> None:
    """`cluster-info dump -A` writes a folder for each, with logs; without a folder it prints all of it."""
    kubectl("apply -f -", POD)
    kubectl("wait --timeout=180s --for=condition=Ready pod/one")

    namespaces = {name.removeprefix("namespace/") for name in kubectl("get namespaces -o name").split()}

    kubectl(f"cluster-info dump --all-namespaces --output-directory={tmp_path}")

    assert namespaces >= {path.name for path in tmp_path.iterdir() if path.is_dir()} > {"default", "kube-system"}
    own = tmp_path / kubectl.namespace
    assert "one" in json.loads((own / "pods.json").read_text())["items"][0]["metadata"]["name"]
    assert "is simulated on node" in (own / "one" / "logs.txt").read_text()
    assert 3 == len(json.loads((tmp_path / "nodes.json").read_text())["items"])
    assert '"kind": "NodeList"' in kubectl("cluster-info dump")


def test_a_kustomization_is_applied_and_deleted(kubectl: Kubectl, tmp_path: Path) -> None:
    """`-k` renders what `kustomize` shows: names with a prefix, a ConfigMap with its hash."""
    (tmp_path / "pod.yaml").write_text(POD)
    generator = "configMapGenerator: [{name: settings, literals: [colour=blue]}]"
    (tmp_path / "kustomization.yaml").write_text(f"resources: [pod.yaml]\nnamePrefix: blue-\n{generator}\n")

    created = kubectl(f"apply -k {tmp_path}").split("\n")
    again = kubectl(f"apply -k {tmp_path}")

    assert re.fullmatch(r"configmap/blue-settings-\w{10} created", created[0])
    assert "pod/blue-one created" == created[1]
    assert 2 == again.count("unchanged")
    assert "name: blue-one" in kubectl(f"kustomize {tmp_path}")
    assert 2 == kubectl(f"delete -k {tmp_path}").count("deleted")


def test_waiting_ends_with_what_is_waited_for(kubectl: Kubectl) -> None:
    """`wait` for what is not there yet, for a value, and for what is about to go."""
    created = kubectl.in_background("wait --for=create configmap/late --timeout=180s")
    kubectl("create configmap late --from-literal=k=1")
    assert ("configmap/late condition met\n", 0) == (created.communicate()[0], created.returncode)

    kubectl("apply -f -", POD)
    assert "pod/one condition met\n" == kubectl("wait --for=jsonpath={.status.phase}=Running pod/one --timeout=180s")
    with pytest.raises(KubectlError, match="timed out waiting for the condition on pods/one"):
        kubectl("wait --for=jsonpath={.status.phase}=Failed pod/one --timeout=1s")

    gone = kubectl.in_background("wait --for=delete pod/one --timeout=180s")
    kubectl("delete pod one --wait=false")
    gone.communicate()  # with nothing to say where the pod was gone before it looked
    assert 0 == gone.returncode


def test_events_of_one_object_are_followed(kubectl: Kubectl) -> None:
    """`events --for … --watch` tells what was, and then what comes; nothing of others."""
    kubectl("create deployment web --image=nginx")
    kubectl("create deployment other --image=nginx")
    eventually(lambda: "ScalingReplicaSet" in kubectl("events --for deployment/web"), "the loop tells what it does")
    watching = kubectl.in_background("events --for deployment/web --watch --no-headers")
    assert watching.stdout is not None
    first = watching.stdout.readline()

    kubectl("scale deployment web --replicas=3")
    second = watching.stdout.readline()

    watching.terminate()
    watching.communicate()
    assert "Deployment/web" in first and "from 0 to 1" in first
    assert "Deployment/web" in second and "from 1 to 3" in second


def test_a_watch_may_leave_out_what_was_there(kubectl: Kubectl) -> None:
    """`get --watch-only` says nothing of the present."""
    kubectl("create configmap old --from-literal=seen=before")
    watching = kubectl.in_background("get configmaps -L seen --watch-only --output-watch-events --no-headers")
    numbers = count()

    def heard() -> bool:
        kubectl(f"label configmap old --overwrite seen=v{next(numbers)}")
        return bool(select.select([watching.stdout], [], [], 0.2)[0])

    try:
        eventually(heard, "the watch is told of labels once it has begun")
        assert watching.stdout is not None
        event, name, *_, label = watching.stdout.readline().split()
    finally:
        watching.terminate()
        watching.communicate()
    assert ("MODIFIED", "old", "v") == (event, name, label[0])


def test_rollouts_end_while_others_write(kubectl: Kubectl) -> None:
    """Five Deployments roll at once, an impatient client labels all of them: each `rollout status` ends well, and
    every pod is of the new image."""
    names = [f"web-{i}" for i in range(5)]
    for name in names:
        kubectl(f"create deployment {name} --image=nginx:1 --replicas=2")
    kubectl("set image deployment --all nginx=nginx:2")
    is_over = threading.Event()

    def write() -> None:
        for number in range(200):
            if is_over.is_set():
                return
            kubectl(f"label deployments --all --overwrite count=v{number}")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        watching = [kubectl.in_background(f"rollout status deployment/{name} --timeout=180s") for name in names]
        said = [process.communicate()[0].splitlines()[-1] for process in watching]
    finally:
        is_over.set()
        writer.join()

    assert [f'deployment "{name}" successfully rolled out' for name in names] == said
    images = "get pods -o jsonpath={.items[*].spec.containers[0].image}"
    eventually(lambda: kubectl(images).split() == ["nginx:2"] * 10, "the old pods go")


def test_roles_are_reconciled(kubectl: Kubectl) -> None:
    """`auth reconcile` adds what is missing, and takes away only what it is told to."""

    def role(verb: str) -> str:
        rule = f"{{apiGroups: [''], resources: [pods], verbs: [{verb}]}}"
        meta = f"metadata: {{name: reads, namespace: {kubectl.namespace}}}"
        return f"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n{meta}\nrules: [{rule}]\n"

    verbs = "get role reads -o jsonpath={.rules[*].verbs}"
    assert "reconciliation required create" in kubectl("auth reconcile -f -", role("get"))
    assert "missing rules added" in kubectl("auth reconcile -f -", role("list"))
    assert '["get"] ["list"]' == kubectl(verbs)
    assert "extra rules removed" in kubectl("auth reconcile --remove-extra-permissions -f -", role("list"))
    assert '["list"]' == kubectl(verbs)


def test_a_scale_is_shown_as_a_table(crowds: Kubectl) -> None:
    """`get --subresource=scale` has columns of its own, for a workload as for a kind of one's own."""
    crowds("create deployment web --image=nginx --replicas=2")
    crowds("rollout status deployment/web --timeout=180s")
    crowds("apply -f -", CROWD)

    header, row = words(crowds("get deployment web --subresource=scale"))
    assert (["NAME", "DESIRED", "AVAILABLE", "AGE"], ["web", "2", "2"]) == (header, row[:3])
    header, row = words(crowds("get crowd big --subresource=scale"))
    assert (["NAME", "DESIRED", "AVAILABLE", "AGE"], ["big", "7", "0"]) == (header, row[:3])
    crowds("scale crowd big --current-replicas=7 --replicas=8")
    assert "8" == crowds("get crowd big -o jsonpath={.spec.size}")


def test_a_kind_of_ones_own_is_listed_and_explained(crowds: Kubectl) -> None:
    """In `api-resources` by group, verbs and category, in `explain --recursive` with its fields."""
    listed = crowds("api-resources --api-group=example.com -o wide --no-headers").split()
    assert ["crowds", "cr", "example.com/v1", "true", "Crowd"] == listed[:5]
    assert ["delete,deletecollection,get,list,patch,create,update,watch", "all"] == listed[5:]
    assert "" == crowds("api-resources --api-group=example.com --namespaced=false -o name")
    assert "crowds.example.com\n" == crowds("api-resources --api-group=example.com --verbs=watch,patch -o name")
    assert "crowds.example.com" in crowds("api-resources --categories=all --sort-by=kind -o name")

    explained = eventually(lambda: crowds("explain crowds --recursive"), "its schema is published")
    assert ["<Object>", "size", "<integer>"] == explained.partition("\n  spec")[2].split()[:3]
    assert "What is wanted." in crowds("explain crowd.spec")


def test_settings_are_listed_before_they_are_changed(kubectl: Kubectl) -> None:
    """`set` and `label --list`: environment from a ConfigMap, resources, selector, account, subjects."""
    kubectl(f"apply -f {WEB}")
    kubectl("create configmap settings --from-literal=COLOUR=blue")
    kubectl("create rolebinding looks --clusterrole=view --user=alice")

    kubectl("set env deployment/web --from=configmap/settings --prefix=WEB_ SIZE=3")
    kubectl("set resources deployment/web --limits=cpu=200m --requests=cpu=50m")
    kubectl("set serviceaccount deployment/web default")
    kubectl("set selector service/web app=other")
    kubectl("set subject rolebinding looks --group=devs")

    listed = kubectl("set env deployment/web --list")
    assert "SIZE=3" in listed and "# WEB_COLOUR from configmap settings, key COLOUR" in listed
    assert "app=web" in kubectl("label --list deployment web")
    shown = "get deployment web -o jsonpath={.spec.template.spec.containers[0].resources.limits.cpu}"
    assert "200m" == kubectl(shown)
    assert ["looks", "ClusterRole/view"] == kubectl("get rolebinding looks -o wide --no-headers").split()[:2]
    assert "alice devs" == " ".join(kubectl("get rolebinding looks -o jsonpath={.subjects[*].name}").split())


def test_subresources_are_written_alone(kubectl: Kubectl) -> None:
    """`replace` and `patch` with `--subresource` write what is named, and nothing else of what is sent."""
    kubectl("create deployment web --image=nginx")
    kubectl("rollout status deployment/web --timeout=180s")
    shown = "get deployment web -o jsonpath={.spec.replicas},{.status.collisionCount}"

    web = kubectl.json("get deployment web")
    web["spec"]["replicas"], web["status"]["collisionCount"] = 5, 1
    kubectl("replace --subresource=status -f -", json.dumps(web))
    assert "1,1" == kubectl(shown)
    patch = '{"spec":{"replicas":5},"status":{"collisionCount":2}}'
    kubectl(f"patch deployment web --subresource=status --type=merge -p {patch}")
    assert "1,2" == kubectl(shown)
    scale = kubectl.json("get deployment web --subresource=scale")
    scale["spec"]["replicas"] = 2
    kubectl(f"replace --raw /apis/apps/v1/namespaces/{kubectl.namespace}/deployments/web/scale -f -", json.dumps(scale))
    assert "2,2" == kubectl(shown)
    with pytest.raises(KubectlError, match=r"\(NotFound\): the server could not find the requested resource"):
        kubectl("get deployment web --subresource=nothing")


def test_contexts_lead_to_the_same_stack(kubectl: Kubectl, tmp_path: Path) -> None:
    """What `config` says of a kubeconfig of the stack holds for the next command: namespaces, users, contexts."""
    copy = tmp_path / "kubeconfig"
    copy.write_text(kubectl.kubeconfig.read_text())
    plain = Kubectl(copy, namespace="")

    plain(f"config set-context other --cluster=kubeloop --user=kubeloop --namespace={kubectl.namespace}")
    plain("config use-context other")
    assert "configmap/kube-root-ca.crt\n" == eventually(lambda: plain("get configmaps -o name"), "it is published")
    assert kubectl.namespace == plain("config view --minify -o jsonpath={..namespace}")
    assert "configmap" in plain("--context=kubeloop get configmaps -n default -o name")
    plain("config set-context --current --namespace=default")
    assert "default" == plain("config view --minify -o jsonpath={..namespace}")
    with pytest.raises(KubectlError, match="context was not found for specified context: gone"):
        plain("--context=gone get pods")


def test_orphans_stay_behind(kubectl: Kubectl) -> None:
    """`delete --cascade=orphan` leaves ReplicaSet and pods without an owner."""
    kubectl(f"apply -f {WEB}")
    kubectl("rollout status deployment/web --timeout=180s")

    kubectl("delete deployment web --cascade=orphan")

    owners = "get replicasets -l app=web -o jsonpath={.items[*].metadata.ownerReferences}"
    eventually(lambda: not kubectl(owners), "the garbage collector lets them go")
    assert 3 == len(kubectl("get pods -l app=web -o name").split())


def test_a_pod_is_debugged(kubectl: Kubectl) -> None:
    """Beside its containers, as a copy, and by its node."""
    kubectl("apply -f -", POD)
    kubectl("wait --timeout=180s --for=condition=Ready pod/one")

    kubectl("debug one --image=busybox --container=look --target=main -- echo seen")
    kubectl("debug one --image=busybox --copy-to=two --container=look --share-processes -- sleep 60")
    kubectl("debug node/node-0 --image=busybox -- sleep 60")

    eventually(lambda: kubectl("logs one -c look") == "seen\n", "the ephemeral container runs")
    assert "main look" == kubectl("get pod two -o jsonpath={.spec.containers[*].name}")
    names = kubectl("get pods -o name --field-selector=spec.nodeName=node-0")
    assert "pod/node-debugger-node-0-" in names


def test_a_proxy_listens_on_a_socket(kubectl: Kubectl, tmp_path: Path) -> None:
    """And writes through it; exec it keeps to itself."""
    socket = tmp_path / "proxy"
    proxying = kubectl.in_background(f"proxy --unix-socket={socket} --www=none --reject-methods=DELETE")
    try:
        assert proxying.stdout is not None and "Starting to serve" in proxying.stdout.readline()
        transport = httpx.HTTPTransport(uds=str(socket))
        with httpx.Client(transport=transport, base_url="http://localhost", timeout=60) as client:
            path = f"/api/v1/namespaces/{kubectl.namespace}/configmaps"
            answers = [
                client.post(path, json={"metadata": {"name": "made"}}),
                client.get(f"{path}/made"),
                client.delete(f"{path}/made"),
                client.get(f"/api/v1/namespaces/{kubectl.namespace}/pods/one/exec"),
            ]
    finally:
        proxying.terminate()
        proxying.communicate()

    assert [201, 200, 403, 403] == [answer.status_code for answer in answers]
