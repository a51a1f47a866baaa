"""An operator that keeps a TLS Secret filled with a certificate that is good; README.md says how to run it.

api.py         what things are called: the resource, its conditions, annotations
model.py       a Certificate as values
keys.py        private keys: making, reading, comparing them
authority.py   a Secret as somebody who can sign
inspection.py  what a TLS Secret holds, and why it is not good enough
issuing.py     a new certificate, and the Secret that it goes into
report.py      the status
reconciler.py  reads, decides, acts
"""

from examples.operators.certificate.reconciler import add_to

__all__ = ["add_to"]
