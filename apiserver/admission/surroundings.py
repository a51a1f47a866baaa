"""What plugins look up beside the pod that is written: its node, and what is noted on its namespace."""

from __future__ import annotations

from apiserver.admission.chain import Attributes
from apiserver.storage.reader import Reader
from kubeloop.apimachinery.errors import NotFound
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object, ReadOnlyObject, annotations_of


def node_of_changed_pod(pod: ReadOnlyObject, old: ReadOnlyObject) -> str:
    """The name of the node that a pod is on whose spec changes; "" where it is on none, or only other parts change."""
    is_same = pod["metadata"].get("generation") == old["metadata"].get("generation")
    return "" if is_same else (pod.get("spec") or {}).get("nodeName") or ""


def node_named(name: str, attributes: Attributes, reader: Reader) -> Object:
    """The node; the write is Forbidden where there is none."""
    node = reader.get("nodes", "", name)
    if node is None:
        raise attributes.forbidden(f"node {go_quote(name)} not found")
    return node


def namespace_annotation(namespace: str, annotation: str, reader: Reader) -> str:
    """An annotation's text, "" where there is none; NotFound without the namespace."""
    found = reader.get("namespaces", "", namespace)
    if found is None:
        raise NotFound.of("namespace", "", namespace)
    text: str = annotations_of(found).get(annotation, "")
    return text
