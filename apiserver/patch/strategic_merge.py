"""Kubernetes' strategic merge patch, `application/strategic-merge-patch+json`: a merge patch that knows the types.

Lists whose type says `merge` are merged item by item, matched by a merge key or, for scalars, as a set. Directives in
the patch say more: `$patch: delete | replace` in a map or list item, `$deleteFromPrimitiveList/NAME`,
`$setElementOrder/NAME` and `$retainKeys`. Called by the store with the object as the API shows it and its kind's
TypeNode, of which only what `Node` lists is asked.

Semantics and messages are those of k8s.io/apimachinery/pkg/util/strategicpatch (v1.36). A malformed directive is
answered with 400; what real Kubernetes does not foresee, with its 500 and its message.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Protocol

from apiserver.patch.list_order import DIRECTIVE, ELEMENT_ORDER, Items, check_order, no_merge_key, order_before, ordered
from apiserver.patch.values import go_text, go_type, identities, identity, unique
from kubeloop.apimachinery.errors import ApiError, BadRequest, Invalid
from kubeloop.apimachinery.field import go_quote
from kubeloop.apimachinery.meta import Object

RETAIN_KEYS = "$retainKeys"
DELETE_FROM_LIST = "$deleteFromPrimitiveList"


class Node(Protocol):
    """What a patch asks of a type."""

    @property
    def name(self) -> str: ...

    @property
    def items(self) -> Node | None: ...

    @property
    def merge_key(self) -> str: ...

    @property
    def patch_strategies(self) -> Sequence[str]: ...

    def field(self, name: str) -> Node | None: ...


def apply(document: Object, patch: Any, node: Node) -> Object:
    """`document` with `patch` merged in; neither is changed. The result shares with them what it takes from them."""
    if patch is None:
        return document
    if not isinstance(patch, dict):
        found = {"[]interface {}": "array", "string": "string", "bool": "bool"}.get(go_type(patch), "number")
        raise BadRequest(f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}")
    return _merged_map(document, patch, node)


def _merged_map(document: Object, patch: Object, node: Node | None) -> Object:
    """Only the maps and lists on the way to what the patch changes are made anew."""
    if DIRECTIVE in patch:
        return _directed_map(patch)
    if _says_the_same(document, patch):
        return document
    document = document.copy()
    is_directed = "$" in "".join(patch)  # one look at all names at once, for most maps have no directive
    if is_directed:
        patch = patch.copy()  # they are taken out of it as they are carried out
        _retain_keys(document, patch)
        _merge_ordered_lists(document, patch, node)
    for key, value in patch.items():
        if is_directed and key.startswith(DELETE_FROM_LIST):
            _delete_from_list(document, _list_name(key, DELETE_FROM_LIST), value, node)
        elif type(value) in _SCALARS:
            document[key] = value
        elif value is None:
            document.pop(key, None)
        else:
            _merge_field(document, key, value, node)
    return document


def _says_the_same(document: Object, patch: Object) -> bool:
    """Whether a patch has scalars alone, and those of the document: an uid that says which object is meant."""
    for key, value in patch.items():
        kind = type(value)
        if kind not in _SCALARS:
            return False
        before = document.get(key)
        if before != value or type(before) is not kind or key.startswith("$"):
            return False
    return True


def _directed_map(patch: Object) -> Object:
    """What a map becomes whose patch begins with `$patch`."""
    directive = patch[DIRECTIVE]
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != DIRECTIVE}
    if directive == "delete":
        return {}
    raise _unknown_directive(patch)


def _retain_keys(document: Object, patch: Object) -> None:
    """Clear what `$retainKeys` does not list: the other members of a union."""
    if RETAIN_KEYS not in patch:
        return
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list):
        raise BadRequest("invalid patch format of retainKeys")
    for key, value in patch.items():
        is_directive = key.startswith((DELETE_FROM_LIST, ELEMENT_ORDER))
        if value is not None and not is_directive and key not in retained:
            raise BadRequest("invalid patch format of retainKeys")
    for key in [key for key in document if key not in retained]:
        del document[key]


def _merge_ordered_lists(document: Object, patch: Object, node: Node | None) -> None:
    """Merge the lists for which the patch has a `$setElementOrder`, and take both out of the patch."""
    for directive in [key for key in patch if key.startswith(ELEMENT_ORDER)]:
        order = _list(patch.pop(directive))
        name = _list_name(directive, ELEMENT_ORDER)
        current = _list(document[name]) if name in document else None
        change = _list(patch[name]) if name in patch else None
        field = _field(node, name)
        check_order(change or [], order, field.merge_key)
        if current is None and change is None:
            continue
        before = order_before(current or [], change or [], field.merge_key)
        merged = _merged_or_added(current, change, field)
        patch.pop(name, None)
        is_of_maps = _element_type(current or [], change or []) == _MAP
        document[name] = ordered(merged, order, before, field.merge_key, is_of_maps)


def _merged_or_added(current: Items | None, change: Items | None, field: Node) -> Items:
    if change is None:
        return current or []
    if current is None:
        added: Items = _without_directives(change)
        return added
    return _merged_list_field(current, change, field)


def _delete_from_list(document: Object, name: str, unwanted: Any, node: Node | None) -> None:
    if unwanted is None:
        document.pop(name, None)
        return
    current = document.get(name)
    if not isinstance(current, list) or not isinstance(unwanted, list):
        return
    field = _field(node, name)
    if (current or unwanted) and _element_type(current, unwanted) != _MAP:
        gone = identities(unwanted)
        document[name] = [item for item in current if identity(item) not in gone]
    elif current or unwanted:
        document[name] = _merged_list(current, unwanted, field)


def _merge_field(document: Object, key: str, value: Any, node: Node | None) -> None:
    current = document.get(key)
    if isinstance(current, dict) and isinstance(value, dict):
        field = _field(node, key)
        document[key] = value if _strategy(field) == "replace" else _merged_map(current, value, field)
    elif isinstance(current, list) and isinstance(value, list):
        document[key] = _merged_list_field(current, value, _field(node, key))
    elif _is_dropped(value):
        document.pop(key, None)
    else:
        document[key] = _added(value)


def _merged_list_field(current: Items, change: Items, field: Node) -> Items:
    return _merged_list(current, change, field) if _strategy(field) == "merge" else change


def _merged_list(current: Items, change: Items, field: Node) -> Items:
    """A list merged item by item: new items come first, the others keep their places."""
    if not current and not change:
        return current
    is_of_maps = _element_type(current, change) == _MAP
    before = current
    if not is_of_maps:
        merged = unique([*current, *change])
    elif not field.merge_key:
        raise ApiError("cannot merge lists without merge key for struct")
    else:
        before, change = _without_special_items(before, change, field.merge_key)
        merged = _merged_items(list(before), change, field)
    return ordered(merged, change, before, field.merge_key, is_of_maps)


def _without_special_items(current: Items, change: Items, merge_key: str) -> tuple[Items, Items]:
    """Carry out the items that are directives: both lists, without what they delete and without themselves."""
    plain = [item for item in change if DIRECTIVE not in item]
    if len(plain) == len(change):
        return current, plain
    replaces = False
    deleted: set[Hashable] = set()
    for item in (item for item in change if DIRECTIVE in item):
        directive = item[DIRECTIVE]
        if directive == "delete":
            if merge_key not in item:
                raise no_merge_key(item, merge_key)
            deleted.add(identity(item[merge_key]))
        elif directive == "replace":
            replaces = True
        elif directive == "merge":
            raise ApiError("merging lists cannot yet be specified in the patch")
        else:
            raise _unknown_directive(item)
    if replaces:
        return plain, []
    kept = [other for other in current if merge_key not in other or identity(other[merge_key]) not in deleted]
    return kept, plain


def _merged_items(merged: Items, change: Items, field: Node) -> Items:
    key = field.merge_key
    positions: dict[Hashable, int] = {}
    for i, item in enumerate(merged):
        if key in item:
            positions.setdefault(identity(item[key]), i)
    for item in change:
        if key not in item:
            raise no_merge_key(item, key)
        position = positions.setdefault(identity(item[key]), len(merged))
        if position == len(merged):
            merged.append(item)
        else:
            merged[position] = _merged_map(merged[position], item, field.items)
    return merged


_SCALARS = frozenset((str, int, float, bool))
_MAP = go_type({})
_LIST = go_type([])


def _element_type(*lists: Items) -> str:
    """The one type of all items."""
    types = dict.fromkeys([go_type(item) for items in lists for item in items])
    if not types:
        raise ApiError("no elements in any of the given slices")
    first = next(iter(types))
    if first == _LIST:
        raise Invalid.unprocessable()  # lists of lists are not supported
    if len(types) > 1:
        raise ApiError(f"list element types are not identical: {go_text(list(lists))}")
    return first


def _is_dropped(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def _added(value: Any) -> Any:
    """A value that is new to the document: nulls are left out, and what was meant as a directive."""
    if isinstance(value, dict):
        return {
            key: _added(member)
            for key, member in value.items()
            if member is not None and not (isinstance(member, dict) and member.get(DIRECTIVE) is not None)
        }
    if isinstance(value, list):
        return [_added(item) for item in value if not (isinstance(item, dict) and item.get(DIRECTIVE) is not None)]
    return value


def _without_directives(value: Any) -> Any:
    """A list that is new to the document and comes with its order: nulls stay."""
    if isinstance(value, dict):
        return {key: _without_directives(member) for key, member in value.items() if not _is_dropped(member)}
    if isinstance(value, list):
        return [_without_directives(item) for item in value if not _is_dropped(item)]
    return value


def _list_name(directive: str, prefix: str) -> str:
    """The list that `$prefix/name` is about."""
    head, slash, name = directive.partition("/")
    if not slash or head != prefix:
        what = "primitive list" if prefix == DELETE_FROM_LIST else "setElementOrder list"
        raise BadRequest(f"invalid patch format of {what}")
    return name


def _list(value: Any) -> Items:
    if not isinstance(value, list):
        raise ApiError(f"expected a {_LIST}, but received a {go_type(value)}")
    return value


def _field(node: Node | None, name: str) -> Node:
    field = node.field(name) if node is not None else None
    if field is None:
        type_ = node.name.rpartition(".")[2] if node is not None else ""
        raise ApiError(f"unable to find api field in struct {type_} for the json field {go_quote(name)}")
    return field


def _strategy(field: Node) -> str:
    """`merge`, `replace` or nothing; retainKeys only concerns who writes patches."""
    for strategy in field.patch_strategies:  # a generator would cost more than the loop
        if strategy != "retainKeys":
            return strategy
    return ""


def _unknown_directive(patch: Object) -> ApiError:
    return ApiError(f"unknown patch type: {go_text(patch[DIRECTIVE])} in map: {go_text(patch)}")
