"""IP addresses and CIDRs as field values."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery import addresses

NO_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10.0.0.1", []),
        ("FE80::0abc", []),
        ("0.0.0.0", []),
        ("", [NO_IP]),
        ("300.1.1.1", [NO_IP]),
        ("fe80::1%eth0", [NO_IP]),
        ("010.0.0.1", ["must not have leading 0s"]),
        ("::ffff:1.2.3.4", ["must not be an IPv4-mapped IPv6 address"]),
    ],
)
def test_addresses_that_readers_understand_alike_pass(value: str, expected: list[str]) -> None:
    """Any spelling passes but those with leading zeros and IPv4 in disguise."""
    assert expected == addresses.ip_errors(value)


def test_newer_fields_want_the_canonical_spelling() -> None:
    """A canonical field says which spelling it wants."""
    assert ['must be in canonical form ("fe80::abc")'] == addresses.canonical_ip_errors("FE80::0abc")
    assert ['must be in canonical form ("fe80::/10")'] == addresses.canonical_cidr_errors("FE80::/10")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("10.0.0.0/8", []),
        ("::/0", []),
        ("10.0.0.0", [NO_CIDR]),
        ("10.0.0.0/33", [NO_CIDR]),
        ("10.0.0.0/255.0.0.0", [NO_CIDR]),
        ("10.0.0.0/08", ["must not have leading 0s in IP or prefix length"]),
        ("10.0.0.1/8", ["must not have bits set beyond the prefix length"]),
        ("::ffff:10.0.0.0/104", ["must not have an IPv4-mapped IPv6 address"]),
    ],
)
def test_cidrs(value: str, expected: list[str]) -> None:
    """A network has a prefix length and no bits beyond it."""
    assert expected == addresses.cidr_errors(value)


def test_odd_spellings_in_old_fields_earn_warnings() -> None:
    """What passes in an old object is warned about, with the spelling to use."""
    assert ['p: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"'] == addresses.ip_warnings(
        "010.0.0.1", "p"
    )
    assert [
        'p: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'
    ] == addresses.cidr_warnings("10.0.0.1/8", "p")
    assert [] == addresses.ip_warnings("10.0.0.1", "p")


def test_interface_addresses_keep_their_host_part() -> None:
    """An interface address is an address with its network's prefix length."""
    assert [] == addresses.interface_address_errors("192.168.1.5/24")
    assert ['must be in canonical form ("192.168.1.5/24")'] == addresses.interface_address_errors("192.168.1.05/24")
