"""The loops around CertificateSigningRequests: three of upstream's.

approver   certificatesigningrequest-approving-controller: says yes to nodes that ask for their own certificates
signer     certificatesigningrequest-signing-controller: issues what was approved, for the four built-in signers
issuing    the certificate that is issued, from the request and the authority
signers    what each of the four demands of a request
flags      which authority each of them signs with
cleaner    certificatesigningrequest-cleaner-controller: removes requests that are over
decisions  what has been decided about a request
"""

from controllers.certificates.approver import add_approver
from controllers.certificates.cleaner import add_cleaner
from controllers.certificates.signer import add_signer

__all__ = ["add_approver", "add_cleaner", "add_signer"]
