"""An owner as this loop left it, while the cache still shows it as it was before.

A loop that writes an object and is woken again at once would plan on the old version and end in a Conflict: it asks
here first. Others' writes are not hidden: once the cache shows a version that ours does not replace, it is right.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kubeloop.apimachinery.meta import Object, ObjectKey, ReadOnlyObject, key_of, resource_version_of

# A write that is forgotten too early costs a Conflict and another try.
MAX_REMEMBERED = 4096


@dataclass(slots=True)
class _Write:
    obj: Object
    replaced: set[str] = field(default_factory=set)  # resourceVersions that it supersedes


class OwnWrites:
    """One entry for each object written and not yet seen: dropped when the cache has caught up or gone another way.

    At most MAX_REMEMBERED; full: the oldest is forgotten.
    """

    def __init__(self) -> None:
        self._writes: dict[ObjectKey, _Write] = {}

    def latest(self, cached: Object) -> Object:
        """The cached object, or what we made of that very version."""
        key = key_of(cached)
        write = self._writes.get(key)
        if write is None:
            return cached
        if resource_version_of(cached) in write.replaced:
            return write.obj
        del self._writes[key]
        return cached

    def wrote(self, before: ReadOnlyObject, after: Object) -> None:
        """`after` is what the server answered to a write that was made on `before`."""
        replaced, version = resource_version_of(before), resource_version_of(after)
        if replaced == version:
            return
        write = self._writes.setdefault(key_of(after), _Write(after))
        if len(self._writes) > MAX_REMEMBERED:
            del self._writes[next(iter(self._writes))]
        if write.obj is not after and resource_version_of(write.obj) != replaced:
            write.replaced.clear()
        write.obj = after
        write.replaced.add(replaced)

    def forget(self, key: ObjectKey) -> None:
        self._writes.pop(key, None)
