"""Dockerfile and docker-compose.yml: their steps carried out here, as no container engine may be about."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import venv
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeloop.cli.throwaway import free_port
from tests.testkit.eventually import eventually
from tests.testkit.stack import ROOT, Kubectl, is_ready, running

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]  # the image is built in the time of who asks for it first

COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
PROCESSES = [name for name, service in COMPOSE["services"].items() if "profiles" not in service]


class Image:
    """What the Dockerfile's COPY and RUN steps make of an empty folder and a fresh virtual environment."""

    def __init__(self, directory: Path) -> None:
        self.workdir, self.data, self._venv = directory / "work", directory / "data", directory / "venv"
        self.port = free_port()
        self.workdir.mkdir()
        venv.create(self._venv, with_pip=True)

    def build(self) -> None:
        for instruction, text in _instructions():
            if instruction == "COPY":
                *sources, target = text.split()
                for source in sources:
                    self._copy(source, target)
            elif instruction == "RUN":
                subprocess.run(["sh", "-ec", self._local(text)], check=True, cwd=self.workdir, env=self.environment)

    def command(self, service: str) -> list[str]:
        """What a container of that service runs: the ENTRYPOINT and the service's command."""
        entrypoint = next(text for instruction, text in _instructions() if instruction == "ENTRYPOINT")
        program, *rest = yaml.safe_load(entrypoint)
        return [str(self._venv / "bin" / program), *rest, *map(self._local, COMPOSE["services"][service]["command"])]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PATH": f"{self._venv / 'bin'}:{os.environ['PATH']}", "PIP_REQUIRE_VIRTUALENV": "1"}

    def _copy(self, source: str, target: str) -> None:
        assert f"!{source}" in (ROOT / ".dockerignore").read_text().splitlines(), f"{source} is kept from the build"
        into = self.workdir / target
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, into, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, into)

    def _local(self, text: str) -> str:
        """The volume's folder is ours, and owned by whom we are; the port is one that is free.

        What `make setup` downloaded need not be downloaded again.
        """
        local = re.sub(r"\bchown \S+", "true", text).replace(" --no-cache-dir", "")
        return local.replace("/data", str(self.data)).replace("8001", str(self.port))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    built = Image(tmp_path_factory.mktemp("image"))
    built.build()
    yield built


def test_the_compose_services_run_the_stack(image: Image, tmp_path: Path) -> None:
    """Started as their containers would be, the services are a stack in which a deployment becomes ready."""
    server = f"http://127.0.0.1:{image.port}"
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(_kubeconfig(server))
    kubectl = Kubectl(kubeconfig)

    with ExitStack() as stack:
        for service in PROCESSES:
            stack.enter_context(running(*image.command(service), cwd=tmp_path))
        eventually(lambda: is_ready(server), "the API server becomes ready")
        eventually(lambda: kubectl("get nodes --no-headers").count(" Ready") == 3, "three nodes are Ready")
        kubectl("create deployment web --image=nginx --replicas=3")

        said = kubectl("rollout status deployment/web --timeout=180s")

    assert "successfully rolled out" in said


def test_the_image_has_the_command_and_its_example(image: Image) -> None:
    """The installed package is whole: the command starts, and the demonstration finds its manifest."""
    python = image.command("apiserver")[0]
    code = "from kubeloop.cli.demo.tour import MANIFEST; print(MANIFEST.read_text())"

    shown = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd="/")
    helped = subprocess.run([Path(python).with_name("kubeloop")], capture_output=True, text=True, check=True)

    assert (ROOT / "examples/web/web.yaml").read_text().strip() == shown.stdout.strip()
    assert "demo" in helped.stdout


def test_the_compose_file_is_well_formed() -> None:
    """Every process shares one network namespace; the database is only there on request."""
    services = COMPOSE["services"]

    assert {"host"} == {services[name]["network_mode"] for name in PROCESSES}
    assert ["postgresql"] == services["postgresql"]["profiles"]
    assert 6 == len(PROCESSES)


def test_docker_compose_accepts_the_file() -> None:
    """Where docker compose is installed, it reads the file without complaint."""
    compose = _compose_command()
    if compose is None:
        pytest.skip("there is no docker compose here")

    done = subprocess.run([*compose, "config", "--quiet"], capture_output=True, text=True, check=False, cwd=ROOT)

    assert (0, "") == (done.returncode, done.stderr)


def _compose_command() -> list[str] | None:
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) and not subprocess.run([*command, "version"], capture_output=True).returncode:
            return command
    return None


def _instructions() -> Iterator[tuple[str, str]]:
    for line in (ROOT / "Dockerfile").read_text().splitlines():
        if line and not line.startswith("#"):
            instruction, _, text = line.partition(" ")
            yield instruction, text


def _kubeconfig(server: str) -> str:
    config: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": ""}}],
    }
    return yaml.safe_dump(config)
