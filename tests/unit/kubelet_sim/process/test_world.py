"""What a container's command sees: environment, arguments, directories and files."""

from __future__ import annotations

import base64
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from kubelet_sim.process.trees import remove_tree
from kubelet_sim.process.world import Places, World, prepare
from kubelet_sim.tokens import Tokens
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.virtual_time import LoopClock, run
from tests.unit.kubelet_sim.played_pod import a_container, a_pod


class AnApi:
    """Knows a few objects by name, and gives tokens."""

    base_url = "http://127.0.0.1:8001"

    def __init__(self, *objects: Object) -> None:
        self.objects = {one["metadata"]["name"]: one for one in objects}
        self.requests: list[Object] = []

    async def get(self, resource: object, name: str, namespace: str = "") -> Object:
        if name not in self.objects:
            raise NotFound(f"{name} not found")
        return self.objects[name]

    async def list(self, resource: object, namespace: str = "") -> Object:
        return {"items": [one for one in self.objects.values() if "clusterIP" in one.get("spec", {})]}

    async def create(self, resource: object, body: Object, namespace: str = "", **where: Any) -> Object:
        self.requests.append(body | where)
        return {"status": {"token": f"token of {where['name']}"}}


def settings(**data: str) -> Object:
    return {"metadata": {"name": "settings"}, "data": data, "binaryData": {"raw": base64.b64encode(b"\xff").decode()}}


def secret(**data: str) -> Object:
    return {
        "metadata": {"name": "secret"},
        "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()},
    }


def a_service(name: str, ip: str, *ports: Object) -> Object:
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"clusterIP": ip, "ports": list(ports)}}


def seen(root_dir: Path, pod: Object, *objects: Object, api: AnApi | None = None, index: int = 0) -> World:
    container = pod["spec"]["containers"][index]
    places = Places.of(root_dir, pod["metadata"]["uid"], container["name"])
    found: Any = api or AnApi(*objects)
    return run(prepare(found, Tokens(found, LoopClock()), pod, container, places, "/bin"))


def test_the_environment_is_the_containers_and_nothing_else(tmp_path: Path) -> None:
    """envFrom, env, the downward API and references to each other; its root is said last and cannot be changed."""
    container = a_container(
        command=["run", "$(URL)", "$$(URL)", "$(NONE)"],
        args=["$(KUBELOOP_ROOT)/x"],
        envFrom=[{"prefix": "S_", "configMapRef": {"name": "settings"}}],
        env=[
            {"name": "HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
            {"name": "URL", "value": "http://$(HOST):$(S_port)"},
            {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "secret", "key": "password"}}},
            {"name": "KUBELOOP_ROOT", "value": "/elsewhere"},
        ],
    )
    pod = a_pod(container, enableServiceLinks=False)
    pod["status"]["podIP"] = "10.244.0.7"

    world = seen(tmp_path, pod, settings(port="80"), secret(password="hunter2"))
    known = {name: text for name, text in world.command.environment.items() if "KUBERNETES" not in name}

    root = str(world.root)
    assert {
        "PATH": "/bin",
        "HOSTNAME": "p",
        "HOME": root,
        "TMPDIR": f"{root}/tmp",
        "KUBELOOP_ROOT": root,
        "S_port": "80",
        "S_raw": "\udcff",
        "HOST": "127.0.0.1",
        "URL": "http://127.0.0.1:80",
        "PASSWORD": "hunter2",
    } == known
    assert ["run", "http://127.0.0.1:80", "$(URL)", "$(NONE)", f"{root}/x"] == list(world.command.argv)


