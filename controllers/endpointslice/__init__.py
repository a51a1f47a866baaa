"""endpointslice-controller: publishes the pods that a Service selects, at most 100 to a slice.

reconciler  one reconcile of a Service
desired     the endpoints there should be, from Service, pods and nodes
plan        which slices to create, update and delete for it, touching as few as possible
hints       which zones and nodes should use an endpoint (trafficDistribution)
"""

from controllers.endpointslice.reconciler import add_to

__all__ = ["add_to"]
