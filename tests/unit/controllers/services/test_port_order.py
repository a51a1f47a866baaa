"""The order of ports, which is that of a hash of Go's dump of them."""

from controllers.services.port_order import sorted_slice_ports, sorted_subset_ports
from kubeloop.apimachinery.meta import Object

WEB: Object = {"name": "web", "port": 8080, "protocol": "TCP", "appProtocol": "http"}
DNS: Object = {"name": "dns", "port": 53, "protocol": "UDP"}
ADMIN: Object = {"name": "admin", "port": 8081, "protocol": "TCP"}


def test_slices_order_ports_as_recorded() -> None:
    """The order that a real cluster gave these three."""
    assert [DNS, ADMIN, WEB] == sorted_slice_ports([WEB, DNS, ADMIN])


def test_endpoints_order_ports_as_recorded() -> None:
    """The other type of port has another dump, and so another order."""
    assert [ADMIN, WEB, DNS] == sorted_subset_ports([WEB, DNS, ADMIN])
