"""What a YAML text may cost: bounds on nesting and on what its aliases expand to, checked before values are made.

`yaml_text` asks here about every text. Go's yaml has both bounds too; its budget for aliases is checked while it
decodes, this one beforehand, on the graph of nodes in which an alias is a second way to the same node.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from kubeloop.apimachinery.depth import MAX_DEPTH

_FREE_SIZE = 100_000  # any document may expand to that many nodes
_EXPANSION = 10  # and to so many times what is written in it
_TEXT_PER_NODE = 64  # characters of a scalar that weigh as much as a node
_TOO_DEEP = f"yaml: exceeded max depth of {MAX_DEPTH}"


class _Extent(NamedTuple):
    """What a node amounts to with all its aliases expanded."""

    size: int
    depth: int


class ExcessError(ValueError):
    """A text beyond the bounds; the message is in goyaml's words."""


def check_nesting(raw: bytes) -> None:
    """Raises ExcessError where the first document nests too deep to be composed, which recurses in C."""
    if sum(map(raw.count, (b"[", b"{", b"-", b":", b"?"))) <= MAX_DEPTH:
        return
    depth = 0
    try:
        for event in yaml.parse(raw, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    raise ExcessError(_TOO_DEEP)
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.DocumentEndEvent):
                return
    except yaml.YAMLError as error:
        if getattr(error, "problem", "") == "exceeded maximum nesting depth":  # libyaml's own, at a thousand
            raise ExcessError(_TOO_DEEP) from error
        return  # composing meets the same error no deeper, and tells it


def check_aliases(root: yaml.Node, raw: bytes) -> None:
    """Raises ExcessError where aliases make far more of a document than is written, or a node contains itself."""
    survey = _Survey(raw)
    whole = survey.extent(root)
    if whole.size > _FREE_SIZE + _EXPANSION * survey.written:
        raise ExcessError("yaml: document contains excessive aliasing")
    if whole.depth > MAX_DEPTH:
        raise ExcessError(_TOO_DEEP)


class _Survey:
    """One visit to every node. Recursion is bounded: an alias leads to nodes seen before, all else is nested."""

    def __init__(self, raw: bytes) -> None:
        self.written = 0
        self._raw = raw
        self._known: dict[int, _Extent | None] = {}  # by identity; None while the node is being looked at

    def extent(self, node: yaml.Node) -> _Extent:
        key = id(node)
        if key in self._known:
            found = self._known[key]
            if found is None:
                raise ExcessError(f"yaml: anchor '{self._anchor(node)}' value contains itself")
            return found
        self._known[key] = None
        self._known[key] = found = self._measured(node)
        return found

    def _measured(self, node: yaml.Node) -> _Extent:
        own = 1
        if isinstance(node, yaml.ScalarNode):
            own += len(node.value) // _TEXT_PER_NODE
        self.written += own
        if isinstance(node, yaml.ScalarNode):
            return _Extent(own, 0)
        size, depth = own, 0
        for child in node.value:
            for part in child if isinstance(child, tuple) else (child,):
                below = self.extent(part)
                size += below.size
                depth = max(depth, below.depth)
        return _Extent(size, depth + 1)

    def _anchor(self, node: yaml.Node) -> str:
        text = self._raw.decode("utf-8", "replace")[node.start_mark.index :]
        match = re.match(r"&([\w-]+)", text)
        return match[1] if match else ""