def test_services_are_told_of_as_kubernetes_does(tmp_path: Path) -> None:
    """The API server at its real address; headless Services not at all, and none where the pod wants no links."""
    port = {"name": "web-ui", "port": 80, "protocol": "TCP"}
    objects = [a_service("my-web", "10.96.0.9", port), a_service("headless", "None", port)]
    container = a_container(command=["run"])

    known = seen(tmp_path, a_pod(container), *objects).command.environment
    without = seen(tmp_path, a_pod(container, enableServiceLinks=False), *objects).command.environment

    assert {
        "MY_WEB_SERVICE_HOST": "10.96.0.9",
        "MY_WEB_SERVICE_PORT": "80",
        "MY_WEB_SERVICE_PORT_WEB_UI": "80",
        "MY_WEB_PORT": "tcp://10.96.0.9:80",
        "MY_WEB_PORT_80_TCP": "tcp://10.96.0.9:80",
        "MY_WEB_PORT_80_TCP_PROTO": "tcp",
        "MY_WEB_PORT_80_TCP_PORT": "80",
        "MY_WEB_PORT_80_TCP_ADDR": "10.96.0.9",
    } == {name: known[name] for name in known if name.startswith("MY_WEB")}
    for variables in (known, without):
        assert ("127.0.0.1", "8001") == (variables["KUBERNETES_SERVICE_HOST"], variables["KUBERNETES_SERVICE_PORT"])
    assert not [name for name in (*known, *without) if name.startswith("HEADLESS")]
    assert not [name for name in without if name.startswith("MY_WEB")]


