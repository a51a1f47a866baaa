"""How the objects of the simulated metrics server are known: those of a real one are left alone.

It marks them when it starts and removes them at its end; where it was killed, `kubeloop up` removes them without one.
"""

from __future__ import annotations

MANAGED_BY, MANAGER = "app.kubernetes.io/managed-by", "kubeloop-metrics-server"
