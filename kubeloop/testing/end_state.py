"""What a cluster ended in, told so that two runs can be compared: all objects, without what chance and time put there.

    uids, resource versions, generations, times, addresses   left out or replaced by a word
    names that the server completed (generateName)            web-7d9f8-x2x7k becomes web-7d9f8-*
    lists                                                     sorted: no controller promises their order
    status.observedGeneration                                 whether it is current

So two runs are equal where the same things exist, say the same, and belong to the same owners. Events and leases are
left out; so is what was there before the run began.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import orjson

from apiserver.storage.interface import Stored
from kubeloop.apimachinery.meta import Object
from kubeloop.testing.faults.answers import TOUCHED

# Makes of an object what counts of it; None leaves it out. The first argument is the resource: "pods", "jobs.batch".
Reduce = Callable[[str, Object], Object | None]

_IGNORED_RESOURCES = frozenset({"events", "events.events.k8s.io", "leases.coordination.k8s.io"})
_IGNORED_METADATA = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
)
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ADDRESS = re.compile(r"\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b")
_CONTAINER = re.compile(r"(containerd|docker)://\w+")
# The volume that admission adds to each pod, as if its name were generated.
_TOKEN_VOLUME = "kube-api-access-"
# The suffixes that the server makes up.
_SUFFIX = "[bcdfghjklmnpqrstvwxz2456789]{5}"


def end_state(objects: Iterable[Stored], prefixes: Iterable[str], reduce: Reduce) -> Sequence[str]:
    """Each object as a text, sorted. `prefixes`: every generateName that was ever used."""
    kept = [(stored, stored.object()) for stored in objects if stored.key.resource not in _IGNORED_RESOURCES]
    names = _names(prefixes)
    uids = {obj["metadata"]["uid"]: names(f"{stored.key.resource}/{stored.key.name}") for stored, obj in kept}

    def words(text: str) -> str:
        text = _UID.sub(lambda uid: f"<uid of {uids.get(uid[0], 'something gone')}>", text)
        text = _CONTAINER.sub("<container>", _ADDRESS.sub("<address>", _TIME.sub("<time>", text)))
        return names(text)

    texts = []
    for stored, obj in kept:
        reduced = reduce(stored.key.resource, obj)
        if reduced is not None:
            name = reduced["metadata"].get("name", stored.key.name)  # `reduce` may have renamed it
            title = words(f"{stored.key.resource} {stored.key.namespace}/{name}")
            texts.append(f"{title}\n{_text(_normal(reduced, words))}")
    return sorted(texts)


def difference(wanted: Sequence[str], found: Sequence[str]) -> str:
    """As a unified diff of the objects that are not the same in both; "" where all are."""
    common = list(found)
    missing = []
    for text in wanted:
        if text in common:
            common.remove(text)
        else:
            missing.append(text)
    before = [line for text in missing for line in text.splitlines()]
    after = [line for text in common for line in text.splitlines()]
    lines = difflib.unified_diff(before, after, "undisturbed", "disturbed", n=3, lineterm="")
    titles = [f"- {text.splitlines()[0]}" for text in missing] + [f"+ {text.splitlines()[0]}" for text in common]
    return "\n".join([*titles, *lines]) if titles else ""


def keep_everything(_: str, obj: Object) -> Object | None:
    return obj


def _names(prefixes: Iterable[str]) -> Callable[[str], str]:
    """Replaces the suffixes that the server gave to generated names."""
    known = sorted({*prefixes, _TOKEN_VOLUME}, key=lambda prefix: (-len(prefix), prefix))
    alternatives = "|".join(re.escape(prefix) for prefix in known)
    pattern = re.compile(rf"(?<![a-z0-9-])({alternatives}){_SUFFIX}(?![a-z0-9])")
    return lambda text: pattern.sub(lambda found: f"{found[1]}*", text)


def _normal(obj: Mapping[str, Any], words: Callable[[str], str]) -> Any:
    metadata = {k: v for k, v in obj["metadata"].items() if k not in _IGNORED_METADATA}
    status = obj.get("status")
    if isinstance(status, dict) and "observedGeneration" in status:
        is_current = status["observedGeneration"] == obj["metadata"].get("generation")
        obj = {**obj, "status": {**status, "observedGeneration": "current" if is_current else "old"}}
    return _value({**obj, "metadata": metadata}, words)


def _value(value: Any, words: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return words(value)
    if isinstance(value, list):
        return sorted((_value(one, words) for one in value), key=_text)
    if isinstance(value, dict):
        return {
            words(k): _value(v, words)
            for k, v in value.items()
            if k not in (TOUCHED, "resourceVersion") and not (k == "annotations" and set(v or {}) <= {TOUCHED})
        }
    return value


def _text(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2).decode()
