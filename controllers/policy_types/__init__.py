"""validatingadmissionpolicy-status-controller: tells whether expressions of policies fit the types of what they match.

reconciler  writes what was found into a policy's status, once for each generation
kinds       the kinds that a policy matches by name
schemas     their schemas, from the documents that the API server publishes
checking    compiles each validation with those types; what the compiler says becomes a warning
"""

from controllers.policy_types.reconciler import add_to

__all__ = ["add_to"]
