"""namespace-controller: empties a namespace that is being deleted, then lets it go.

reconciler   one reconcile of a terminating namespace
content      deleting what is in it, one resource at a time
conditions   what is left, and what went wrong, as the namespace's conditions
"""

from controllers.namespace.reconciler import add_to

__all__ = ["add_to"]
