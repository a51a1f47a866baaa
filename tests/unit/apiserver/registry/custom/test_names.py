"""Which names definitions get."""

from __future__ import annotations

from apiserver.registry.custom.kinds import by_preference
from apiserver.registry.custom.names import established, status_with_names
from kubeloop.apimachinery.meta import Object

NOW = "2026-01-02T03:04:05Z"


def definition(plural: str, kind: str, *short: str, accepted: bool = False) -> Object:
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    if short:
        names["shortNames"] = list(short)  # type: ignore[assignment]
    return {
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {"group": "example.com", "names": names},
        "status": {"acceptedNames": names if accepted else {"plural": "", "kind": ""}, "conditions": None},
    }


def test_free_names_are_accepted() -> None:
    """A definition alone gets all it wants, and is established in a second step."""
    wanted = definition("widgets", "Widget", "wd")

    status = status_with_names(wanted, [], NOW)
    conditions = established({**wanted, "status": status}, NOW)["conditions"]

    assert {**wanted["spec"]["names"]} == status["acceptedNames"]
    assert [("NamesAccepted", "True"), ("Established", "False")] == [
        (c["type"], c["status"]) for c in status["conditions"]
    ]
    assert ["True", "True"] == [condition["status"] for condition in conditions]


def test_no_kind_is_established_whose_converter_cannot_be_trusted() -> None:
    """A CA bundle that is none is said, and the kind waits for a better one."""
    wanted = definition("widgets", "Widget", accepted=True)
    wanted["spec"]["conversion"] = {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "YQ=="}}}

    condition = established(wanted, NOW)["conditions"][0]

    assert ("False", "InvalidCABundle") == (condition["status"], condition["reason"])


def test_taken_names_are_refused() -> None:
    """A short name and a kind another definition has are not given twice; the last conflict is the one told."""
    other = definition("gizmos", "Widget", "wd", accepted=True)

    status = status_with_names(definition("widgets", "Widget", "wd"), [other], NOW)

    assert ["ListKindConflict", "NotAccepted"] == [condition["reason"] for condition in status["conditions"]]
    assert '"WidgetList" is already in use' == status["conditions"][0]["message"]
    assert "shortNames" not in status["acceptedNames"]


def test_a_refusal_stays_until_other_names_are_wanted() -> None:
    """Going back to the names it has decides nothing anew; wanting free ones does."""
    other = definition("gizmos", "Gizmo", "wd", accepted=True)
    held = definition("widgets", "Widget", accepted=True)
    greedy = {**definition("widgets", "Widget", "wd"), "status": held["status"]}
    refused = status_with_names(greedy, [other], NOW)

    back = status_with_names({**held, "status": refused}, [other], NOW)
    modest = status_with_names({**definition("widgets", "Widget", "wg"), "status": refused}, [other], NOW)

    assert (refused, "False") == (back, refused["conditions"][0]["status"])
    assert ("True", ["wg"]) == (modest["conditions"][0]["status"], modest["acceptedNames"]["shortNames"])


def test_settled_definitions_stay_as_they_are() -> None:
    """Looking at an accepted definition again changes nothing, so the loop comes to rest."""
    wanted = definition("widgets", "Widget")
    wanted["status"] = status_with_names(wanted, [], NOW)
    wanted["status"] = established(wanted, NOW)

    assert wanted["status"] == status_with_names(wanted, [], "2027-01-01T00:00:00Z")


def test_order_of_versions() -> None:
    """Stable versions before beta before alpha, newer before older, other names last."""
    versions = ["foo1", "v1alpha1", "v3beta1", "v10", "v2", "v1beta2", "v1"]

    assert ["v10", "v2", "v1", "v3beta1", "v1beta2", "v1alpha1", "foo1"] == sorted(versions, key=by_preference)
