"""What `kubectl get customresourcedefinitions` shows: it has no printer in the real server."""

from __future__ import annotations

from apiserver.printing.cells import PLAIN_COLUMNS

CUSTOM_RESOURCE_DEFINITION_COLUMNS = PLAIN_COLUMNS
