"""Where the items of a merged list stand: in the order of a `$setElementOrder`, of the patch, or of the document.

Semantics and messages are those of k8s.io/apimachinery/pkg/util/strategicpatch (v1.36).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from operator import itemgetter
from typing import Any

from apiserver.patch.values import go_text, go_type, identities, identity, is_same
from kubeloop.apimachinery.errors import ApiError
from kubeloop.apimachinery.meta import Object

DIRECTIVE = "$patch"
ELEMENT_ORDER = "$setElementOrder"

Items = list[Any]


def order_before(current: Items, change: Items, merge_key: str) -> Items:
    """The order that items not in `$setElementOrder` keep to: that of the document.

    Where the patch both deletes and adds, the real server's merge has already put the new items into the places at the
    end that the deleted ones freed, and then takes them for old ones; kubectl's users have come to know that order.
    """
    if not merge_key or not all(isinstance(item, dict) for item in (*current, *change)):
        return current
    if not any(item.get(DIRECTIVE) == "delete" for item in change):
        return current
    deleted = identities(item.get(merge_key) for item in change if item.get(DIRECTIVE) == "delete")
    kept = [item for item in current if identity(item.get(merge_key)) not in deleted]
    old_keys = identities(item.get(merge_key) for item in kept)
    new = [item for item in change if DIRECTIVE not in item and identity(item.get(merge_key)) not in old_keys]
    return kept + new[: len(current) - len(kept)]


def ordered(merged: Items, order: Items, before: Items, merge_key: str, is_of_maps: bool) -> Items:
    """`merged` with the items of `order` in that order, the rest as in `before`, one woven into the other."""
    if merge_key:
        for item in (*merged, *order, *before):
            if not isinstance(item, dict):
                raise _wrong_argument(item)
            if merge_key not in item:
                raise no_merge_key(item, merge_key)
    key = merge_key if is_of_maps else ""
    ranks, old_ranks = _ranks(order, key), _ranks(before, key)
    names = [_shown(item, key) for item in merged]
    if names == list(ranks):
        return merged  # all of them, in the order that is asked for
    patched: list[_Placed] = []
    others: list[_Placed] = []
    for item, shown in zip(merged, names, strict=True):
        rank, old_rank = ranks.get(shown), old_ranks.get(shown)
        if rank is not None:
            patched.append((rank, old_rank, item))
        else:
            others.append((len(old_ranks) if old_rank is None else old_rank, old_rank, item))
    patched.sort(key=_rank)
    others.sort(key=_rank)
    return _woven(others, patched)


_Placed = tuple[int, int | None, Any]  # its rank among its like, its place before the patch if it had one, the item
_rank = itemgetter(0)


def _woven(others: list[_Placed], patched: list[_Placed]) -> Items:
    """Each of `others` goes before the first patched item that once stood behind it, else to the end."""
    result: Items = []
    remaining = others[::-1]
    for _, old_rank, item in patched:
        while remaining and old_rank is not None:
            other_rank = remaining[-1][1]
            if other_rank is None or other_rank >= old_rank:
                break
            result.append(remaining.pop()[2])
        result.append(item)
    return result + [item for _, _, item in reversed(remaining)]


def _ranks(items: Items, merge_key: str) -> dict[Hashable, int]:
    """The place of items in a list, by their merge key or, without one, by themselves."""
    ranks: dict[Hashable, int] = {}
    for i, item in enumerate(items):
        ranks.setdefault(_shown(item, merge_key), i)
    return ranks


def _shown(item: Any, merge_key: str) -> Hashable:
    value = item.get(merge_key) if merge_key else item
    return value if type(value) is str else (go_type(value), go_text(value))


def check_order(change: Items, order: Items, merge_key: str) -> None:
    """The patch's own items must all be in `$setElementOrder`, in that order."""
    if not change or not order:
        return
    if merge_key:
        for item in change:
            if not isinstance(item, dict):
                raise _wrong_argument(item)
    remaining = deque(item for item in change if not (isinstance(item, dict) and DIRECTIVE in item))
    for item in order:
        if remaining and _is_same_item(remaining[0], item, merge_key):
            remaining.popleft()
    if remaining:
        raise ApiError(
            f"The order in patch list:\n{go_text(change)}\n doesn't match {ELEMENT_ORDER} list:\n{go_text(order)}\n"
        )


def _is_same_item(item: Any, ordered: Any, merge_key: str) -> bool:
    if not merge_key:
        return is_same(item, ordered)
    if not isinstance(ordered, dict):
        raise _wrong_argument(ordered)
    for side in (item, ordered):
        if merge_key not in side:
            raise no_merge_key(side, merge_key)
    return is_same(item[merge_key], ordered[merge_key])


def no_merge_key(item: Object, merge_key: str) -> ApiError:
    return ApiError(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")


def _wrong_argument(value: Any) -> ApiError:
    return ApiError(f"expected a {go_type({})}, but received a {go_type(value)}")
