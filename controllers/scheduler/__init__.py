"""The scheduler: finds a node for every pod that has none, as kube-scheduler does.

A tour: `queue` holds the pods that wait and knows when a refused one is worth another try; `cache` holds nodes and what
is on them, and keeps a `snapshot` of them up to date; `schedule.schedule_one` decides, a pure function that asks the
plugins of a `framework` at the extension points of `interface`; `scheduler` carries the decision out; `event_handlers`
feed queue and cache. The plugins are listed in `plugins.catalog`. `diagnosis` is how a decision is explained.
Run as `python -m controllers.scheduler`, or added to a manager by `loop.add_to`.
"""
