"""endpointslice-mirroring-controller: EndpointSlices for Endpoints that somebody wrote by hand.

Only where the Service of that name selects no pods: else the slices come from the pods.
"""

from controllers.endpointslice_mirroring.reconciler import add_to

__all__ = ["add_to"]
