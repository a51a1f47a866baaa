"""From the files of a directory to the objects they describe, in the order in which they can be applied. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml

_YAML_NAMES, _JSON_NAMES = (".yaml", ".yml"), (".json",)
_document_separator = re.compile(rb"^---.*\n?", re.MULTILINE)

# What others need comes first, as in Helm's install order. Kinds that are not named come after these.
_FIRST = (
    "Namespace",
    "CustomResourceDefinition",
    "PriorityClass",
    "StorageClass",
    "ResourceQuota",
    "LimitRange",
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
    "Secret",
    "ConfigMap",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Service",
)
# What judges others comes last: it might refuse what it needs itself.
_LAST = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_RANKS = {kind: rank for rank, kind in enumerate((*_FIRST, "", *_LAST))}


class Problem(NamedTuple):
    """Why a document was passed over."""

    file: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}: {self.message}"


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object as a file has it: with apiVersion, kind and metadata.name."""

    file: str
    obj: Object

    @property
    def api_version(self) -> str:
        return str(self.obj["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.obj["kind"])


@dataclass(frozen=True, slots=True)
class Directory:
    """What a directory's files say, and what in them could not be read."""

    manifests: Sequence[Manifest]
    problems: Sequence[Problem]


def read(files: Mapping[str, bytes]) -> Directory:
    """Of files by name those that end in .yaml, .yml or .json. One bad document does not hide the others."""
    manifests: list[Manifest] = []
    problems: list[Problem] = []
    for name, content in files.items():
        for document in _documents(name, content):
            try:
                manifests += [Manifest(name, obj) for obj in _objects(_parse(name, document))]
            except ValueError as error:
                problems.append(Problem(name, str(error)))
    return Directory(sorted(manifests, key=lambda manifest: rank(manifest.kind)), problems)


def rank(kind: str) -> int:
    """Lower ones are applied earlier, and pruned later."""
    return _RANKS.get(kind, _RANKS[""])


def _documents(name: str, content: bytes) -> Iterable[bytes]:
    if name.endswith(_YAML_NAMES):
        return _document_separator.split(content)
    return [content] if name.endswith(_JSON_NAMES) else []


def _parse(name: str, document: bytes) -> Any:
    """The value, None for an empty document. ValueError: not YAML, or not JSON."""
    if name.endswith(_JSON_NAMES):
        return orjson.loads(document) if document.strip() else None
    try:
        return parse_yaml(document)
    except YamlSyntaxError as error:
        raise ValueError(f"error parsing: {error}") from error


def _objects(value: Any) -> Iterator[Object]:
    """The object of a document, or the items of a List. ValueError says what is missing, in kubectl's words."""
    if value is None:
        return
    if not isinstance(value, dict):
        raise ValueError("a document must be an object")
    for field in ("apiVersion", "kind"):
        if not value.get(field) or not isinstance(value[field], str):
            named = "Kind" if field == "kind" else field
            raise ValueError(f"Object '{named}' is missing in '{_excerpt(value)}'")
    if value["kind"].endswith("List") and isinstance(value.get("items"), list):
        for item in value["items"]:
            yield from _objects(_list_item(value, item))
        return
    _check_metadata(value)
    yield value


def _list_item(listed: Object, item: Any) -> Any:
    """Items of a ConfigMapList may leave out what they are; those of a List may not."""
    kind = listed["kind"].removesuffix("List")
    if not kind or not isinstance(item, dict):
        return item
    return {"apiVersion": listed["apiVersion"], "kind": kind, **item}


def _check_metadata(obj: Object) -> None:
    subject = f"{obj['kind']}.{obj['apiVersion']}"
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name") or not isinstance(metadata["name"], str):
        raise ValueError(f"{subject}: resource name may not be empty")
    if not isinstance(metadata.get("namespace") or "", str):
        raise ValueError(f"{subject} {metadata['name']}: metadata.namespace must be a text")
    for field in ("labels", "annotations"):
        if not isinstance(metadata.get(field) or {}, dict):
            raise ValueError(f"{subject} {metadata['name']}: metadata.{field} must be a map")


def _excerpt(value: Object) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= 100 else f"{text[:100]}..."
