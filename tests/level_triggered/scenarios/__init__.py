"""One scenario a loop, and some for what loops do together."""

from kubeloop.testing.scenario import Scenario
from tests.level_triggered.scenarios import (
    devices,
    jobs,
    living,
    nodes,
    replicasets,
    rollouts,
    services,
    storage,
    trust,
    whole_cluster,
)

SCENARIOS: tuple[Scenario, ...] = (
    *replicasets.SCENARIOS,
    *rollouts.SCENARIOS,
    *jobs.SCENARIOS,
    *services.SCENARIOS,
    *nodes.SCENARIOS,
    *storage.SCENARIOS,
    *trust.SCENARIOS,
    *whole_cluster.SCENARIOS,
    *living.SCENARIOS,
    *devices.SCENARIOS,
)
