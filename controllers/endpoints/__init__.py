"""endpoints-controller: the older Endpoints object of every Service that selects pods.

reconciler  one reconcile of a Service
plan        the Endpoints object there should be
"""

from controllers.endpoints.reconciler import add_to

__all__ = ["add_to"]
