"""What a pod asks for as a whole, worked out once for all pods that ask alike: those of a template do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import orjson

from kubeloop.apimachinery.meta import ReadOnlyObject
from kubeloop.apimachinery.pod_resources import Quantities, is_pod_level, pod_limits, pod_requests
from kubeloop.apimachinery.quantity import Quantity

_MAX_REMEMBERED = 1024  # full: the least recent is worked out again
_OF_POD = ("resources", "overhead")
_OF_CONTAINERS = ("resources", "restartPolicy")


@dataclass(frozen=True, slots=True)
class Asked:
    """Read-only. `requests` and `of_pod_level` as a status spells them, `of_pod_level` with what spec.resources may
    name only; `amounts` are of requests: CPU in thousandths, everything else in units.
    """

    requests: Mapping[str, str]
    of_pod_level: Mapping[str, Mapping[str, str]]
    amounts: Mapping[str, int]


def asked_for(pod: ReadOnlyObject) -> Asked:
    """Of what its spec says now."""
    spec = pod["spec"]
    said = {field: spec[field] for field in _OF_POD if field in spec}
    for field in ("containers", "initContainers"):
        containers = spec.get(field)
        if containers:
            said[field] = [{word: one[word] for word in _OF_CONTAINERS if word in one} for one in containers]
    return _asked_for(orjson.dumps(said))


@lru_cache(_MAX_REMEMBERED)
def _asked_for(said: bytes) -> Asked:
    """`said`: all that the answer depends on, as the JSON of a spec."""
    pod = {"spec": orjson.loads(said)}
    requests = pod_requests(pod)
    texts = {"requests": _texts(requests), "limits": _texts(pod_limits(pod))}
    of_pod_level = {
        field: {name: text for name, text in of.items() if is_pod_level(name)} for field, of in texts.items()
    }
    return Asked(
        texts["requests"],
        {field: values for field, values in of_pod_level.items() if values},
        {name: amount(name, quantity) for name, quantity in requests.items()},
    )


def amount(name: str, quantity: Quantity) -> int:
    """CPU in thousandths, everything else in units."""
    return quantity.milli_value() if name == "cpu" else quantity.value()


def _texts(quantities: Quantities) -> dict[str, str]:
    return {name: str(quantity) for name, quantity in quantities.items()}
