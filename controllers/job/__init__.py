"""job-controller: pods that run to their end, as often as asked for.

wiring        what wakes it, and how soon
reconciler    one reconcile: claim, plan, carry out, count, tell
plan          the decision, and what it makes of the Job
  ending        whether the Job is to end, and why
  scaling       pods to make and to take away; backoff, victims, templates
counting      each pod that ended is counted once
orphans       pods that no Job will count
model         a Job and its pods as the planners see them; indexes, intervals, failure_policy, finish_times
"""

from controllers.job.wiring import add_to

__all__ = ["add_to"]
