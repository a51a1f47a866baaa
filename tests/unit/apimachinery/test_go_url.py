"""URLs in parts, and refused in Go's words. Facts: net/url of Go 1.26."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery.go_url import Url, UrlError, parse_url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://h.example.com/x?a=b#c", Url("https", None, "h.example.com", "/x", "a=b", "c")),
        ("HTTPS://alice:pw@h:443", Url("https", "alice:pw", "h:443")),
        ("https://[::1]:8443/", Url("https", None, "[::1]:8443", "/")),
        ("https:h", Url("https")),
        ("h.example.com/x", Url(path="h.example.com/x")),
        ("/a%20b", Url(path="/a b")),
        ("", Url()),
    ],
)
def test_parts(text: str, url: Url) -> None:
    """A URL is taken apart as Go does."""
    assert url == parse_url(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (":foo", 'parse ":foo": missing protocol scheme'),
        ("1:b", 'parse "1:b": first path segment in URL cannot contain colon'),
        ("https://h:b", 'parse "https://h:b": invalid port ":b" after host'),
        ("https://h:1:2/", 'parse "https://h:1:2/": invalid port ":1:2" after host'),
        ("https://[::1/", """parse "https://[::1/": missing ']' in host"""),
        ("https://a b/", 'parse "https://a b/": invalid character " " in host name'),
        ("https://h/%zz", 'parse "https://h/%zz": invalid URL escape "%zz"'),
        ("https://h%41/", 'parse "https://h%41/": invalid URL escape "%41"'),
        ("https://h/x%", 'parse "https://h/x%": invalid URL escape "%"'),
        ("https://u^@h", 'parse "https://u^@h": net/url: invalid userinfo'),
        ("https://h/\n", 'parse "https://h/\\n": net/url: invalid control character in URL'),
        ("https://h/#%z", 'parse "https://h/#%z": invalid URL escape "%z"'),
    ],
)
def test_refusals(text: str, reason: str) -> None:
    """What is no URL is told as Go tells it, with the text it is about."""
    with pytest.raises(UrlError) as refused:
        parse_url(text)

    assert reason == str(refused.value)
