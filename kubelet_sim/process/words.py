"""What containerd and runc say of commands that cannot be started (runc's libcontainer, containerd 2)."""

from __future__ import annotations


def start_failed(why: str) -> str:
    return (
        "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
        f"unable to start container process: {why}: unknown"
    )


def exec_failed(why: str) -> str:
    return (
        "error executing command in container: failed to exec in container: failed to start exec: "
        f"OCI runtime exec failed: exec failed: unable to start container process: {why}: unknown"
    )


def not_found(program: str) -> str:
    reason = f"stat {program}: no such file or directory" if "/" in program else "executable file not found in $PATH"
    return f'exec: "{program}": {reason}'


def not_executable(program: str) -> str:
    return f'exec: "{program}": permission denied'


def refused(program: str, error: str) -> str:
    """By the operating system, as `exec format error`."""
    return f"exec {program}: {error.lower()}"
