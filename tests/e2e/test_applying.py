"""Single steps with the manifests of the example applications: what the real kubectl applies, refuses and warns of."""

from __future__ import annotations

import random
from base64 import b64decode
from pathlib import Path

import pytest

from tests.testkit.manifests import APPLICATIONS as FOLDER
from tests.testkit.manifests import await_no_difference, conflicts_of, objects_of, said, warnings
from tests.testkit.stack import Kubectl, KubectlError

pytestmark = pytest.mark.e2e


def _roll_out(kubectl: Kubectl, *deployments: str) -> None:
    """Until no loop writes into them any more: replace sends the version that it has read before."""
    for name in deployments:
        kubectl(f"rollout status deployment/{name} --timeout=180s")


# --- a bundle with a definition that is too large for client-side apply

BUNDLE, SAMPLE = FOLDER / "operator" / "bundle.yaml", FOLDER / "operator" / "sample.yaml"
LARGE = "customresourcedefinition.apiextensions.k8s.io/pipelines.pipelines.example.com"
TOO_LONG = "metadata.annotations: Too long: may not be more than 262144 bytes"


def test_a_bundle_with_a_large_definition_needs_server_side_apply(kubectl: Kubectl) -> None:
    """Client-side apply makes all but the definition, whose annotation would be too long; server-side apply takes it,
    twice, create and replace too; its objects can be made then, and everything can be deleted."""
    within = Kubectl(kubectl.kubeconfig, "pipelines-system")
    objects = objects_of(within, f"-f {BUNDLE}")

    with pytest.raises(KubectlError) as refused:
        within(f"apply -f {BUNDLE}")
    made = set(within(f"get -f {BUNDLE} -o name --ignore-not-found").split())
    applied = said(within(f"apply --server-side --force-conflicts -f {BUNDLE}"), "serverside-applied")
    within("wait --for=condition=Established --timeout=180s crd -l app.kubernetes.io/name=pipelines")
    again = said(within(f"apply --server-side -f {BUNDLE}"), "serverside-applied")
    await_no_difference(within, f"diff --server-side -f {BUNDLE}")
    sample = kubectl(f"apply -f {SAMPLE}") + kubectl(f"apply -f {SAMPLE}")
    kubectl(f"diff -f {SAMPLE}")
    shown = kubectl("get ci --no-headers")
    old = kubectl("get pipelines.v1beta1.pipelines.example.com build -o name")
    _roll_out(within, "pipelines-operator")
    replaced = said(within(f"replace -f {BUNDLE}"), "replaced")
    kubectl(f"delete --timeout=180s -f {SAMPLE}")
    within(f"delete --timeout=180s --ignore-not-found -f {BUNDLE}")

    assert TOO_LONG in str(refused.value)
    assert objects - {LARGE} == made
    assert objects == applied == again
    # Lists of custom objects are compared as a whole, and the stages have defaults in them now.
    assert ["created", "created", "configured", "unchanged"] == [line.split()[-1] for line in sample.splitlines()]
    assert {"pipeline.pipelines.example.com/build", "run.pipelines.example.com/build-1"} == {
        line.split()[0] for line in shown.splitlines() if line
    }
    assert "pipelines.example.com/v1beta1 Pipeline is deprecated" in old
    assert objects == replaced
    assert "" == kubectl("get crd,clusterrole,clusterrolebinding -l app.kubernetes.io/name=pipelines -o name")


# --- single steps, with the guestbook

GUESTBOOK = FOLDER / "guestbook"


def test_a_field_that_goes_from_the_file_goes_from_the_object(kubectl: Kubectl) -> None:
    """Apply changes what is written differently, prunes what is not written any more, and leaves alone what others
    set; on the server's side too."""
    for side in ("", "--server-side"):
        manifest = (GUESTBOOK / "follower.yaml").read_text().replace("notes-follower", f"notes{side}")
        kubectl(f"apply {side} -f -", stdin=manifest)
        kubectl(f"label deployment/notes{side} seen=yes")
        changed = manifest.replace("replicas: 2", "replicas: 1").replace("tier: store", "shelf: store", 1)
        changed = changed.replace("        - name: FIND_HOSTS_BY\n          value: dns\n", "")
        kubectl(f"apply {side} -f -", stdin=changed)
        service, deployment = kubectl.json(f"get service/notes{side} deployment/notes{side}")["items"]

        assert {"app": "notes", "role": "follower", "shelf": "store"} == service["metadata"]["labels"]
        assert (1, "yes") == (deployment["spec"]["replicas"], deployment["metadata"]["labels"]["seen"])
        assert ["LEADER_HOST"] == [
            variable["name"] for variable in deployment["spec"]["template"]["spec"]["containers"][0]["env"]
        ]


