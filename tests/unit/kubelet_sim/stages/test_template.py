"""Templates of stages: what Go's text/template, sprig and kwok mean by them."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kubelet_sim.stages.expression import StageError
from kubelet_sim.stages.functions import BUILT_IN
from kubelet_sim.stages.template import Template

DATA: dict[str, Any] = {
    "a": {"b": "x"},
    "yes": True,
    "no": False,
    "list": [1, 2],
    "named": [{"name": "p", "is": "A"}, {"name": "q", "is": "B"}],
}


def render(text: str, obj: Any = None) -> str:
    return Template(text, ("Now",)).render(DATA if obj is None else obj, {"Now": lambda: "now"})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{{ .a.b }}", "x"),
        ("{{ .a.b | Quote }}", '"x"'),
        ("{{ .a.missing.more }}|", "|"),
        ("{{ $n := Now }}{{ $n }}", "now"),
        ("{{ if .yes }}1{{ else }}2{{ end }}", "1"),
        ("{{ if .no }}1{{ else if eq .a.b `x` }}2{{ else }}3{{ end }}", "2"),
        ("{{ if $n := .a.b }}{{ $n }}{{ end }}", "x"),
        ("{{ range .list }}<{{ . }}>{{ end }}", "<1><2>"),
        ("{{ range $i, $v := .list }}{{ $i }}={{ $v }};{{ end }}", "0=1;1=2;"),
        ("{{ range .no }}x{{ else }}none{{ end }}", "none"),
        ("{{ range .list }}{{ $.a.b }}{{ end }}", "xx"),
        ("{{ range $k, $v := .a }}{{ $k }}{{ $v }}{{ end }}", "bx"),
        ("{{ range 3 }}{{ . }}{{ end }}", "012"),
        ("{{ range .named }}{{ if eq .name `q` }}{{ break }}{{ end }}{{ .name }}{{ end }}!", "p!"),
        ("{{ range .named }}{{ if eq .name `p` }}-{{ continue }}{{ end }}{{ .name }}{{ end }}", "-q"),
        ("{{ with .a }}{{ .b }}{{ end }}", "x"),
        ("{{ with .none }}1{{ else with .a }}{{ .b }}{{ else }}3{{ end }}", "x"),
        ('{{ index .a "b" }}{{ index .list 1 }}', "x2"),
        ("{{ (index .named 1).name }}", "q"),
        ("{{ eq (index .named 0).name `p` }}", "true"),
        ('{{ or .no ( index ( or .none dict ) "k" ) "d" }}', "d"),
        ("{{ and .yes .a.b }} {{ not .yes }} {{ ne 1 2 }} {{ len .list }}", "x false true 2"),
        ("{{ lt 1 2 }} {{ ge `b` `a` }} {{ eq 1 2 1 }}", "true true true"),
        ('{{ .none | default "d" }}', "d"),
        ('{{ printf "%s-%03d|%q|%5.2f|%v|%%" "a" 7 "b" 1.5 .yes }}', 'a-007|"b"| 1.50|true|%'),
        ("a {{- /* a comment */ -}} b", "ab"),
        ("{{ `}}` }}", "}}"),
    ],
)
def test_templates_mean_what_go_means(text: str, wanted: str) -> None:
    """The part of text/template that stages are written in."""
    assert wanted == render(text)


def test_a_variable_is_changed_where_it_is_from() -> None:
    """`=` in a block within changes the one outside, `:=` makes another that is gone at its end."""
    text = (
        "{{ $found := false }}{{ range .named }}{{ if eq .is `B` }}{{ $found = .name }}{{ end }}{{ end }}{{ $found }}"
    )

    assert "q" == render(text)
    assert "false" == render(text.replace("$found = ", "$found := "))


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ('upper "a" | lower | trimSuffix "z"', "a"),
        ('trunc 3 "abcdef"', "abc"),
        ('replace "." "-" "a.b"', "a-b"),
        ('splitList "." "a.b" | join "/"', "a/b"),
        ('list "b" "a" "b" | uniq | sortAlpha | join ","', "a,b"),
        ('has "a" (list "a")', "true"),
        ('ternary "y" "n" true', "y"),
        ('coalesce "" nil "c"', "c"),
        ('dict "a" 1 | toJson', '{"a": 1}'),
        ('get (dict "a" 1) "b" | empty', "true"),
        ("add 1 2 | mul 3", "9"),
        ("div -7 2", "-3"),
        ('int "0x10"', "16"),
        ('b64enc "x" | b64dec', "x"),
        ('sha256sum "" | trunc 4', "e3b0"),
        ('contains "b" "abc"', "true"),
        ('"a" | indent 2 | quote', '"  a"'),
    ],
)
def test_functions_mean_what_sprig_means(call: str, wanted: str) -> None:
    """Those that are pure."""
    assert wanted == render(f"{{{{ {call} }}}}")


def test_yaml_is_put_below_a_key() -> None:
    """As kwok's own stages do it, with texts that other readers would take for something else."""
    value = {"cpu": "1k", "on": ["yes", 1, None, {"a": {}, "b": []}], "text": 'a: "b"\n#'}

    assert {"key": value} == yaml.safe_load(render("key:\n{{ YAML . 1 }}\n", value))
    assert value == yaml.safe_load(render("{{ YAML . }}", value))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ if .a }}", "is missing"),
        ("{{ end }}", "closes nothing"),
        ("{{ exec .a }}", "there is no function exec$"),
        ("{{ quoted .a }}", "there is no function quoted; there is quote and squote and Quote$"),
        ("{{ ( .a }}", "not closed"),
        ("{{ .a", "not closed"),
        ("{{ .a ~ }}", "cannot be read"),
        ("{{ break }}", "in no range"),
        ("{{ define `x` }}{{ end }}", "within templates"),
        ("{{ if .a }}{{ else }}{{ else }}{{ end }}", "after an else"),
    ],
)
def test_templates_that_cannot_work_are_refused(text: str, why: str) -> None:
    """When they are read, not when an object comes."""
    with pytest.raises(StageError, match=why):
        Template(text, ("Now",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ until 1000000 }}", "too many"),
        ('{{ repeat 1000000 "x" }}', "too many"),
        ("{{ div 1 0 }}", "div: "),
        ("{{ $x }}", "no variable"),
        ('{{ fail "enough" }}', "enough"),
        ("{{ lt 1 `a` }}", "cannot be compared"),
    ],
)
def test_what_a_function_refuses_is_told(text: str, why: str) -> None:
    """It ends the rendering, and nothing else."""
    with pytest.raises(StageError, match=why):
        render(text)


