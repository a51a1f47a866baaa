"""DELETE: its options, and what a second one changes."""

import pytest

from tests.testkit.exchange import Ask, exchange

MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
SPEC = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}
ACCOUNT = Ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
POD = Ask("POST", PODS, {"metadata": {"name": "a"}, "spec": SPEC})
HELD = {"metadata": {"name": "a", "finalizers": ["example.com/a"]}}


@pytest.mark.parametrize(
    ("query", "status", "said"),
    [
        ("propagationPolicy=", 422, ['propagationPolicy: Unsupported value: ""']),
        ("gracePeriodSeconds=", 400, ['strconv.ParseInt: parsing "": invalid syntax']),
        (
            "propagationPolicy=No&orphanDependents=true",
            422,
            ['[propagationPolicy: Invalid value: "No": orphanDependents', 'Unsupported value: "No": supported values'],
        ),
        ("uid=other", 409, ["the UID in the precondition (other) does not match the UID in record"]),
        ("resourceVersion=1", 409, ["the ResourceVersion in the precondition (1) does not match"]),
    ],
)
def test_bad_options_are_refused(query: str, status: int, said: list[str]) -> None:
    """An empty value is a value, and preconditions may stand in the query as well."""
    answer = exchange(Ask("POST", MAPS, HELD), Ask("DELETE", f"{MAPS}/a?{query}"))[-1]

    assert answer.status == status
    assert [part for part in said if part not in answer.message] == []


def test_who_asks_in_the_old_words_hears_that_it_was_accepted() -> None:
    """Only orphanDependents=false makes 202 of a deletion that waits."""
    old, new = exchange(
        Ask("POST", MAPS, HELD),
        Ask("DELETE", f"{MAPS}/a?orphanDependents=false"),
        Ask("DELETE", f"{MAPS}/a?propagationPolicy=Background"),
    )[1:]

    assert (old.status, new.status) == (202, 200)


def test_a_second_delete_adds_no_finalizer_to_a_pod_that_ends() -> None:
    """Its grace period runs already; only a shorter one changes anything, and then the finalizers change too."""
    same, shorter = exchange(
        ACCOUNT,
        POD,
        Ask("DELETE", f"{PODS}/a"),
        Ask("DELETE", f"{PODS}/a?propagationPolicy=Foreground"),
        Ask("DELETE", f"{PODS}/a?propagationPolicy=Foreground&gracePeriodSeconds=10"),
    )[3:]

    assert "finalizers" not in same.body["metadata"]
    assert (shorter.body["metadata"]["finalizers"], shorter.body["metadata"]["deletionGracePeriodSeconds"]) == (
        ["foregroundDeletion"],
        10,
    )


def test_the_grace_period_cannot_be_written() -> None:
    """It belongs to the deletion; who repeats it, or leaves it out, is fine."""
    changed, repeated = exchange(
        ACCOUNT,
        POD,
        Ask("DELETE", f"{PODS}/a"),
        Ask("PATCH", f"{PODS}/a", {"metadata": {"deletionGracePeriodSeconds": 5}}),
        Ask("PATCH", f"{PODS}/a", {"metadata": {"deletionGracePeriodSeconds": 30}}),
    )[3:]

    assert ("metadata.deletionGracePeriodSeconds", "Invalid value: 5: field is immutable") in changed.causes
    assert repeated.status == 200


def test_events_have_no_dependents() -> None:
    """So no propagation policy holds one back."""
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default"}}
    path = "/api/v1/namespaces/default/events"
    gone = exchange(Ask("POST", path, event), Ask("DELETE", f"{path}/e?propagationPolicy=Orphan"))[-1]

    assert (gone.status, gone.body["kind"]) == (200, "Status")


def test_a_namespace_goes_in_steps_of_its_own() -> None:
    """With other words, with "not orphaned" meaning in the foreground, and with the object as the last answer."""
    path = "/api/v1/namespaces"
    refused, begun, again, _, gone = exchange(
        Ask("POST", path, {"metadata": {"name": "n"}}),
        Ask("DELETE", f"{path}/n", {"preconditions": {"uid": "x"}}),
        Ask("DELETE", f"{path}/n", {"orphanDependents": False}),
        Ask("DELETE", f"{path}/n?propagationPolicy=Orphan"),
        Ask("PUT", f"{path}/n/finalize", {"metadata": {"name": "n", "finalizers": ["foregroundDeletion"]}, "spec": {}}),
        Ask("DELETE", f"{path}/n?propagationPolicy=Background"),
    )[1:]

    assert 'on namespaces "n": Precondition failed: UID in precondition: x' in refused.message
    assert (begun.status, begun.body["metadata"]["finalizers"]) == (202, ["foregroundDeletion"])
    assert again.body["metadata"]["finalizers"] == ["foregroundDeletion"]
    assert (gone.status, gone.body["kind"]) == (200, "Namespace")


def test_a_collection_is_chosen_before_it_is_deleted() -> None:
    """A bad selector is told before a bad body, and jobs are warned about even where there are none."""
    jobs = "/apis/batch/v1/namespaces/default/jobs"
    selector, body, warned = exchange(
        Ask("DELETE", f"{MAPS}?labelSelector=!!", "{"), Ask("DELETE", MAPS, "{"), Ask("DELETE", jobs)
    )

    assert [answer.status for answer in (selector, body, warned)] == [400, 400, 200]
    assert "unable to parse" in selector.message
    assert "json parse error" in body.message
    assert len(warned.warnings) == 1


@pytest.mark.parametrize(
    ("body", "part"),
    [
        ({"kind": "Foo"}, 'no kind "Foo" is registered for version "meta.k8s.io/v1" in scheme'),
        ({"kind": 5}, "json: cannot unmarshal number into Go struct field .kind of type string"),
        ([], "json: cannot unmarshal array into Go value of type struct"),
        ({"kind": "DeleteOptions", "apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_a_body_that_is_no_delete_options(body: object, part: str) -> None:
    """It is refused by what it says it is; the group does not matter, for each has them."""
    refused, taken = exchange(
        Ask("DELETE", f"{MAPS}/none", body),
        Ask("DELETE", f"{MAPS}/none", {"kind": "DeleteOptions", "apiVersion": "policy/v1"}),
    )

    assert (refused.status, part in refused.message, taken.status) == (400, True, 404)
