"""What the extenders of a KubeSchedulerConfiguration may be (validateExtenders, v1.36)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeloop.apimachinery.field import FieldError, index, invalid, required
from kubeloop.apimachinery.go_url import UrlError, parse_url
from kubeloop.apimachinery.quota import is_extended
from kubeloop.apimachinery.validation import qualified_name_errors

Values = Mapping[str, Any]


def extenders(found: Sequence[Values]) -> Iterator[FieldError]:
    """Of all of them; where one can be reached is checked, too, which upstream leaves to the first call."""
    seen: set[str] = set()
    for i, extender in enumerate(found):
        path = index("extenders", i)
        yield from _address(extender, path)
        weight = extender.get("weight") or 0
        if extender.get("prioritizeVerb") and weight <= 0:
            yield invalid(f"{path}.weight", weight, "must have a positive weight applied to it")
        for j, resource in enumerate(extender.get("managedResources") or ()):
            yield from _managed_resource(
                resource.get("name") or "", f"{index(f'{path}.managedResources', j)}.name", seen
            )
    binders = sum(bool(extender.get("bindVerb")) for extender in found)
    if binders > 1:
        yield invalid(
            "extenders", f"found {binders} extenders implementing bind", "only one extender can implement bind"
        )


def _address(extender: Values, path: str) -> Iterator[FieldError]:
    prefix = extender.get("urlPrefix") or ""
    if not prefix:
        yield required(f"{path}.urlPrefix")
    else:
        try:
            url = parse_url(prefix)
        except UrlError as error:
            yield invalid(f"{path}.urlPrefix", prefix, str(error))
        else:
            if url.scheme not in ("http", "https") or not url.host:
                yield invalid(f"{path}.urlPrefix", prefix, "must be an http or https URL with a host")


def _managed_resource(name: str, path: str, seen: set[str]) -> Iterator[FieldError]:
    problems = list(qualified_name_errors(name))
    if not problems and (not is_extended(name) or name.startswith("requests.")):
        problems = ["is an invalid extended resource name"]
    for problem in problems:
        yield invalid(path, name, problem)
    if name in seen:
        yield invalid(path, name, "duplicate extender managed resource name")
    seen.add(name)
