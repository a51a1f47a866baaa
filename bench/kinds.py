"""What a kind costs a write: `python -m bench.kinds` prints the CPU of each step of creating the bench's Pod.

The budget for defaults, validation and encoding together is 250 µs (docs/performance.md). Steps are those of
`apiserver.registry.store`, without admission, ownership of fields and storage.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import orjson

from apiserver.resources.catalog import KINDS
from apiserver.schema.definitions import Schema
from apiserver.storage.interface import encode_body
from bench.objects import POD
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.metadata_validation import create_errors

BUDGET = ("default", "validate", "encode")
BATCHES, PODS_A_BATCH = 15, 100


def main() -> None:
    steps = measure()
    for name, microseconds in steps.items():
        print(f"{name:10} {microseconds:6.1f} µs")
    print(f"{' + '.join(BUDGET)}: {in_budget(steps):.0f} µs")


def in_budget(steps: dict[str, float]) -> float:
    return sum(steps[name] for name in BUDGET)


def measure() -> dict[str, float]:
    """CPU microseconds a Pod of each step, the median of some batches: other processes disturb single ones."""
    batches = [_batch() for _ in range(BATCHES + 1)][1:]  # the first compiles what is compiled once
    return {name: median(batch[name] for batch in batches) for name in batches[0]}


def _batch() -> dict[str, float]:
    steps = _Steps()
    texts = [orjson.dumps(POD)] * PODS_A_BATCH
    pods = steps.run("decode", _decode, texts)
    steps.run("default", _POD.strategy.default, pods)
    for i, pod in enumerate(pods):
        pod["metadata"] |= {"name": f"b-{i}", "namespace": "bench", "uid": "u", "creationTimestamp": _NOW}
    steps.run("prepare", _POD.strategy.prepare_for_create, pods)
    errors = steps.run("validate", _validate, pods)
    assert not any(errors), "the bench's Pod is sound"
    steps.run("encode", lambda pod: encode_body(_IN_ORDER(pod, {})), pods)
    return steps.microseconds


class _Steps:
    """CPU microseconds an object of each step."""

    def __init__(self) -> None:
        self.microseconds: dict[str, float] = {}

    def run(self, name: str, step: Callable[[Any], Any], given: list[Any]) -> list[Any]:
        began = time.process_time_ns()
        made = [step(each) for each in given]
        self.microseconds[name] = (time.process_time_ns() - began) / 1e3 / len(given)
        return made


_NOW = "2026-01-02T03:04:05Z"
_POD = next(kind for kind in KINDS if kind.resource.kind == "Pod")
_SCHEMA = Schema.load()
_CODEC, _IN_ORDER = _SCHEMA.codec(*_POD.gvk), _SCHEMA.order(*_POD.gvk)


def _decode(text: bytes) -> Object:
    pod = _CODEC.decode(orjson.loads(text), raw=text).object
    pod.pop("kind", None)
    pod.pop("apiVersion", None)
    return pod


def _validate(pod: Object) -> list[Any]:
    named = create_errors(pod, namespaced=True, name_errors=_POD.strategy.name_rules(pod))
    return [*named, *_POD.strategy.validate(pod)]


if __name__ == "__main__":
    main()
