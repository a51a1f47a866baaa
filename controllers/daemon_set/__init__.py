"""daemonset-controller: one pod on each node that suits.

Read `plan.py` first: it is the whole decision. `reconciler.py` carries it out.

    model      what the planners read: DaemonSpec (the DaemonSet) and Situation (its pods, node by node)
    placement  on which nodes a pod should run, and on which it may stay
    pod        the pod made for a node
    rolling    which pods give way to a new template
    status     counters
    revisions  which ControllerRevision is the present template's, and which are too many
    failures   failed pods are replaced at growing intervals
"""

from controllers.daemon_set.reconciler import add_to

__all__ = ["add_to"]
