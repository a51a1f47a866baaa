"""The formats of names, labels, ports and other small texts, each as a function that says what is wrong.

Every `*_errors` function returns reasons in the words of k8s.io/apimachinery/pkg/util/validation (v1.36), an empty list
meaning that the value is fine; callers put each reason into `field.invalid(path, value, reason)`. Lengths count UTF-8
bytes, as Go does. Metadata as a whole is checked in `metadata_validation`, IP addresses and CIDRs in `addresses`.

Every write asks for a dozen of these, nearly always of values that are fine, so that is found out first: patterns match
ASCII alone, of which a character is a byte.
"""

from __future__ import annotations

import re
from collections.abc import Callable

MAX_LABEL_LENGTH = 63
MAX_SUBDOMAIN_LENGTH = 253
MAX_PORT_NAME_LENGTH = 15
MAX_USER_ID = 2**31 - 1

MUST_BE_NON_NEGATIVE = "must be greater than or equal to 0"
MUST_BE_POSITIVE = "must be greater than zero"
IMMUTABLE = "field is immutable"
NON_EMPTY = "must be non-empty"

_DNS_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_DNS_LABEL_UNDERSCORE = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_DNS_SUBDOMAIN_UNDERSCORE = rf"{_DNS_LABEL_UNDERSCORE}(\.{_DNS_LABEL_UNDERSCORE})*"
_DNS_WILDCARD = rf"\*\.{_DNS_SUBDOMAIN}"
_DNS_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED_NAME})?"
_C_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_CONFIG_KEY = r"[-._a-zA-Z0-9]+"
_ENVIRONMENT_NAME = r"[-._a-zA-Z][-._a-zA-Z0-9]*"
_HEADER_NAME = r"[-A-Za-z0-9]+"
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_PERCENT = r"[0-9]+%"

_is_dns_label = re.compile(_DNS_LABEL).fullmatch
_is_dns_subdomain = re.compile(_DNS_SUBDOMAIN).fullmatch
_is_dns_subdomain_underscore = re.compile(_DNS_SUBDOMAIN_UNDERSCORE).fullmatch
_is_dns_wildcard = re.compile(_DNS_WILDCARD).fullmatch
_is_dns_1035 = re.compile(_DNS_1035).fullmatch
_is_qualified_name = re.compile(_QUALIFIED_NAME).fullmatch
_is_prefixed_name = re.compile(rf"{_DNS_SUBDOMAIN}/{_QUALIFIED_NAME}").fullmatch
_is_label_value = re.compile(_LABEL_VALUE).fullmatch
_is_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_environment_name = re.compile(_ENVIRONMENT_NAME).fullmatch
_is_header_name = re.compile(_HEADER_NAME).fullmatch
_is_http_path = re.compile(_HTTP_PATH).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch
_is_port_name = re.compile(r"[-a-z0-9]+").fullmatch
_has_letter = re.compile(r"[a-z]").search

_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_NAME_RULE = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character"
)


def too_many_characters(maximum: int) -> str:
    return f"must be no more than {maximum} characters"


def too_many_bytes(maximum: int) -> str:
    return f"must be no more than {maximum} bytes"


def regex_rule(rule: str, pattern: str, *examples: str) -> str:
    """`rule (e.g. 'a',  or 'b', regex used for validation is '…')`: the form of every failed pattern."""
    if not examples:
        return f"{rule} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {listed}regex used for validation is '{pattern}')"


# Names of objects. `is_prefix` asks about a generateName, to which a suffix will still be added.


def dns_subdomain_errors(name: str, is_prefix: bool = False) -> list[str]:
    return _subdomain_errors(_masked(name) if is_prefix else name, too_many_characters)


def long_name_errors(name: str) -> list[str]:
    """A DNS subdomain whose length is counted in bytes: the names of kinds that declare how they are checked."""
    return [reason.replace("253 characters", "253 bytes") for reason in dns_subdomain_errors(name)]


def dns_label_errors(name: str, is_prefix: bool = False) -> list[str]:
    name = _masked(name) if is_prefix else name
    if len(name) <= MAX_LABEL_LENGTH and _is_dns_label(name):
        return []
    errors = _length_errors(name, MAX_LABEL_LENGTH)
    if _is_dns_label(name):
        return errors
    if _is_dns_subdomain(name):
        return [*errors, "must not contain dots"]
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
        "and must start and end with an alphanumeric character"
    )
    return [*errors, regex_rule(rule, _DNS_LABEL, "my-name", "123-abc")]


def dns1035_label_errors(name: str, is_prefix: bool = False) -> list[str]:
    name = _masked(name) if is_prefix else name
    errors = _length_errors(name, MAX_LABEL_LENGTH)
    if _is_dns_1035(name):
        return errors
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
        "start with an alphabetic character, and end with an alphanumeric character"
    )
    return [*errors, regex_rule(rule, _DNS_1035, "my-name", "abc-123")]


def path_segment_errors(name: str, is_prefix: bool = False) -> list[str]:
    """The least any name must keep to: it is one segment of a URL path."""
    if "/" not in name and "%" not in name and name not in (".", ".."):
        return []
    if not is_prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{illegal}'" for illegal in ("/", "%") if illegal in name]


# Other DNS names.


def dns_subdomain_with_underscore_errors(value: str) -> list[str]:
    errors = _length_errors(value, MAX_SUBDOMAIN_LENGTH)
    if _is_dns_subdomain_underscore(value):
        return errors
    rule = _SUBDOMAIN_RULE.replace("characters, '-'", "characters, '_', '-'")
    return [*errors, regex_rule(rule, _DNS_SUBDOMAIN_UNDERSCORE, "example.com")]


