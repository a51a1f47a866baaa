"""Admission webhooks, through a whole server: what their answers, changes and failures do."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from apiserver.handlers.audit_log import AuditSettings
from apiserver.handlers.audit_policy import Policy, Verdict
from tests.testkit.exchange import APPLY, JSON_PATCH, Ask, exchange
from tests.testkit.webhooks import (
    CREATE,
    DENIED,
    DEPLOYMENT,
    DEPLOYMENTS,
    MAP,
    MAPS,
    POD,
    PODS,
    RULE,
    Hooks,
    a_webhook,
    add,
    allow,
    deny,
    last,
    mutating,
    patch,
    validating,
)

# -- what a no does ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("respond", "status", "reason", "message"),
    [
        (deny(), 400, None, f"{DENIED} without explanation"),
        (deny("too big"), 400, None, f"{DENIED}: too big"),
        (deny("too big", code=403, reason="Forbidden"), 403, "Forbidden", f"{DENIED}: too big"),
        (deny(reason="Forbidden"), 400, "Forbidden", f"{DENIED}: Forbidden"),
        (deny("fine", code=200, status="Success"), 400, None, f"{DENIED}: fine"),
        (deny("wait", code=429, details={"retryAfterSeconds": 3}), 429, None, f"{DENIED}: wait"),
    ],
)
def test_a_no_is_told_to_the_client(respond: Any, status: int, reason: str | None, message: str) -> None:
    """With the webhook's code, reason and message, and its name; never with the code of a success."""
    answer = last(Hooks(v=respond), validating(a_webhook("v")), CREATE)
    assert (answer.status, answer.body.get("reason"), answer.message) == (status, reason, message)
    assert (answer.body["status"], answer.body["code"]) == ("Failure", status)


def test_what_was_refused_is_not_stored() -> None:
    """Neither by a validating nor by a mutating webhook."""
    for configure in (validating(a_webhook("x")), mutating(a_webhook("x"))):
        answers = exchange(configure, CREATE, Ask("GET", f"{MAPS}/c"), webhook_transports=Hooks(x=deny()).transport)
        assert [answer.status for answer in answers] == [201, 400, 404]


def test_warnings_reach_the_client_with_a_yes_and_with_a_no() -> None:
    """As Warning headers."""
    for allowed in (True, False):
        hooks = Hooks(v=lambda request, allowed=allowed: {"allowed": allowed, "warnings": ["old", "odd"]})
        assert last(hooks, validating(a_webhook("v")), CREATE).warnings == ["old", "odd"]


def test_all_validating_webhooks_are_asked_and_the_first_no_is_told() -> None:
    """They are asked at the same time, so a no spares none of the others."""
    hooks = Hooks(v=deny("one"), w=deny("two"), x=allow)
    answer = last(hooks, validating(a_webhook("v"), a_webhook("w"), a_webhook("x")), CREATE)
    assert answer.message == f"{DENIED}: one"
    assert sorted(hooks.names()) == ["v", "w", "x"]


# -- failures ---------------------------------------------------------------------------------------------------------

FAILED = 'Internal error occurred: failed calling webhook "v.example.com": '
UNREACHABLE = httpx.ConnectError("no")
CALLED = f'{FAILED}failed to call webhook: Post "https://v.test/?timeout=10s": '
INVALID = f"{FAILED}received invalid webhook response: "


