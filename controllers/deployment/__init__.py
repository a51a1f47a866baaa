"""deployment-controller: rolls a Deployment's template out over ReplicaSets.

Read `plan.py` first: it is the whole decision. `reconciler.py` carries it out.

    model      what the planners read: Rollout (the Deployment) and SetState (a ReplicaSet)
    revisions  which ReplicaSet is the new one; revision numbers and annotations
    rolling    RollingUpdate: how many up, how many down
    recreate   Recreate: all down, then all up
    old_pods   the pods that it waits for
    scaling    a changed replica count in the middle of a rollout: shared out by size
    progress   the Progressing condition: paused, complete, on its way, overdue
    status     counters and conditions
    rollback   back to an earlier revision, where an annotation of old asks for it
    cleanup    old ReplicaSets beyond revisionHistoryLimit
"""

from controllers.deployment.reconciler import add_to

__all__ = ["add_to"]
