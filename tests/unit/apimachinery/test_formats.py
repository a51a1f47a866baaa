"""Formats of texts."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.formats import effective_format, is_of_format

GOOD = {
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "byte": ["YQ==", "abcd"],
    "cidr": ["10.0.0.0/8", "::/0"],
    "creditcard": ["4111 1111 1111 1111"],
    "date": ["2020-02-29"],
    "date-time": ["2020-01-01T00:00:00Z", "2020-01-01t00:00:00.5+99:99"],
    "duration": ["5s", "1h5m", ".5s", "0", "P3D", "5 minutes", "3 weeks"],
    "email": ["alice@example.com", "Alice <alice@example.com>", '"a b"@c', "a@[127.0.0.1]"],
    "hexcolor": ["#fff", "A0B1C2"],
    "hostname": ["localhost", "host-a-b.example.com"],
    "ipv4": ["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"],
    "ipv6": ["::1"],
    "isbn": ["0321751043", "978-0321751041"],
    "k8s-long-name": ["a.b-c"],
    "k8s-short-name": ["a-b"],
    "mac": ["00:11:22:33:44:55", "0011.2233.4455"],
    "odd": ["whatever"],
    "password": [""],
    "rgbcolor": ["rgb(0,255, 10)"],
    "ssn": ["123-45-6789", "123 45 6789"],
    "uri": ["http://a.b/c?d e", "/x", "mailto:a@b", "http://[::1]:80/x", "//a b"],
    "uuid4": ["A987FBC9-4BED-4078-8F07-9141BA07C9F3"],
}
BAD = {
    "byte": ["", "YQ="],
    "cidr": ["10.0.0.0", "10.0.0.0/255.0.0.0", "10.0.0.0/33"],
    "creditcard": ["4111111111111112", "1234567890123456"],
    "date": ["2020-02-30", "2020-1-1"],
    "date-time": ["2020-01-01", "2020-01-01 00:00:00Z", "2020-02-30T00:00:00Z", "2020-01-01T24:00:00Z"],
    "duration": ["", "5", "5 months", "2 hrs"],
    "email": ["a", "a b@c", "a..b@c", "a@"],
    "hostname": ["my-host", "a.b", "1.2.3.4", "example.com.", "a_b.com", ""],
    "ipv4": ["1.2.3", "::1"],
    "ipv6": ["1.2.3.4", "fe80::1%eth0"],
    "isbn": ["9780321751040"],
    "k8s-short-name": ["a.b", "A"],
    "mac": ["00:11:22"],
    "rgbcolor": ["rgb(256,0,0)"],
    "ssn": ["123456789"],
    "uri": ["", "x", "a/b", "http://a b/", "http://a:b/", "http://a/%zz"],
    "uuid4": ["a987fbc9-4bed-3078-cf07-9141ba07c9f3"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_of_the_format(name: str, text: str) -> None:
    """What Go's parsers take is of the format."""
    assert is_of_format(text, name)


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_not_of_the_format(name: str, text: str) -> None:
    """What they refuse is not."""
    assert not is_of_format(text, name)


def test_formats_of_other_types() -> None:
    """A format counts only for the type it belongs to; where several types are allowed, those of texts count."""
    assert effective_format({"type": "integer", "format": "date"}) == ""
    assert effective_format({"type": "string", "format": "int32"}) == ""
    assert effective_format({"x-kubernetes-int-or-string": True, "type": "integer", "format": "int32"}) == ""
    assert effective_format({"type": "integer", "format": "int32"}) == "int32"
    assert effective_format({"format": "hostname"}) == "hostname"
