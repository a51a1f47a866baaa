"""File paths inside volumes: relative ones that cannot climb out."""

from __future__ import annotations

from apiserver.resources.checks import Errors
from kubeloop.apimachinery import field


def check_no_backsteps(path_value: str, path: str, errors: Errors) -> None:
    if ".." in path_value.split("/"):
        errors.append(field.invalid(path, path_value, "must not contain '..'"))


def check_descending_path(path_value: str, path: str, errors: Errors) -> None:
    if path_value.startswith("/"):
        errors.append(field.invalid(path, path_value, "must be a relative path"))
    check_no_backsteps(path_value, path, errors)


def check_unreserved_path(path_value: str, path: str, errors: Errors) -> None:
    """Names that begin with `..` are the kubelet's own."""
    check_descending_path(path_value, path, errors)
    if path_value.startswith("..") and not path_value.startswith("../"):
        errors.append(field.invalid(path, path_value, "must not start with '..'"))


def check_file_mode(mode: int | None, path: str, errors: Errors) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        errors.append(field.invalid(path, mode, "must be a number between 0 and 0777 (octal), both inclusive"))