def _review(**fields: Any) -> Any:
    """An answer with these fields in the place of the right ones."""

    def respond(request: dict[str, Any]) -> httpx.Response:
        review = {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "response": {"uid": request["uid"], "allowed": True},
            **fields,
        }
        return httpx.Response(200, json=review)

    return respond


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        (lambda _: UNREACHABLE, f"{CALLED}no"),
        (
            lambda _: httpx.Response(404, text="404 page not found"),
            f"{FAILED}failed to call webhook: the server could not find the requested resource",
        ),
        (_review(response=None), f"{INVALID}webhook response was absent"),
        (_review(response={"uid": "", "allowed": True}), f'{INVALID}expected response.uid="UID", got ""'),
        (_review(response={"allowed": True, "uid": "other"}), f'{INVALID}expected response.uid="UID", got "other"'),
        (
            _review(kind="", apiVersion=""),
            f"{INVALID}expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=",
        ),
        (
            lambda _: {"allowed": True, "patch": "W10=", "patchType": "JSONPatch"},
            f"{INVALID}validating webhook may not return response.patch",
        ),
        (
            lambda _: {"allowed": True, "patchType": "JSONPatch"},
            f"{INVALID}validating webhook may not return response.patchType",
        ),
        (
            lambda _: {"allowed": "yes"},
            f"{FAILED}failed to call webhook: json: cannot unmarshal string into Go struct field "
            "AdmissionResponse.response.allowed of type bool",
        ),
        (
            lambda _: {"allowed": True, "patch": "[}"},
            f"{FAILED}failed to call webhook: illegal base64 data at input byte 0",
        ),
    ],
)
def test_a_failed_call_refuses_the_request_or_is_ignored(respond: Any, message: str) -> None:
    """failurePolicy says which; the text says what was wrong."""
    hooks = Hooks(v=respond)
    answer = last(hooks, validating(a_webhook("v")), CREATE)
    uid = hooks.asked[0][1]["uid"]
    assert (answer.status, answer.body["reason"]) == (500, "InternalError")
    assert answer.message.replace(uid, "UID") == message
    assert last(Hooks(v=respond), validating(a_webhook("v", failurePolicy="Ignore")), CREATE).status == 201


@pytest.mark.parametrize("configure", [mutating, validating])
def test_a_no_is_no_failure(configure: Any) -> None:
    """failurePolicy Ignore does not let through what the webhook refuses."""
    assert last(Hooks(x=deny()), configure(a_webhook("x", failurePolicy="Ignore")), CREATE).status == 400


def test_a_webhook_with_side_effects_is_not_asked_in_a_dry_run() -> None:
    """The request is refused: nobody could say what the webhook would have said."""
    dry, body = Ask("POST", f"{MAPS}?dryRun=All", MAP), a_webhook("v")
    hooks = Hooks(v=allow)
    assert last(hooks, validating({**body, "sideEffects": "NoneOnDryRun"}), dry).status == 201
    assert hooks.asked[0][1]["dryRun"] is True
    assert hooks.asked[0][1]["options"]["dryRun"] == ["All"]


def test_a_webhook_of_the_old_version_is_spoken_to_in_it() -> None:
    """v1beta1 answers need neither a uid nor a patch type."""
    encoded = base64.b64encode(b'[{"op": "add", "path": "/data/b", "value": "2"}]').decode()
    hooks = Hooks(m=lambda _: {"uid": "", "allowed": True, "patch": encoded})
    answer = last(hooks, mutating(a_webhook("m", admissionReviewVersions=["v2", "v1beta1", "v1"])), CREATE)
    assert hooks.reviews[0]["apiVersion"] == "admission.k8s.io/v1beta1"
    assert answer.body["data"] == {"a": "1", "b": "2"}


# -- changes ----------------------------------------------------------------------------------------------------------


def test_patches_change_the_object_and_the_next_webhook_sees_that() -> None:
    """Configurations are asked in the order of their names, whatever the order they came in."""
    hooks = Hooks(a=patch(add("/data/b", "2")), z=patch(add("/data/c", "3")))
    answer = last(hooks, mutating(a_webhook("z"), name="2"), mutating(a_webhook("a"), name="1"), CREATE)
    assert answer.body["data"] == {"a": "1", "b": "2", "c": "3"}
    assert hooks.asked[1][1]["object"]["data"] == {"a": "1", "b": "2"}
    assert hooks.names() == ["a", "z"]


