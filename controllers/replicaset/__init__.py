"""replicaset-controller and replicationcontroller-controller: as many pods as asked for.

reconciler  one reconcile: claim, create or delete, count
groups      the pods by what is counted of them
victims     which pods go first
status      the status from the pods
kinds       what the two kinds differ in
"""

from controllers.replicaset.reconciler import add_replica_sets, add_replication_controllers

__all__ = ["add_replica_sets", "add_replication_controllers"]
