"""The parameters of the operations in OpenAPI documents, in the terms of OpenAPI v3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Parameter = dict[str, Any]


def path_parameters(*names: str) -> list[Parameter]:
    """Those in a path, by name."""
    described = {
        "name": "name of the object",
        "namespace": "the namespace the object lives in",
        "path": "what follows in the path is passed on",
    }
    return [
        {
            "name": name,
            "in": "path",
            "description": described[name],
            "required": True,
            "schema": {"type": "string", "uniqueItems": True},
        }
        for name in names
    ]


def _query(name: str, kind: str, description: str) -> Parameter:
    schema = {"type": kind, "uniqueItems": True}
    return {"name": name, "in": "query", "description": description, "schema": schema}


PRETTY = _query("pretty", "string", "If 'true', the answer is indented.")
_DRY_RUN = _query("dryRun", "string", "'All': everything is done but storing the result.")
OF_WRITES = (
    _DRY_RUN,
    _query("fieldManager", "string", "The name of the actor that makes this change, at most 128 characters."),
    _query(
        "fieldValidation", "string", "What to do about unknown and duplicate fields: Ignore, Warn (default), Strict."
    ),
)
FORCE = _query("force", "boolean", "Apply only: take over fields that other managers own.")
_OF_SELECTIONS = (
    _query("continue", "string", "The token of a previous page."),
    _query("fieldSelector", "string", "Restrict the objects by their fields."),
    _query("labelSelector", "string", "Restrict the objects by their labels."),
    _query("limit", "integer", "The greatest number of objects on a page."),
    _query("resourceVersion", "string", "A constraint on how fresh the answer must be."),
    _query("resourceVersionMatch", "string", "How resourceVersion is applied to lists."),
    _query("sendInitialEvents", "boolean", "Begin a watch with the current objects."),
    _query("shardSelector", "string", "Restrict the objects to a shard; not served."),
    _query("timeoutSeconds", "integer", "The longest duration of the call."),
)
OF_LISTS = (
    _query("allowWatchBookmarks", "boolean", "Ask for watch events of type BOOKMARK."),
    *_OF_SELECTIONS,
    _query("watch", "boolean", "Watch for changes instead of listing."),
)
OF_DELETIONS = (
    _DRY_RUN,
    _query("gracePeriodSeconds", "integer", "Seconds before the object is removed; 0 means at once."),
    _query(
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Remove an object that cannot be read from storage; not served.",
    ),
    _query("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    _query("propagationPolicy", "string", "What becomes of dependents: Orphan, Background, Foreground."),
)
OF_COLLECTION_DELETIONS = (*_OF_SELECTIONS, *OF_DELETIONS)

_CONTAINER = _query("container", "string", "The container; not needed where there is but one.")
_STREAMS = tuple(
    _query(name, "boolean", f"Whether {what}.")
    for name, what in (
        ("stderr", "standard error is sent back"),
        ("stdin", "standard input is passed on"),
        ("stdout", "standard output is sent back"),
        ("tty", "there is a terminal"),
    )
)
# Those of subresources that are no objects.
OF_SUBRESOURCES: Mapping[str, tuple[Parameter, ...]] = {
    "attach": (_CONTAINER, *_STREAMS),
    "exec": (_query("command", "string", "What to run, and its arguments."), _CONTAINER, *_STREAMS),
    "log": (
        _CONTAINER,
        _query("follow", "boolean", "Go on for as long as the container does."),
        _query("insecureSkipTLSVerifyBackend", "boolean", "Trust whatever answers for the node."),
        _query("limitBytes", "integer", "The most bytes that are sent."),
        _query("previous", "boolean", "The log of the container before it was restarted."),
        _query("sinceSeconds", "integer", "The greatest age of the lines."),
        _query("stream", "string", "All, Stdout or Stderr."),
        _query("tailLines", "integer", "How many lines from the end."),
        _query("timestamps", "boolean", "Begin every line with its time."),
    ),
    "portforward": (_query("ports", "integer", "The ports that are forwarded."),),
    "proxy": (_query("path", "string", "The path that is asked for."),),
}
