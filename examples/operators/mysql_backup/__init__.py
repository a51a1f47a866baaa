"""An operator that dumps a MySQL database once, for each MySQLBackup; README.md says how to run it.

api.py         what things are called: the resource, its phases and conditions, the finalizer
model.py       a MySQLBackup as values
children.py    the objects it leads to: a Job, and the record of a dump
plan.py        where a backup stands, decided purely
reconciler.py  reads, decides, acts
"""

from examples.operators.mysql_backup.reconciler import add_to

__all__ = ["add_to"]
