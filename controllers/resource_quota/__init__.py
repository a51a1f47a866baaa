"""resourcequota-controller: keeps the `used` of every quota right, where admission only ever adds.

plan         what the status of a quota has to be, and which changes of objects call for counting again
reconciler   counting for one quota
monitors     an informer for every resource that some quota counts
"""

from controllers.resource_quota.reconciler import add_to

__all__ = ["add_to"]