def test_functions_change_nothing() -> None:
    """Objects come from a cache."""
    data = {"list": [2, 1], "map": {"a": 1}}
    calls = ("append .list 3", "reverse .list", "sortAlpha .list", 'merge .map (dict "b" 2)', 'omit .map "a"')

    for call in calls:
        render(f"{{{{ {call} }}}}", data)

    assert {"list": [2, 1], "map": {"a": 1}} == data
    assert {call.split()[0] for call in calls} <= BUILT_IN.keys()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{{ range 10000 }}{{ range 10000 }}{{ end }}{{ end }}", "too many turns"),
        ('{{ $x := "a" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}', "too much text"),
        ("{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $x }}", "too much text"),
        ("{{ range 10000 }}{{ $.long }}{{ end }}", "too much text"),
        ('{{ replace "a" (repeat 10000 "b") (repeat 10000 "a") }}', "too long"),
        ('{{ join (repeat 10000 "b") (until 10000) }}', "too long"),
        ('{{ indent 10000 (repeat 5000 "a\\n") }}', "too long"),
        ("{{ if .a }}" * 3000 + "{{ end }}" * 3000, "nested too deeply"),
        ("{{ " + "(" * 3000 + ".a" + ")" * 3000 + " }}", "nested too deeply"),
    ],
)
def test_a_template_always_ends_and_fills_no_memory(text: str, why: str) -> None:
    """Whoever wrote it is told, and the other stages are played."""
    with pytest.raises(StageError, match=why):
        Template(text, ()).render({"a": True, "long": "x" * 10_000}, {})


def test_whole_numbers_wrap_around_as_in_go() -> None:
    """They neither grow for ever nor become too long to be spelled."""
    text = "{{ $x := 3 }}{{ range 200 }}{{ $x = mul $x $x }}{{ end }}{{ $x }}"

    assert Template(text, ()).render({}, {}) == str((pow(3, 2**200, 2**64) + 2**63) % 2**64 - 2**63)
