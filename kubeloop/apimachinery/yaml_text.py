"""YAML as the real server and kubectl read it: sigs.k8s.io/yaml, which turns YAML into JSON first.

Read with it: request bodies, and manifests by whoever applies files. Scalars are resolved as goyaml.v2 does (yes, no,
on and off are booleans, 010 is eight, times stay text), keys become text, and errors carry goyaml's words and line
numbers. The grammar itself is libyaml's, through PyYAML.
"""

from __future__ import annotations

import base64
import math
import re
from typing import Any

import yaml

from kubeloop.apimachinery.yaml_bounds import ExcessError, check_aliases, check_nesting
from kubeloop.apimachinery.yaml_json import read_json


class YamlSyntaxError(ValueError):
    """The text is not YAML, or has no JSON form; the message is sigs.k8s.io/yaml's."""


def parse_yaml(raw: bytes) -> Any:
    """The JSON value of the first document of a YAML text."""
    if (json_text := read_json(raw)) is not None:
        return json_text.value
    loader = _Loader(raw)
    try:
        node = _first_node(loader, raw)
        return None if node is None else loader.construct_document(node)
    except ExcessError as error:
        raise YamlSyntaxError(str(error)) from error
    except yaml.MarkedYAMLError as error:
        raise YamlSyntaxError(_message(error, raw)) from error
    except yaml.reader.ReaderError as error:
        raise YamlSyntaxError(f"yaml: {error.reason}") from error
    except yaml.YAMLError as error:
        raise YamlSyntaxError(f"yaml: {error}") from error
    finally:
        loader.dispose()


def yaml_duplicates(raw: bytes) -> list[str]:
    """What strict decoding has against repeated keys of a sound YAML text: one message for all of them, or none."""
    if (json_text := read_json(raw)) is not None and not json_text.has_repeated_keys:
        return []
    loader = _Loader(raw)
    try:
        node = _first_node(loader, raw)
        found = list(_repeated(node)) if node is not None else []
    finally:
        loader.dispose()
    return ["yaml: unmarshal errors:\n" + "\n".join(found)] if found else []


def problem_lines(problem: str) -> list[str]:
    """What strict decoding has against a body, as warnings: a list of a YAML reader's is one warning an item."""
    for prefix in ("yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n"):
        if problem.startswith(prefix):
            return [line.strip() for line in problem[len(prefix) :].split("\n")]
    return [problem]


def _repeated(node: yaml.Node) -> Any:
    if isinstance(node, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    yield f'  line {key.start_mark.line + 1}: key "{key.value}" already set in map'
                seen.add(key.value)
            yield from _repeated(value)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _repeated(item)


class _Loader(yaml.CSafeLoader):
    """Only the scalars' meanings and the keys differ from PyYAML's safe loader."""


def _first_node(loader: _Loader, raw: bytes) -> yaml.Node | None:
    """The first document's node, within bounds; what follows it is not read."""
    check_nesting(raw)
    if not loader.check_node():
        return None
    node = loader.get_node()
    assert node is not None
    check_aliases(node, raw)
    return node


_LONGEST_INTEGER = 100  # characters; 64 bits in binary digits, and a prefix, are fewer

_Loader.yaml_implicit_resolvers = {}  # its own: PyYAML's read dates as dates and 1e3 as text


def _resolver(tag: str, pattern: str, first: str) -> None:
    expression = re.compile(rf"^(?:{pattern})$", re.ASCII)
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", expression, list(first))


_resolver("bool", "true|True|TRUE|yes|Yes|YES|on|On|ON|false|False|FALSE|no|No|NO|off|Off|OFF|y|Y|n|N", "tTyYoOfFnN")
_resolver("null", "~|null|Null|NULL|", "~nN")
_Loader.yaml_implicit_resolvers.setdefault("", []).append(("tag:yaml.org,2002:null", re.compile("^$")))
_resolver("merge", "<<", "<")
_resolver("int", r"[-+]?0b[01_]+|[-+]?0x[0-9a-fA-F_]+|[-+]?0o?[0-7_]*|[-+]?[1-9][0-9_]*", "-+0123456789")
_resolver("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+0123456789.")
_resolver("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.")


def _bool(loader: _Loader, node: yaml.ScalarNode) -> bool | str:
    # y and n alone are booleans of YAML 1.1 that goyaml leaves as text.
    text = str(node.value)
    return text if len(text) == 1 else text.lower() in ("true", "yes", "on")


def _int(loader: _Loader, node: yaml.ScalarNode) -> int | float | str:
    """What 64 bits cannot hold is a float if it is written in decimal digits, and else stays text."""
    text = str(node.value).replace("_", "")
    number = _whole(text) if len(text) <= _LONGEST_INTEGER else None
    if number is not None and _fits(number):
        return number
    if not text.lstrip("+-").isdecimal() or math.isinf(float(text)):
        return str(node.value)
    return float(text)


def _fits(number: int) -> bool:
    return -(1 << 63) <= number < 1 << 64


def _whole(text: str) -> int:
    sign = -1 if text.startswith("-") else 1
    digits = text.lstrip("+-").lower()
    if digits.startswith(("0x", "0b", "0o")):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if digits.startswith("0") and len(digits) > 1 else 10)


