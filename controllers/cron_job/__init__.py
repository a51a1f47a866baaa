"""cronjob-controller: a Job whenever it is due.

reconciler  one reconcile: clean up, review, start
plan        whether a Job is to be started now, and which
timing      when it was due last and is due next
active      the Jobs it knows of
"""

from controllers.cron_job.reconciler import add_to

__all__ = ["add_to"]