def test_what_another_manager_applied_is_a_conflict_until_it_is_forced(kubectl: Kubectl) -> None:
    """Server-side apply refuses to take a field from another manager, and takes it with --force-conflicts."""
    kubectl(f"apply --server-side -f {GUESTBOOK}")
    kubectl("scale deployment/frontend --replicas=2")

    conflicts = conflicts_of(kubectl, f"apply --server-side -f {GUESTBOOK}")
    kubectl(f"apply --server-side --force-conflicts -f {GUESTBOOK}")

    assert {".spec.replicas"} == conflicts
    assert "3" == kubectl("get deployment/frontend -o jsonpath={.spec.replicas}")


def test_create_and_replace_take_the_same_files(kubectl: Kubectl) -> None:
    """A dry run makes nothing, create makes all once and then refuses, replace needs no version; apply takes over what
    was created, with a warning for each object that it lacks its annotation."""
    objects = objects_of(kubectl, f"-f {GUESTBOOK}")

    tried = [kubectl(f"{verb} --dry-run=server -f {GUESTBOOK}") for verb in ("apply", "apply --server-side", "create")]
    created = said(kubectl(f"create -f {GUESTBOOK}"), "created")
    with pytest.raises(KubectlError) as refused:
        kubectl(f"create -f {GUESTBOOK}")
    _roll_out(kubectl, "notes-leader", "notes-follower", "frontend")
    replaced = said(kubectl(f"replace -f {GUESTBOOK}"), "replaced")
    applied = kubectl(f"apply -f {GUESTBOOK}")

    assert [objects] * 3 == [
        said(answer, f"{word} (server dry run)")
        for answer, word in zip(tried, ("created", "serverside-applied", "created"), strict=True)
    ]
    assert objects == created == replaced == said(applied, "configured")
    assert len(objects) == str(refused.value).count("Error from server (AlreadyExists)")
    assert len(objects) == applied.count("is missing the kubectl.kubernetes.io/last-applied-configuration annotation")
    assert objects == said(kubectl(f"apply -f {GUESTBOOK}"), "unchanged")


def test_a_kustomization_on_top_of_an_application_is_applied(kubectl: Kubectl) -> None:
    """`apply -k` makes the changed objects with generated names, a second one changes nothing, and the workloads roll
    out; `delete -k` takes all of it away."""
    overlay = f"-k {FOLDER / 'guestbook-staging'}"

    created = said(kubectl(f"apply {overlay}"), "created")
    again = said(kubectl(f"apply {overlay}"), "unchanged")
    await_no_difference(kubectl, f"diff {overlay}")
    _roll_out(kubectl, "staging-frontend")
    service = kubectl.json("get service staging-frontend")
    kubectl(f"delete --timeout=180s {overlay}")

    assert 8 == len(created)
    assert created == again
    assert ("NodePort", "staging") == (service["spec"]["type"], service["metadata"]["labels"]["environment"])
    assert "" == kubectl("get deployments,services,secrets -l environment=staging -o name")


def test_generated_names_are_for_create_alone(kubectl: Kubectl) -> None:
    """Each create makes another object; apply refuses, as it could never find it again."""
    report = FOLDER / "job-queue" / "create" / "report.yaml"

    with pytest.raises(KubectlError, match="from report-: cannot use generate name with apply"):
        kubectl(f"apply -f {report}")
    made = kubectl(f"create -f {report} -o name") + kubectl(f"create -f {report} -o name")

    assert set(made.split()) == set(kubectl("get jobs -l app=report -o name").split())
    assert 2 == len(made.split())


