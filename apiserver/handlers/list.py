"""GET on a collection, and DELETE of one, which answers what it deleted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from apiserver.handlers.call import Call
from apiserver.handlers.delete import delete_options
from apiserver.handlers.encoding import encode_list
from apiserver.handlers.response import Response
from apiserver.registry.listing import Page
from apiserver.registry.options import ListOptions
from apiserver.registry.selection import select
from kubeloop.apimachinery.errors import NotFound


async def list_objects(call: Call, options: ListOptions) -> Response:
    """One page of a list, as objects, a Table or metadata."""
    kind, namespace = call.target.kind, call.target.namespace
    selection = select(kind, options.label_selector, options.field_selector)
    page = await call.registry.lister.list(kind, namespace, options, selection)
    return _response(call, page)


def _response(call: Call, page: Page) -> Response:
    metadata: dict[str, Any] = {"resourceVersion": str(page.revision)}
    if page.continue_token:
        metadata["continue"] = page.continue_token
    elif call.target.kind.is_custom and not call.form.transform:
        metadata["continue"] = ""
    if page.remaining:
        metadata["remainingItemCount"] = page.remaining
    body = encode_list(call.target.kind, page.items, metadata, call.form, call.now, call.include_object)
    return Response(200, body, call.form.media_type)


async def delete_collection(call: Call) -> Response:
    """Delete what the selectors choose, one by one; the answer lists it as it was found."""
    kind = call.target.kind
    list_options = ListOptions.parse({k: v for k, v in call.query.items() if k != "watch"})
    selection = select(kind, list_options.label_selector, list_options.field_selector)
    options = delete_options(call)
    context = replace(call.context(), dry_run=options.dry_run, options=options.shown())
    call.warnings.add(*kind.strategy.deletion_warnings(options.says_what_becomes_of_dependents))
    page = await call.registry.lister.list(kind, call.target.namespace, list_options, selection)
    deleter = call.registry.deleter(kind)
    deleted = []
    for stored in page.items:
        one = replace(context, namespace=stored.key.namespace, name=stored.key.name)
        try:
            await deleter.delete(one, options, is_one_of_many=True)
        except NotFound:
            continue  # somebody else was faster
        deleted.append(stored)
    return _response(call, replace(page, items=deleted))
