"""Lists: which version they show, which objects a selector leaves, and pages that agree with each other.

A page after the first is read as of the first one's revision (`storage.range_at`), so a list in pages is one
consistent list; where the log no longer reaches back, 410 says how to go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from apiserver.registry.catalog import Kind
from apiserver.registry.continuation import LATEST, decode_token, encode_token
from apiserver.registry.options import ListOptions
from apiserver.registry.selection import Selection
from apiserver.storage.interface import Compacted, Key, Storage, Stored
from apiserver.watch.cache import WatchCache
from kubeloop.apimachinery.errors import ApiError, BadRequest, Expired, Timeout
from kubeloop.apimachinery.field import invalid
from kubeloop.apimachinery.numbers import NumError, parse_uint

# How long a list waits for a resourceVersion this server has not seen yet (upstream blockTimeout).
WAIT_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Page:
    """What a list answers: items, the revision they are current at, and how to go on ("" on the last page)."""

    items: Sequence[Stored]
    revision: int
    continue_token: str = ""
    remaining: int | None = None


class Lister:
    """Lists of one server."""

    def __init__(self, storage: Storage, cache: WatchCache) -> None:
        self._storage, self._cache = storage, cache

    async def list(self, kind: Kind, namespace: str, options: ListOptions, selection: Selection) -> Page:
        """One page. BadRequest, Expired (410) and Timeout (504) as upstream."""
        if options.continue_token:
            revision, after = decode_token(options.continue_token, namespace)
            if options.resource_version not in ("", "0"):
                raise BadRequest("specifying resource version is not allowed when using continue")
            await self._reach(revision)
        else:
            revision, after = await self._starting_revision(options), None
        items, revision = await self._items_at(kind, namespace, revision, options, after)
        items = _after(items, after) if after else items
        limit = 0 if options.resource_version == "0" and not options.continue_token else options.limit
        return await _shown_page(kind, items, revision, max(limit, 0), selection, namespace)

    async def _starting_revision(self, options: ListOptions) -> int:
        """The exact revision to show, or LATEST."""
        version = options.resource_version
        if version == "0":
            return LATEST
        if not version:
            await self._cache.fresh()
            return LATEST
        revision = parse_revision(version)
        await self.wait_for(revision)
        # A page of a list at a version was always of exactly that one, long before anybody could ask for it.
        match = options.resource_version_match or ("Exact" if options.limit > 0 else "")
        return revision if match == "Exact" else LATEST

    async def _reach(self, revision: int) -> None:
        """Wait for the revision a token goes on at."""
        await (self._cache.fresh() if revision == LATEST else self.wait_for(revision))

    async def wait_for(self, revision: int) -> None:
        """Wait until `revision` is known here; 504 where it does not come."""
        if revision <= self._cache.revision:
            return
        if revision <= self._storage.head and await self._cache.wait_for(revision, WAIT_SECONDS):
            return
        if await self._cache.wait_for(revision, WAIT_SECONDS):
            return
        raise Timeout(
            f"Timeout: Too large resource version: {revision}, current: {self._cache.revision}",
            details={
                "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
                "retryAfterSeconds": 1,
            },
        )

    async def _items_at(
        self, kind: Kind, namespace: str, revision: int, options: ListOptions, after: tuple[str, str] | None
    ) -> tuple[Sequence[Stored], int]:
        if revision in (LATEST, self._cache.revision):
            return self._cache.list(kind.storage, namespace), self._cache.revision
        try:
            return await self._cache.list_at(kind.storage, namespace, revision), revision
        except Compacted as error:
            if not options.continue_token:
                raise Expired("The resourceVersion for the provided list is too old.") from error
            raise _expired_token(after, namespace) from error


async def _shown_page(
    kind: Kind, items: Sequence[Stored], revision: int, limit: int, selection: Selection, namespace: str
) -> Page:
    """The page in the version asked for. Where only that shows what is selected, all are converted first."""
    versioning = kind.versioning
    if versioning is None:
        return _page(items, revision, limit, selection, namespace)
    if not selection.needs_shown(labels_may_differ=versioning.may_change_labels):
        page = _page(items, revision, limit, selection, namespace)
        return replace(page, items=await versioning.shown(page.items))
    name = selection.name
    named = [stored for stored in items if stored.key.name == name] if name else items
    return _page(await versioning.shown(named), revision, limit, selection, namespace)


def _page(items: Sequence[Stored], revision: int, limit: int, selection: Selection, namespace: str) -> Page:
    if not limit:
        return Page(selection.of(items), revision)
    chosen: list[Stored] = []
    for position, stored in enumerate(items):
        if len(chosen) == limit:
            remaining = len(items) - position if selection.is_everything else None
            return Page(chosen, revision, encode_token(revision, chosen[-1].key, namespace), remaining)
        if selection.matches(stored):
            chosen.append(stored)
    return Page(chosen, revision)


def _after(items: Sequence[Stored], after: tuple[str, str]) -> Sequence[Stored]:
    path = "/".join(after)  # the order of lists: namespace a-b comes before namespace a
    return [stored for stored in items if stored.key.path > path]


def parse_revision(version: str) -> int:
    """The resourceVersion of a list; the 400 carries Go's words."""
    if complaint := revision_complaint(version):
        raise BadRequest(f"invalid resource version: {complaint}")
    return parse_uint(version)


def revision_complaint(version: str) -> str:
    """What is wrong with a resourceVersion, as the real server says it; "" where it is one."""
    try:
        parse_uint(version)
    except NumError as error:
        return str(invalid("resourceVersion", version, str(error)))
    return ""


def _expired_token(after: tuple[str, str] | None, namespace: str) -> ApiError:
    last = Key("", *(after or ("", "")))
    error = Expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )
    error.list_metadata = {"continue": encode_token(LATEST, last, namespace)}
    return error