def test_what_left_the_files_is_pruned(kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch) -> None:
    """`apply --prune` deletes what it applied before and is not in the files now: what bears a label, or belongs to an
    apply set, which a Secret stands for."""
    monkeypatch.setenv("KUBECTL_APPLYSET", "true")
    leader, follower = GUESTBOOK / "leader.yaml", GUESTBOOK / "follower.yaml"
    followers = objects_of(kubectl, f"-f {follower}")

    kubectl(f"apply -f {leader} -f {follower}")
    by_label = said(kubectl(f"apply --prune -l app=notes -f {leader}"), "pruned")
    kubectl(f"apply --server-side --force-conflicts --prune --applyset=notes -f {leader} -f {follower}")
    by_set = said(kubectl(f"apply --server-side --prune --applyset=notes -f {leader}"), "pruned")

    assert followers == by_label == by_set
    assert {"service/notes-leader"} == set(kubectl("get services -o name").split())


# --- long ones

TEXT = "".join(f"line {i} of a long text, with ä, <b> and \t in it\n" for i in range(6000))
BYTES = random.Random(1).randbytes(200_000)


def test_a_long_config_map_needs_server_side_apply(kubectl: Kubectl, tmp_path: Path) -> None:
    """Half a megabyte of text and bytes is too long for the annotation of client-side apply, and comes back as it was
    sent by server-side apply; more than a megabyte is refused."""
    (tmp_path / "text.txt").write_text(TEXT)
    (tmp_path / "bytes.bin").write_bytes(BYTES)
    manifest = kubectl(f"create configmap long --from-file={tmp_path} --dry-run=client -o yaml")
    (tmp_path / "more.bin").write_bytes(BYTES * 3)

    with pytest.raises(KubectlError) as by_client:
        kubectl("apply -f -", stdin=manifest)
    applied = [kubectl("apply --server-side -f -", stdin=manifest) for _ in range(2)]
    kubectl("diff --server-side -f -", stdin=manifest)
    stored = kubectl.json("get configmap long")
    with pytest.raises(KubectlError) as too_long:
        kubectl(f"create configmap longer --from-file={tmp_path}")

    assert TOO_LONG in str(by_client.value)
    assert ["configmap/long serverside-applied\n"] * 2 == applied
    assert (TEXT, BYTES) == (stored["data"]["text.txt"], b64decode(stored["binaryData"]["bytes.bin"]))
    assert "[]: Too long: may not be more than 1048576 bytes" in str(too_long.value)


# --- what the server warns of

RESTRICTED = 'would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
POD = "spec.template.spec.containers[0]"
LEGACY = [
    "spec.template.spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference"
    '.matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    "spec.template.metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]: "
    'non-functional in v1.16+; use the "priorityClassName" field instead',
    "spec.template.metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: "
    'non-functional in v1.27+; use the "seccompProfile" field instead',
    "spec.template.metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]: "
    'deprecated since v1.30; use the "appArmorProfile" field instead',
    f'{POD}.resources.requests[memory]: fractional byte value "1500m" is invalid, must be an integer',
    "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
    "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead",
    "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
]
REPEATED = [
    f'{POD}.env[1]: hides previous definition of "COLOUR", which may be dropped when using apply',
    f"{POD}.ports[1]: duplicate port definition with {POD}.ports[0]",
]


def test_old_and_doubtful_manifests_are_warned_of(kubectl: Kubectl) -> None:
    """Deprecated fields, annotations, labels and kinds, odd amounts and repeated names each have their warning, in the
    server's order; server-side apply refuses what is named twice; a namespace that wants restricted pods says so."""
    repeated = f"-f {FOLDER / 'notation' / 'client-side'}"

    legacy = warnings(kubectl(f"apply -f {FOLDER / 'notation' / 'legacy.yaml'}"))
    twice = warnings(kubectl(f"apply {repeated}"))
    with pytest.raises(KubectlError) as refused:
        kubectl(f"apply --server-side {repeated}")
    kubectl(f"label namespace {kubectl.namespace} pod-security.kubernetes.io/warn=restricted")
    shop, guestbook = (
        warnings(kubectl(f"apply --dry-run=server -f {FOLDER / name}")) for name in ("shop", "guestbook")
    )

    assert LEGACY == legacy
    assert REPEATED == twice
    assert 'env: duplicate entries for key [name="COLOUR"]' in str(refused.value)
    assert [] == shop
    assert 2 == len(guestbook)
    assert all(warning.startswith(RESTRICTED) for warning in guestbook)
