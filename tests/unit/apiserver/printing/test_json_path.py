"""JSONPath as Kubernetes understands it."""

from typing import Any

import pytest

from apiserver.printing.json_path import PathError, compile_path

OBJECT: dict[str, Any] = {
    "spec": {"size": 3, "items": [{"name": "b", "n": 1}, {"name": "c", "n": 2}, {"name": "d", "n": 3}], "a.b": "dot"},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}, {"type": "Odd)", "status": "False"}],
        "nothing": None,
    },
    "metadata": {"labels": {"app": "web"}},
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.size", [3]),
        ("$.spec.size", [3]),
        (".spec.absent.deeper", []),
        (".spec.size.deeper", []),
        (r".spec.a\.b", ["dot"]),
        (".spec['size']", [3]),
        (".spec['size','a\\.b']", [3, "dot"]),
        (".spec.items[0].name", ["b"]),
        (".spec.items[-1].name", ["d"]),
        (".spec.items[*].name", ["b", "c", "d"]),
        (".spec.items[0:2].name", ["b", "c"]),
        (".spec.items[0:3:2].name", ["b", "d"]),
        (".spec.items[0,2].name", ["b", "d"]),
        (".metadata.labels.*", ["web"]),
        ("..name", ["b", "c", "d"]),
        ('.status.conditions[?(@.type=="Ready")].status', ["True"]),
        (".status.conditions[?(@.type=='Odd)')].status", ["False"]),
        (".status.conditions[?(@.type!='Ready')].type", ["Odd)"]),
        (".spec.items[?(@.n>1)].name", ["c", "d"]),
        (".spec.items[?(@.n<=2)].name", ["b", "c"]),
        (".spec.items[?(@.absent)].name", []),
        (".spec.items[?(@.name)].n", [1, 2, 3]),
        (".spec.absent[?(@.type=='Ready')].status", []),
        (".status.nothing", [None]),
        (".status.nothing.deeper", []),
    ],
)
def test_what_a_path_finds(path: str, expected: list[Any]) -> None:
    """Fields, indexes, slices, unions, wildcards, descent and filters."""
    assert expected == compile_path(path).find(OBJECT)


@pytest.mark.parametrize("path", [".spec.items[9].name", ".spec[0]", ".spec[?(@.n==1)]", ".spec.items[?(@.n=='1')]"])
def test_a_path_may_not_fit_the_object(path: str) -> None:
    """An index out of bounds or of a map, a filter of a map, a comparison of unlike things."""
    compiled = compile_path(path)

    with pytest.raises(PathError):
        compiled.find(OBJECT)


@pytest.mark.parametrize("path", ["[0", ".a[x]", ".a[?(@.b==1)", ".a[?(@.b=1)]", "#", "range", ".a['b", ".a[]"])
def test_a_path_may_be_no_path(path: str) -> None:
    """It is refused when it is compiled."""
    with pytest.raises(PathError):
        compile_path(path)
