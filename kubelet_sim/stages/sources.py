"""Where stages come from at the start: built-in sets by name, and files of YAML documents."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from kubelet_sim.stages.definition import STAGES
from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.model import Stage
from kubelet_sim.stages.reading import read
from kubeloop.apimachinery.stage_sets import CLUSTER, SETS
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml

API_VERSIONS = (STAGES.api_version, "kubeloop.io/v1alpha1")
# Set -> the files in sets/ that it is made of.
_FILES: Mapping[str, Sequence[str]] = {
    "fast": ("pod-fast.yaml", "node.yaml"),
    "general": ("pod-general.yaml", "node.yaml"),
    "chaos": ("pod-general.yaml", "pod-chaos.yaml", "node.yaml", "node-chaos.yaml"),
}
assert _FILES.keys() == SETS.keys()
_SEPARATOR = re.compile(r"^---[ \t]*(?:#.*)?$", re.MULTILINE)


def text_of_set(name: str) -> str:
    """The documents of a built-in set. KeyError where there is none of that name."""
    folder = files("kubelet_sim.stages") / "sets"
    return "---\n".join((folder / file).read_text() for file in _FILES[name])


def stages_of(sources: Iterable[str]) -> list[Stage]:
    """Of sets and files, each once; `cluster` is not looked at. Raises StageError, or OSError."""
    texts: dict[str, str] = {}
    for source in sources:
        if source in _FILES:
            folder = files("kubelet_sim.stages") / "sets"
            texts |= {file: (folder / file).read_text() for file in _FILES[source]}
        elif source != CLUSTER:
            texts[source] = Path(source).read_text()
    return [stage for text in texts.values() for stage in read_text(text)]


def read_text(text: str) -> list[Stage]:
    """The stages in YAML documents. Raises StageError."""
    try:
        documents = [document for document in (parse_yaml(one.encode()) for one in _SEPARATOR.split(text)) if document]
    except YamlSyntaxError as error:
        raise StageError(str(error)) from error
    return [stage for stage in map(_read, documents) if stage is not None]


def _read(document: Any) -> Stage | None:
    if not isinstance(document, Mapping) or document.get("kind") != STAGES.kind:
        raise StageError("a document is no Stage")
    if document.get("apiVersion") not in API_VERSIONS:
        raise StageError(f"apiVersion {document.get('apiVersion')!r}: there are {' and '.join(API_VERSIONS)}")
    return read(document)