def wildcard_dns_subdomain_errors(value: str) -> list[str]:
    errors = _length_errors(value, MAX_SUBDOMAIN_LENGTH)
    if _is_dns_wildcard(value):
        return errors
    rule = (
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
        "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
    )
    return [*errors, regex_rule(rule, _DNS_WILDCARD, "*.example.com")]


# Labels.


def qualified_name_errors(value: str) -> list[str]:
    """A label key, a condition type, a resource name …: `[prefix/]name`, the prefix a DNS subdomain."""
    if len(value) <= MAX_LABEL_LENGTH and (_is_qualified_name(value) or _is_prefixed_name(value)):
        return []
    parts = value.split("/")
    rule = regex_rule(_NAME_RULE, _QUALIFIED_NAME, "MyName", "my.name", "123-abc")
    if len(parts) > 2:
        return [f"a valid label key {rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    errors = []
    if len(parts) == 2:
        prefix_errors = _subdomain_errors(parts[0], too_many_bytes) if parts[0] else [NON_EMPTY]
        errors += [f"prefix part {error}" for error in prefix_errors]
    name = parts[-1]
    if not name:
        errors.append(f"name part {NON_EMPTY}")
    elif _byte_length(name) > MAX_LABEL_LENGTH:
        errors.append(f"name part {too_many_bytes(MAX_LABEL_LENGTH)}")
    if not _is_qualified_name(name):
        errors.append(f"name part {rule}")
    return errors


def label_value_errors(value: str) -> list[str]:
    if len(value) <= MAX_LABEL_LENGTH and _is_label_value(value):
        return []
    errors = _length_errors(value, MAX_LABEL_LENGTH, too_many_bytes)
    if _is_label_value(value):
        return errors
    rule = f"a valid label must be an empty string or consist of {_NAME_RULE.removeprefix('must consist of ')}"
    return [*errors, regex_rule(rule, _LABEL_VALUE, "MyValue", "my_value", "12345")]


# Keys and identifiers inside objects.


def config_map_key_errors(value: str) -> list[str]:
    """A key of a ConfigMap or Secret: a file name, so neither `.` nor `..`."""
    errors = _length_errors(value, MAX_SUBDOMAIN_LENGTH)
    if not _is_config_key(value):
        rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
        errors.append(regex_rule(rule, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    return errors + _leaves_directory_errors(value)


def environment_name_errors(value: str) -> list[str]:
    """The strict rule for names of environment variables (envFrom prefixes before v1.34 and the like)."""
    errors = []
    if not _is_environment_name(value):
        rule = (
            "a valid environment variable name must consist of alphabetic characters, digits, '_', '-', or '.', "
            "and must not start with a digit"
        )
        errors.append(regex_rule(rule, _ENVIRONMENT_NAME, "my.env-name", "MY_ENV.NAME", "MyEnvName1"))
    return errors + _leaves_directory_errors(value)


def relaxed_environment_name_errors(value: str) -> list[str]:
    """The rule for names of environment variables that containers set: printable ASCII without `=`."""
    errors = [] if value else [f"environment variable name {NON_EMPTY}"]
    if not all(" " <= character <= "~" and character != "=" for character in value):
        errors.append(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
        )
    return errors


def c_identifier_errors(value: str) -> list[str]:
    if _is_c_identifier(value):
        return []
    rule = (
        "a valid C identifier must start with alphabetic character or '_', "
        "followed by a string of alphanumeric characters or '_'"
    )
    return [regex_rule(rule, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")]


def http_header_name_errors(value: str) -> list[str]:
    if _is_header_name(value):
        return []
    rule = "a valid HTTP header must consist of alphanumeric characters or '-'"
    return [regex_rule(rule, _HEADER_NAME, "X-Header-Name")]


def http_path_errors(value: str) -> list[str]:
    """The path after a domain, as in `acme.io/foo/bar`."""
    return [] if _is_http_path(value) else [regex_rule("Invalid path", _HTTP_PATH)]


def percent_errors(value: str) -> list[str]:
    if _is_percent(value):
        return []
    rule = "a valid percent string must be a numeric string followed by an ending '%'"
    return [regex_rule(rule, _PERCENT, "1%", "93%")]


# Numbers and ports.


def range_errors(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [f"must be between {low} and {high}, inclusive"]


def port_errors(port: int) -> list[str]:
    return range_errors(port, 1, 65535)


def user_id_errors(user_id: int) -> list[str]:
    """A Unix user or group id."""
    return range_errors(user_id, 0, MAX_USER_ID)


def port_name_errors(name: str) -> list[str]:
    errors = _length_errors(name, MAX_PORT_NAME_LENGTH)
    if not _is_port_name(name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name.startswith("-") or name.endswith("-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def _subdomain_errors(name: str, too_long: Callable[[int], str]) -> list[str]:
    if len(name) <= MAX_SUBDOMAIN_LENGTH and _is_dns_subdomain(name):
        return []
    errors = _length_errors(name, MAX_SUBDOMAIN_LENGTH, too_long)
    if not _is_dns_subdomain(name):
        errors.append(regex_rule(_SUBDOMAIN_RULE, _DNS_SUBDOMAIN, "example.com"))
    return errors


def _length_errors(value: str, maximum: int, text: Callable[[int], str] = too_many_characters) -> list[str]:
    return [text(maximum)] if _byte_length(value) > maximum else []


def _byte_length(value: str) -> int:
    return len(value) if value.isascii() else len(value.encode("utf-8", "surrogatepass"))


def _masked(prefix: str) -> str:
    """A generateName as it would look with its suffix: a dash at the end will not stay at the end."""
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix


def _leaves_directory_errors(value: str) -> list[str]:
    if value in (".", ".."):
        return [f"must not be '{value}'"]
    return ["must not start with '..'"] if value.startswith("..") else []