def _float(loader: _Loader, node: yaml.ScalarNode) -> float | int | str:
    text = str(node.value)
    number = float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    if not math.isfinite(number):
        if text[-1].isdigit():  # too large to be one: text, like numbers that no other type holds
            return text
        raise yaml.YAMLError(f"json: unsupported value: {text}")
    return int(number) if number.is_integer() and _fits(int(number)) else number


def _mapping(loader: _Loader, node: yaml.MappingNode) -> dict[str, Any]:
    loader.flatten_mapping(node)
    return {_key(loader, key): loader.construct_object(value, deep=True) for key, value in node.value}


def _key(loader: _Loader, node: yaml.Node) -> str:
    """JSON keys are text: true, 1 and 1.5 become what JSON would write for them."""
    key = loader.construct_object(node, deep=True)
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, (int, float)):
        return str(key)
    if not isinstance(key, str):
        raise yaml.YAMLError(f"json: unsupported type: {'null' if key is None else 'a list or map'} as a key")
    return key


def _binary(loader: _Loader, node: yaml.ScalarNode) -> str:
    return base64.b64decode(str(node.value)).decode("utf-8", "replace")


def _untagged(loader: _Loader, node: yaml.Node) -> Any:
    """Tags of no meaning to JSON (times, sets, somebody's own) are read over."""
    if isinstance(node, yaml.MappingNode):
        return _mapping(loader, node)
    if isinstance(node, yaml.SequenceNode):
        return [loader.construct_object(item, deep=True) for item in node.value]
    return str(node.value)


_Loader.add_constructor(None, _untagged)
_Loader.add_constructor("tag:yaml.org,2002:timestamp", _untagged)
_Loader.add_constructor("tag:yaml.org,2002:set", _untagged)
_Loader.add_constructor("tag:yaml.org,2002:binary", _binary)
_Loader.add_constructor("tag:yaml.org,2002:bool", _bool)
_Loader.add_constructor("tag:yaml.org,2002:int", _int)
_Loader.add_constructor("tag:yaml.org,2002:float", _float)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _message(error: yaml.MarkedYAMLError, raw: bytes) -> str:
    """goyaml counts a scanner's lines from one and leaves the first line out where the parser cannot tell it."""
    line = 0
    for mark in (error.context_mark, error.problem_mark):
        if mark is not None and mark.line:
            line = mark.line + isinstance(error, yaml.scanner.ScannerError)
            break
    where = f"line {line}: " if line else ""
    if isinstance(error, yaml.composer.ComposerError) and error.problem == "found undefined alias":
        return f"yaml: unknown anchor{_alias(error, raw)} referenced"
    return f"yaml: {where}{error.problem}"


def _alias(error: yaml.MarkedYAMLError, raw: bytes) -> str:
    """The alias' name is not in PyYAML's error; it stands at its mark."""
    mark = error.problem_mark
    text = raw.decode("utf-8", "replace")[mark.index :] if mark is not None else ""
    match = re.match(r"\*([\w-]+)", text)
    return f" '{match[1]}'" if match else ""
