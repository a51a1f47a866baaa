"""A GitOps operator: what a Git repository says is what the cluster has. README.md says how to run it.

application.py   an Application as values, and what things are called
git.py           what is needed of Git, and the `git` program behind it
manifests.py     from files to objects, in the order in which they can be applied
sources.py       the commit a revision means now, and its manifests
wanted.py        where each object lives, marked as the Application's
applying.py      compares one object with the cluster, and applies it
pruning.py       deletes what is in the inventory and not in Git
tracked.py       watches the kinds that were applied
health.py        how an object fares, by its kind
outcome.py       what became of one object
reporting.py     what a pass found, as the status
telling.py       what changed from one status to the next, as events
controller.py    a pass, step by step
"""

from examples.operators.gitops.controller import add_to

__all__ = ["add_to"]
