"""Reading manifests: documents, Lists, JSON, their order, and what is wrong with them."""

from __future__ import annotations

import pytest

from examples.operators.gitops.manifests import Directory, read

CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\n"


def names(directory: Directory) -> list[str]:
    return [manifest.obj["metadata"]["name"] for manifest in directory.manifests]


def one(text: str) -> Directory:
    return read({"a.yaml": text.encode()})


def test_documents_of_a_file_are_objects_each() -> None:
    """Empty ones and comments are none; a separator may carry a comment."""
    text = f"# about\n---\n{CONFIG_MAP % 'a'}--- # next\n{CONFIG_MAP % 'b'}---\n\n---\n{CONFIG_MAP % 'c'}"

    assert ["a", "b", "c"] == names(one(text))
    assert [] == list(one(text).problems)


def test_files_are_told_by_their_names() -> None:
    """.yaml, .yml and .json; a README is none."""
    json = b'{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "j"}}\n'
    yaml = (CONFIG_MAP % "y").encode()

    found = read({"README.md": b"---\n", "a.json": json, "b.yml": yaml, "c.yaml": yaml, "d.json": b"\n"})

    assert (["j", "y", "y"], []) == (names(found), list(found.problems))


def test_lists_are_their_items() -> None:
    """A List's say what they are, a ConfigMapList's need not; lists of lists too."""
    item = '{apiVersion: v1, kind: ConfigMap, metadata: {name: "%s"}}'
    inner = f"{{apiVersion: v1, kind: List, items: [{item % 'b'}]}}"
    text = f"apiVersion: v1\nkind: List\nitems: [{item % 'a'}, {inner}]\n---\n"
    text += "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: c}}]\n"

    found = one(text)

    assert ["a", "b", "c"] == names(found)
    assert {("v1", "ConfigMap")} == {(each.api_version, each.kind) for each in found.manifests}


def test_yaml_means_what_it_means_to_kubectl() -> None:
    """Dates stay text, yes is true, 010 is eight."""
    found = one(CONFIG_MAP % "a" + "data: {date: 2026-01-01, time: 12:30, yes: on, eight: 010}\n")

    assert {"date": "2026-01-01", "time": "12:30", "true": True, "eight": 8} == found.manifests[0].obj["data"]


def test_what_others_need_comes_first() -> None:
    """Namespaces, definitions, configuration, workloads and other kinds, webhooks; within a kind as in Git."""
    kinds = ["ValidatingWebhookConfiguration", "Widget", "Deployment", "ConfigMap", "CustomResourceDefinition"]
    text = "---\n".join(f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n" for kind in [*kinds, "Namespace"])

    assert [
        "Namespace",
        "CustomResourceDefinition",
        "ConfigMap",
        "Widget",
        "Deployment",
        "ValidatingWebhookConfiguration",
    ] == [manifest.kind for manifest in one(text).manifests]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a: [b", "error parsing: yaml: line 1: did not find expected ',' or ']'"),
        ("just text", "a document must be an object"),
        ("kind: ConfigMap", "Object 'apiVersion' is missing in '{\"kind\":\"ConfigMap\"}'"),
        ("apiVersion: v1", "Object 'Kind' is missing in '{\"apiVersion\":\"v1\"}'"),
        ("apiVersion: v1\nkind: ConfigMap", "ConfigMap.v1: resource name may not be empty"),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a-}",
            "ConfigMap.v1: resource name may not be empty",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, labels: [x]}",
            "ConfigMap.v1 a: metadata.labels must be a map",
        ),
        (
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: 1}",
            "ConfigMap.v1 a: metadata.namespace must be a text",
        ),
    ],
)
def test_what_is_no_object_is_told_and_hides_nothing(text: str, problem: str) -> None:
    """With its file; the documents around it are read."""
    found = one(f"{CONFIG_MAP % 'a'}---\n{text}\n---\n{CONFIG_MAP % 'b'}")

    assert ["a", "b"] == names(found)
    assert [f"a.yaml: {problem}"] == [str(each) for each in found.problems]


def test_bad_json_is_told() -> None:
    """With its file."""
    found = read({"a.json": b'{"kind": '})

    assert ["a.json"] == [problem.file for problem in found.problems]
