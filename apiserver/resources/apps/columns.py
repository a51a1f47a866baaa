"""What `kubectl get` shows of Deployments and the kinds below them."""

from __future__ import annotations

from datetime import datetime

from apiserver.printing.cells import AGE, NAME, NONE, container_columns, field, labels, selector
from apiserver.printing.table import Column
from kubeloop.apimachinery.meta import ReadOnlyObject, controller_of

_CONTAINERS = container_columns("spec", "template", "spec", "containers")
_SELECTOR = Column("Selector", "string", selector("spec", "selector"), priority=1)


def _ready(obj: ReadOnlyObject, now: datetime) -> str:
    """Ready out of desired replicas."""
    ready = (obj.get("status") or {}).get("readyReplicas", 0)
    return f"{ready}/{(obj.get('spec') or {}).get('replicas', 0)}"


def _controller(obj: ReadOnlyObject, now: datetime) -> str:
    """The controlling owner as `statefulset.apps/web`."""
    owner = controller_of(obj)
    if owner is None:
        return NONE
    group, slash, _ = owner["apiVersion"].partition("/")
    kind = f"{owner['kind']}.{group}" if slash else owner["kind"]
    return f"{kind.lower()}/{owner['name']}"


DEPLOYMENT_COLUMNS = (
    NAME,
    Column("Ready", "string", _ready),
    Column("Up-to-date", "string", field("status", "updatedReplicas", default=0)),
    Column("Available", "string", field("status", "availableReplicas", default=0)),
    AGE,
    *_CONTAINERS,
    Column("Selector", "string", selector("spec", "selector", empty=""), priority=1),
)

REPLICA_SET_COLUMNS = (
    NAME,
    Column("Desired", "integer", field("spec", "replicas", default=0)),
    Column("Current", "integer", field("status", "replicas", default=0)),
    Column("Ready", "integer", field("status", "readyReplicas", default=0)),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)

STATEFUL_SET_COLUMNS = (
    NAME,
    Column("Ready", "string", _ready),
    AGE,
    *_CONTAINERS,
)

DAEMON_SET_COLUMNS = (
    NAME,
    Column("Desired", "integer", field("status", "desiredNumberScheduled", default=0)),
    Column("Current", "integer", field("status", "currentNumberScheduled", default=0)),
    Column("Ready", "integer", field("status", "numberReady", default=0)),
    Column("Up-to-date", "integer", field("status", "updatedNumberScheduled", default=0)),
    Column("Available", "integer", field("status", "numberAvailable", default=0)),
    Column("Node Selector", "string", labels("spec", "template", "spec", "nodeSelector")),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)

CONTROLLER_REVISION_COLUMNS = (
    NAME,
    Column("Controller", "string", _controller),
    Column("Revision", "string", field("revision", default=0)),
    AGE,
)
