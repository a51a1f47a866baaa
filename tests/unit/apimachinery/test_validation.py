"""Names, labels, ports: what is refused, and in which words."""

from __future__ import annotations

import pytest

from kubeloop.apimachinery import validation

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
NAME_PART = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web", []),
        ("a.b-c.d", []),
        ("Bad_Name", [SUBDOMAIN]),
        ("web\n", [SUBDOMAIN]),
        ("", [SUBDOMAIN]),
        ("a" * 253, []),
        ("a" * 254, ["must be no more than 253 characters"]),
    ],
)
def test_dns_subdomains(name: str, expected: list[str]) -> None:
    """An object's name is a DNS subdomain of at most 253 bytes, and a newline at its end does not pass."""
    assert expected == validation.dns_subdomain_errors(name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("web", []),
        ("a.b", ["must not contain dots"]),
        ("-a", [LABEL]),
        ("a" * 64, ["must be no more than 63 characters"]),
    ],
)
def test_dns_labels(name: str, expected: list[str]) -> None:
    """A namespace's name is a DNS label; a dotted one is told that dots are the trouble."""
    assert expected == validation.dns_label_errors(name)


def test_a_service_name_begins_with_a_letter() -> None:
    """A DNS-1035 label may not begin with a digit."""
    found = validation.dns1035_label_errors("1web")

    assert 1 == len(found)
    assert found[0].startswith("a DNS-1035 label must consist of")
    assert [] == validation.dns1035_label_errors("web1")


@pytest.mark.parametrize("prefix", ["web-", "web.x-", "w-"])
def test_a_generated_name_may_end_in_a_dash_before_its_suffix(prefix: str) -> None:
    """A generateName is judged as if its suffix stood behind it."""
    assert [] == validation.dns_subdomain_errors(prefix, True)
    assert [] != validation.dns_subdomain_errors(prefix)


@pytest.mark.parametrize(
    ("name", "is_prefix", "expected"),
    [
        ("system:node", False, []),
        ("..", False, ["may not be '..'"]),
        ("..", True, []),
        ("a/b%", False, ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_path_segments(name: str, is_prefix: bool, expected: list[str]) -> None:
    """What stands in a URL as one segment has no slash, no percent sign and is not a dot or two."""
    assert expected == validation.path_segment_errors(name, is_prefix)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("app", []),
        ("example.com/App_1", []),
        ("", ["name part must be non-empty", NAME_PART]),
        ("-k", [NAME_PART]),
        ("/k", ["prefix part must be non-empty"]),
        ("Bad/k", ["prefix part " + SUBDOMAIN]),
        ("k" * 64, ["name part must be no more than 63 bytes"]),
        (
            "a/b/c",
            [
                "a valid label key "
                + NAME_PART.removeprefix("name part ")
                + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            ],
        ),
    ],
)
def test_qualified_names(key: str, expected: list[str]) -> None:
    """A label key is a name with an optional DNS prefix, each with its own limit."""
    assert expected == validation.qualified_name_errors(key)


def test_label_values_are_counted_in_bytes() -> None:
    """The limit of 63 holds for UTF-8 bytes, so 32 letters of two bytes are too many as well as wrong."""
    found = validation.label_value_errors("ä" * 32)

    assert "must be no more than 63 bytes" == found[0]
    assert [] == validation.label_value_errors("")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("http", []),
        ("a--b", ["must not contain consecutive hyphens"]),
        ("80", ["must contain at least one letter (a-z)"]),
        ("-a", ["must not begin or end with a hyphen"]),
        ("a" * 16, ["must be no more than 15 characters"]),
    ],
)
def test_port_names(name: str, expected: list[str]) -> None:
    """A port's name has at most 15 letters, digits and single hyphens, and a letter among them."""
    assert expected == validation.port_name_errors(name)


@pytest.mark.parametrize("port", [0, 65536, -1])
def test_ports_out_of_range(port: int) -> None:
    """A port is a number from 1 to 65535."""
    assert ["must be between 1 and 65535, inclusive"] == validation.port_errors(port)


@pytest.mark.parametrize(
    ("key", "last"),
    [(".", "must not be '.'"), ("..", "must not be '..'"), ("..a", "must not start with '..'")],
)
def test_config_map_keys_stay_in_their_directory(key: str, last: str) -> None:
    """A key of a ConfigMap becomes a file name and may not lead out of its directory."""
    assert [last] == validation.config_map_key_errors(key)


@pytest.mark.parametrize(("name", "is_fine"), [("A b", True), ("1", True), ("a=b", False), ("ä", False), ("", False)])
def test_environment_names_are_printable_ascii(name: str, is_fine: bool) -> None:
    """Names of environment variables are printable ASCII without an equals sign."""
    assert is_fine == (validation.relaxed_environment_name_errors(name) == [])


@pytest.mark.parametrize("name", ["a" * 63, "x" * 31 + "." + "y" * 31, "example.com/" + "n" * 51])
def test_a_name_of_the_greatest_length_is_fine_and_one_beyond_is_not_if_it_has_no_prefix(name):
    """What is found good at once is what the long way finds good."""
    assert [] == validation.qualified_name_errors(name)
    longer = validation.qualified_name_errors(name + "z")
    assert ("/" in name) is not bool(longer)