VOLUMES = [
    {"name": "plain", "configMap": {"name": "settings", "defaultMode": 0o755}},
    {
        "name": "some",
        "secret": {"secretName": "secret", "items": [{"key": "password", "path": "sub/pw", "mode": 0o400}]},
    },
    {"name": "empty", "emptyDir": {}},
    {"name": "about", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    {
        "name": "api",
        "projected": {
            "defaultMode": 0o644,
            "sources": [
                {"serviceAccountToken": {"path": "token", "audience": "vault"}},
                {"downwardAPI": {"items": [{"path": "ns", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
                {"configMap": {"name": "settings", "items": [{"key": "port", "path": "the-port"}]}},
                {"secret": {"name": "not-there", "optional": True}},
            ],
        },
    },
    {"name": "host", "hostPath": {"path": "/etc"}},
]


def test_volumes_are_files_below_the_root(tmp_path: Path) -> None:
    """With their modes; what is of the host stays away."""
    mounts = [{"name": volume["name"], "mountPath": f"/mnt/{volume['name']}"} for volume in VOLUMES]
    mounts.append({"name": "plain", "mountPath": "/etc/app/port", "subPath": "port"})
    pod = a_pod(a_container(command=["run"], volumeMounts=mounts), volumes=VOLUMES, serviceAccountName="robot")
    api = AnApi(settings(port="80"), secret(password="hunter2", other="x"))

    root = seen(tmp_path, pod, api=api).root
    mounted = root / "mnt"
    found = {
        os.path.relpath(Path(folder) / name, mounted): (Path(folder) / name).read_bytes()
        for folder, _, names in os.walk(mounted, followlinks=True)
        for name in names
    }

    assert {
        "plain/port": b"80",
        "plain/raw": b"\xff",
        "some/sub/pw": b"hunter2",
        "about/name": b"p",
        "api/token": b"token of robot",
        "api/ns": b"default",
        "api/the-port": b"80",
    } == found
    assert "80" == (root / "etc/app/port").read_text()
    assert [0o755, 0o400, 0o600] == [
        stat.S_IMODE((mounted / path).stat().st_mode) for path in ("plain/port", "some/sub/pw", "api/token")
    ]
    assert [] == list((mounted / "host").iterdir())
    [asked] = api.requests
    assert ("p", ["vault"]) == (asked["spec"]["boundObjectRef"]["name"], asked["spec"]["audiences"])


def test_containers_of_a_pod_share_its_volumes_and_nothing_else(tmp_path: Path) -> None:
    """What one writes into an empty directory another reads, also after a restart; its own files are gone then."""
    mounts = [{"name": "empty", "mountPath": "/data"}]
    one = a_container("one", command=["run"], volumeMounts=mounts, workingDir="/work/here")
    two = a_container("two", command=["run"], volumeMounts=[{**mounts[0], "mountPath": "/other", "subPath": "deep"}])
    pod = a_pod(one, two, volumes=[{"name": "empty", "emptyDir": {}}])

    first = seen(tmp_path, pod)
    (first.root / "data/deep").mkdir()
    (first.root / "data/deep/file").write_text("shared")
    (first.command.working_dir / "scratch").write_text("mine")
    second, again = seen(tmp_path, pod, index=1), seen(tmp_path, pod)

    assert first.root / "work/here" == again.command.working_dir
    assert [] == list(again.command.working_dir.iterdir())
    assert {"shared"} == {(second.root / "other/file").read_text(), (again.root / "data/deep/file").read_text()}


@pytest.mark.parametrize(
    ("program", "expected"),
    [("/scripts/run.sh", "scripts/run.sh"), ("/scripts/none", ""), ("/bin/run.sh", ""), ("sh", "")],
)
def test_a_program_that_is_mounted_is_found_where_it_is(tmp_path: Path, program: str, expected: str) -> None:
    """`command: [/scripts/run.sh]` is a path in the container; all others are the host's."""
    mounts = [{"name": "scripts", "mountPath": "/scripts"}]
    volumes = [{"name": "scripts", "configMap": {"name": "settings"}}]
    pod = a_pod(a_container(command=[program], volumeMounts=mounts), volumes=volumes)

    world = seen(tmp_path, pod, settings(**{"run.sh": "#!/bin/sh"}))

    assert (str(world.root / expected) if expected else "") == world.command.program


def test_no_path_leads_out_of_the_root(tmp_path: Path) -> None:
    """Whatever a pod says that the API server let pass."""
    pod = a_pod(a_container(command=["run"], workingDir="/../../../out", terminationMessagePath="/../../message"))

    world = seen(tmp_path, pod)

    assert (world.root / "out", world.root / "message") == (world.command.working_dir, world.message_file)


def test_keys_as_long_as_they_may_be_and_ones_that_look_temporary_are_files(tmp_path: Path) -> None:
    """A key of 253 characters, and one that is called as another one with `.new`."""
    data = {"k" * 253: "long", ".a.new": "old", "a": "new"}
    pod = a_pod(a_container(command=["run"], volumeMounts=[{"name": "files", "mountPath": "/files"}]))
    pod["spec"]["volumes"] = [{"name": "files", "configMap": {"name": "settings"}}]

    files = seen(tmp_path, pod, {"metadata": {"name": "settings"}, "data": data}).root / "files"

    assert {path.name: path.read_text() for path in files.iterdir()} == data


def test_a_pipe_where_the_termination_message_goes_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    """Whoever shares the volume has made it; all nodes would wait for somebody to read it."""
    pod = a_pod(
        a_container(
            command=["run"],
            volumeMounts=[{"name": "work", "mountPath": "/work"}],
            terminationMessagePath="/work/message",
        )
    )
    pod["spec"]["volumes"] = [{"name": "work", "emptyDir": {}}]
    os.mkfifo(seen(tmp_path, pod).root.resolve() / "work" / "other")
    volume = Places.of(tmp_path, pod["metadata"]["uid"], "c").volumes / "work"
    (volume / "message").unlink()
    (volume / "other").rename(volume / "message")

    with pytest.raises(OSError):
        seen(tmp_path, pod)


def test_directories_that_may_not_be_written_are_in_nobodys_way() -> None:
    """A run that left some does not keep the next one from beginning, nor are they kept for ever; links stay unread."""
    with TemporaryDirectory() as name:  # other users may look into it
        elsewhere, tree = Path(name, "elsewhere"), Path(name, "tree")
        (tree / "cache" / "module").mkdir(parents=True)
        (tree / "cache" / "module" / "file").touch()
        elsewhere.mkdir(mode=0o500)
        (tree / "cache" / "link").symlink_to(elsewhere)
        for path in (tree / "cache" / "module", tree / "cache"):
            path.chmod(0o500)

        with as_an_ordinary_user(Path(name)):
            remove_tree(tree)

        assert not tree.exists()
        assert stat.S_IMODE(elsewhere.stat().st_mode) == 0o500


@contextmanager
def as_an_ordinary_user(directory: Path) -> Iterator[None]:
    """Root may write everything: for him somebody else removes, who owns it."""
    if os.geteuid():
        yield
        return
    nobody = 65534
    for path in (directory, *directory.rglob("*")):
        os.chown(path, nobody, nobody, follow_symlinks=False)
    os.seteuid(nobody)
    try:
        yield
    finally:
        os.seteuid(0)
