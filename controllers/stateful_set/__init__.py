"""statefulset-controller: pods with names, storage and an order of their own.

Read `plan.py` first: it is the whole decision. `reconciler.py` carries it out, by way of `writes.py`.

    model      what the planners read: SetSpec (the StatefulSet) and Revisions (the two templates in play)
    revisions  which ControllerRevision is the present template's, and which are too many
    identity   ordinals, names, labels and volumes of the pods
    claims     the claims of a pod, and who owns them under the retention policy
    rolling    which pods give way to a new template
    status     counters
"""

from controllers.stateful_set.reconciler import add_to

__all__ = ["add_to"]
