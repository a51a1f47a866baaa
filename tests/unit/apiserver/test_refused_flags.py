"""Flags with which the API server does not start: one line says why, and the exit code is 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from apiserver.main import main


@pytest.fixture(autouse=True)
def logging_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process sets up logging for itself alone; here others follow."""
    monkeypatch.setattr("apiserver.main.configure_logging", lambda *_: None)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "text").write_text("no key, no certificate")
    return tmp_path


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--tls-cert-file=text"], "--tls-cert-file and --tls-private-key-file are needed, both, to serve HTTPS"),
        (["--client-ca-file=text"], "--tls-cert-file and --tls-private-key-file are needed, both, to serve HTTPS"),
        (["--tls-cert-file=gone", "--tls-private-key-file=gone"], "No such file or directory"),
        (["--tls-cert-file=text", "--tls-private-key-file=text"], "PEM"),
        (["--service-account-signing-key-file=gone"], "cannot read the service account key gone"),
        (["--service-account-signing-key-file=text"], "no key in PEM found"),
        (["--service-account-key-file=text"], "no key in PEM found"),
        (["--audit-log-path=gone/audit.log"], "--audit-log-path=gone/audit.log: No such file or directory"),
        (["--bind-address=0.0.0.0"], "it needs --tls-cert-file, --tls-private-key-file, --token-auth-file or"),
    ],
)
def test_what_cannot_work_is_refused(
    flags: list[str], expected: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is opened, and with the flag's name."""
    monkeypatch.chdir(folder)

    code = main([*flags, "--storage=memory", "--port=0"])

    error = capsys.readouterr().err
    assert 1 == code
    assert error.startswith("error: ") and expected in error and 1 == error.count("\n")


def test_a_negative_number_of_requests_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """0 is what stands for no limit."""
    with pytest.raises(SystemExit, match="1"):
        main(["--max-requests-inflight=-1"])

    assert "0 is no limit" in capsys.readouterr().err


@pytest.mark.parametrize("flag", ["--late-answers", "--late-watches"])
@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("soon", 'time: invalid duration "soon"'),
        ("400", 'time: missing unit in duration "400"'),
        ("1d", 'time: unknown unit "d" in duration "1d"'),
        ("-400ms", 'time: "-400ms" is negative'),
    ],
)
def test_lateness_is_a_duration(flag: str, value: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As Go writes them, and none before the request."""
    with pytest.raises(SystemExit, match="1"):
        main([f"{flag}={value}"])

    error = capsys.readouterr().err
    assert error.startswith(f"error: argument {flag}: {why}") and 1 == error.count("\n")
