"""garbage-collector-controller: deletes what has no owner left, and orders the deletion of what has.

monitors    an informer for every resource that can be deleted, found by discovery
graph       who owns whom, built from what the informers tell; says what to look at
collector   looks at one object: keep it, drop references, delete it, or finish its own deletion
orphaning   lets the dependents of an object deleted with policy Orphan go
decision    what to do about an object, from the state of its owners
objects     live reads and writes by identity
"""

from controllers.garbage_collector.monitors import add_to

__all__ = ["add_to"]