def test_a_sidecar_is_injected_with_the_defaults_of_a_container() -> None:
    """What a patch adds is filled in as if the user had sent it."""
    rule = {**RULE, "resources": ["pods"]}
    hooks = Hooks(m=patch(add("/spec/containers/-", {"name": "proxy", "image": "proxy:1"})))
    account = Ask("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
    answer = last(hooks, account, mutating(a_webhook("m", rule)), Ask("POST", PODS, POD))
    assert [one["name"] for one in answer.body["spec"]["containers"]] == ["c", "proxy"]
    assert answer.body["spec"]["containers"][1]["terminationMessagePath"] == "/dev/termination-log"


def test_what_a_webhook_makes_of_an_object_is_validated() -> None:
    """A patch cannot store what a user could not."""
    answer = last(Hooks(m=patch(add("/metadata/labels", {"a": "-"}))), mutating(a_webhook("m")), CREATE)
    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


def test_a_status_endpoint_still_only_changes_status() -> None:
    """Whatever else the webhook's patch of an update of the status does."""
    rule = {**RULE, "operations": ["UPDATE"], "apiGroups": ["apps"], "resources": ["deployments/status"]}
    hooks = Hooks(m=patch(add("/spec/replicas", 9), add("/status/replicas", 4)))
    answer = last(
        hooks,
        Ask("POST", DEPLOYMENTS, DEPLOYMENT),
        mutating(a_webhook("m", rule)),
        Ask("PATCH", f"{DEPLOYMENTS}/d/status", {"status": {"replicas": 1}}),
    )
    assert (answer.body["spec"]["replicas"], answer.body["status"]["replicas"]) == (1, 4)


def test_a_scale_may_be_changed() -> None:
    """The webhook sees a Scale, and what it makes of it is what the workload gets."""
    rule = {**RULE, "operations": ["UPDATE"], "apiGroups": ["apps"], "resources": ["deployments/scale"]}
    hooks = Hooks(m=patch({"op": "replace", "path": "/spec/replicas", "value": 5}))
    scaled = last(
        hooks,
        Ask("POST", DEPLOYMENTS, DEPLOYMENT),
        mutating(a_webhook("m", rule)),
        Ask("PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 3}}),
    )
    assert (hooks.asked[0][1]["object"]["spec"], scaled.body["spec"]) == ({"replicas": 3}, {"replicas": 5})


@pytest.mark.parametrize(
    ("respond", "message"),
    [
        (
            patch(add("/no/where", 1)),
            'Internal error occurred: add operation does not apply: doc is missing path: "/no/where": missing value',
        ),
        (
            patch({"op": "test", "path": "/data/a", "value": "2"}),
            "Internal error occurred: testing value /data/a failed: test failed",
        ),
        (
            lambda _: {"allowed": True, "patch": "e30=", "patchType": "JSONPatch"},
            f"{FAILED}received undecodable patch in webhook response: json: cannot unmarshal object into Go value of "
            "type jsonpatch.Patch",
        ),
        (
            lambda _: {"allowed": True, "patch": "W3t9XQ==", "patchType": "MergePatch"},
            f'{FAILED}unsupported patch type "MergePatch"',
        ),
        (
            lambda _: {"allowed": True, "patch": "W3t9XQ=="},
            f"{INVALID}webhook returned response.patch but not response.patchType",
        ),
        (
            lambda _: {"allowed": True, "patchType": "JSONPatch"},
            f"{INVALID}webhook returned response.patchType but not response.patch",
        ),
    ],
)
def test_a_patch_that_is_no_good_refuses_the_request(respond: Any, message: str) -> None:
    """And says why."""
    answer = last(Hooks(v=respond), mutating(a_webhook("v")), CREATE)
    assert (answer.status, answer.message) == (500, message)


def test_a_deletion_cannot_be_patched() -> None:
    """There is no new object that could be another one."""
    hooks = Hooks(m=patch(add("/data/b", "2")))
    configure = mutating(a_webhook("m", {**RULE, "operations": ["DELETE"]}))
    answer = last(hooks, CREATE, configure, Ask("DELETE", f"{MAPS}/c"))
    why = "attempted to modify the object, which is not supported for this operation"
    assert answer.message == f'Internal error occurred: admission webhook "m.example.com" {why}'


def test_an_earlier_webhook_is_asked_again_about_what_a_later_one_changed() -> None:
    """Once more, and only where its reinvocationPolicy is IfNeeded."""
    hooks = Hooks(a=allow, b=allow, c=patch(add("/data/c", "3")))
    again = {"reinvocationPolicy": "IfNeeded"}
    last(hooks, mutating(a_webhook("a", **again), a_webhook("b"), a_webhook("c", **again)), CREATE)
    assert hooks.names() == ["a", "b", "c", "a"]
    assert hooks.asked[-1][1]["object"]["data"] == {"a": "1", "c": "3"}


def test_fields_a_webhook_sets_are_nobodys() -> None:
    """Managers own what they sent, as upstream counts them before webhooks are asked."""
    answer = last(Hooks(m=patch(add("/data/b", "2"))), mutating(a_webhook("m")), CREATE)
    assert answer.body["metadata"]["managedFields"][0]["fieldsV1"] == {"f:data": {".": {}, "f:a": {}}}


def test_bad_entries_from_a_webhook_are_put_back() -> None:
    """The client is warned, and managers keep what is theirs."""
    bad = [{"manager": "m", "operation": "Nonsense"}]
    answer = last(Hooks(m=patch(add("/metadata/managedFields", bad))), mutating(a_webhook("m")), CREATE)
    assert answer.body["metadata"]["managedFields"][0]["operation"] == "Update"
    assert answer.warnings == [
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating "
        "admission controller; please fix your requests: operation must be `Apply` or `Update`"
    ]


def test_an_apply_goes_through_webhooks_as_everything_else() -> None:
    """It creates, and then updates."""
    hooks = Hooks(m=patch(add("/data/b", "2")))
    ask = Ask("PATCH", f"{MAPS}/c?fieldManager=me", MAP, APPLY)
    answer = last(hooks, mutating(a_webhook("m")), ask, Ask("PATCH", f"{MAPS}/c?fieldManager=me", MAP, APPLY))
    assert [request["operation"] for _, request in hooks.asked] == ["CREATE", "UPDATE"]
    assert hooks.asked[0][1]["options"]["kind"] == "CreateOptions"
    assert answer.body["data"] == {"a": "1", "b": "2"}


CRD = {
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer"},
                                    "colour": {"type": "string", "default": "red"},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


def test_custom_resources_are_shown_and_changed_too() -> None:
    """Defaults come after the patch, and what the schema does not know is dropped."""
    hooks = Hooks(m=patch(add("/spec", {"size": 3, "unknown": 1})))
    rule = {**RULE, "apiGroups": ["example.com"], "resources": ["widgets"]}
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    answer = last(
        hooks,
        Ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD),
        mutating(a_webhook("m", rule)),
        Ask("POST", "/apis/example.com/v1/namespaces/default/widgets", widget),
    )
    assert hooks.asked[0][1]["object"]["kind"] == "Widget"
    assert answer.body["spec"] == {"size": 3, "colour": "red"}


def test_the_second_round_follows_what_other_plugins_made_of_the_object() -> None:
    """A policy that changes the object after a webhook has seen it has the webhook asked again."""
    policy = {
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "reinvocationPolicy": "IfNeeded",
            "mutations": [
                {
                    "patchType": "ApplyConfiguration",
                    "applyConfiguration": {
                        "expression": "Object{metadata: Object.metadata{labels: {'n': string(size(object.data))}}}"
                    },
                }
            ],
        },
    }
    path = "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolic"
    hooks = Hooks(m=patch(add("/data/b", "2")))
    answer = last(
        hooks,
        Ask("POST", f"{path}ies", policy),
        Ask("POST", f"{path}ybindings", {"metadata": {"name": "p"}, "spec": {"policyName": "p"}}),
        mutating(a_webhook("m", reinvocationPolicy="IfNeeded")),
        CREATE,
    )
    assert [request["object"]["metadata"]["labels"] for _, request in hooks.asked] == [{"n": "1"}, {"n": "2"}]
    assert answer.body["metadata"]["labels"] == {"n": "2"}


# -- what is kept and counted -----------------------------------------------------------------------------------------


def test_a_configuration_is_followed_as_soon_as_it_is_changed() -> None:
    """The next request is judged by what was last committed."""
    hooks = Hooks(v=deny(), w=allow)
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v"
    change = Ask("PATCH", path, [{"op": "replace", "path": "/webhooks/0", "value": a_webhook("w")}], JSON_PATCH)
    answers = exchange(
        validating(a_webhook("v")), CREATE, change, CREATE, Ask("DELETE", path), webhook_transports=hooks.transport
    )
    assert [answer.status for answer in answers] == [201, 400, 200, 201, 200]
    assert hooks.names() == ["v", "w"]


def test_calls_are_counted_under_upstreams_names() -> None:
    """Requests, refusals by kind of error, and failures that were ignored."""
    hooks = Hooks(v=deny(code=403), w=lambda _: UNREACHABLE, x=allow)
    ignored = a_webhook("w", failurePolicy="Ignore")
    asks = (mutating(a_webhook("x")), validating(a_webhook("v"), ignored), CREATE, Ask("GET", "/metrics"))
    lines = exchange(*asks, webhook_transports=hooks.transport)[-1].body.splitlines()
    prefix, of = "apiserver_admission_webhook", 'operation="CREATE"'
    for line in (
        f'{prefix}_request_total{{code="200",name="x.example.com",{of},rejected="false",type="admit"}} 1',
        f'{prefix}_request_total{{code="403",name="v.example.com",{of},rejected="true",type="validating"}} 1',
        f'{prefix}_request_total{{code="503",name="w.example.com",{of},rejected="false",type="validating"}} 1',
        f'{prefix}_rejection_count{{error_type="no_error",name="v.example.com",{of},rejection_code="403",'
        'type="validating"} 1',
        f'{prefix}_fail_open_count{{name="w.example.com",type="validating"}} 1',
        f'{prefix}_admission_duration_seconds_count{{name="x.example.com",{of},rejected="false",type="admit"}} 1',
    ):
        assert line in lines


@pytest.mark.parametrize("level", ["Metadata", "Request"])
def test_the_audit_log_tells_who_changed_what(tmp_path: Path, level: str) -> None:
    """That there was a change at every level, the change itself from level Request on; and webhooks' own words."""
    hooks = Hooks(
        a=patch(add("/data/b", "2")),
        b=lambda _: UNREACHABLE,
        v=lambda _: {"allowed": True, "auditAnnotations": {"seen": "yes"}},
    )
    log = tmp_path / "audit.log"
    policy = Policy((), Verdict(level))
    exchange(
        mutating(a_webhook("a"), a_webhook("b", failurePolicy="Ignore")),
        validating(a_webhook("v")),
        CREATE,
        webhook_transports=hooks.transport,
        audit=AuditSettings(str(log), policy=policy),
    )
    events = [json.loads(line) for line in log.read_text().splitlines()]
    annotations = next(e["annotations"] for e in events if e["requestURI"] == MAPS and e["stage"] == "ResponseComplete")
    mutation, config = "mutation.webhook.admission.k8s.io", '"configuration":"m","webhook":"'
    expected = {
        f"{mutation}/round_0_index_0": f'{{{config}a.example.com","mutated":true}}',
        f"{mutation}/round_0_index_1": f'{{{config}b.example.com","mutated":false}}',
        f"failed-open.{mutation}/round_0_index_1": "b.example.com",
        "v.example.com/seen": "yes",
    }
    if level == "Request":
        patched = '"patch":[{"op":"add","path":"/data/b","value":"2"}],"patchType":"JSONPatch"'
        expected["patch.webhook.admission.k8s.io/round_0_index_0"] = f'{{{config}a.example.com",{patched}}}'
    assert {k: v for k, v in annotations.items() if "authorization" not in k} == expected


@pytest.mark.parametrize("code", [600, 999, 1000, 2**31 - 1])
def test_a_refusal_with_a_code_that_http_has_not_is_answered(code: int) -> None:
    """The client gets the webhook's Status with the code it gave, in an answer with one that there is."""
    answer = last(Hooks(v=deny("no", code=code)), validating(a_webhook("v")), CREATE)
    assert (answer.status, answer.body["code"], answer.body["message"]) == (500, code, f"{DENIED}: no")


@pytest.mark.parametrize("status", [{"code": "x"}, {"code": True}, {"code": 2**31}, {"message": 5}, {"reason": {}}])
def test_a_status_that_is_none_is_a_failed_call(status: dict[str, Any]) -> None:
    """What Go could not decode is no refusal, so failurePolicy decides."""
    refused = last(Hooks(v=deny(**status)), validating(a_webhook("v")), CREATE)
    assert "failed to call webhook: json: cannot unmarshal " in refused.body["message"]
    assert f"Go struct field Status.response.status.{next(iter(status))} of type " in refused.body["message"]
    assert last(Hooks(v=deny(**status)), validating(a_webhook("v", failurePolicy="Ignore")), CREATE).status == 201
