"""HTTP extenders: what they are asked, and what becomes of their answers."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Mapping
from typing import Any

import orjson
import pytest

from controllers.scheduler.extenders.calls import ExtenderFailed, HttpCaller
from controllers.scheduler.extenders.chain import Extenders
from controllers.scheduler.extenders.extender import Extender
from controllers.scheduler.extenders.settings import ExtenderSettings, settings_of
from kubeloop.apimachinery.meta import Object
from kubeloop.client.transport import ConnectionFailed, Request
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.fake_server import FakeServer, with_scheduler

URL = "http://extender.test/v1"
Answers = Mapping[str, Callable[[Any], Any]]


class FakeExtender:
    """Answers by verb; `questions` is what it was asked."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self.questions: list[tuple[str, Any]] = []

    async def __call__(self, verb: str, question: Any) -> Any:
        self.questions.append((verb, orjson.loads(orjson.dumps(question))))
        await asyncio.sleep(0.1)
        return self._answers[verb](question)


def extenders(fake: FakeExtender, *others: FakeExtender, **settings: Any) -> Extenders:
    entry = {"urlPrefix": URL, "weight": 1, **settings}
    return Extenders([Extender(settings_of(entry), one) for one in (fake, *others)])


def fails(question: Any) -> Any:
    raise ExtenderFailed("no luck")


def without(*names: str, why: str = "", field: str = "FailedNodes") -> Callable[[Any], Any]:
    """Lets all other nodes pass."""

    def answer(question: Any) -> Any:
        nodes = [node for node in question["Nodes"]["items"] if node["metadata"]["name"] not in names]
        return {"Nodes": {"items": nodes}, field: dict.fromkeys(names, why) if why else None}

    return answer


async def placed(server: FakeServer, pod: Object, *nodes: Object) -> tuple[str, str]:
    """The pod's node, and its message where it has none."""
    for node in nodes:
        server.put(node)
    server.put(pod)
    await server.clock.sleep(3)
    return server.node_of("p"), server.condition("p").get("message", "")


def where(fake: FakeExtender, pod: Object | None = None, **settings: Any) -> tuple[str, str]:
    """Of the nodes a and b."""
    test = lambda server: placed(server, pod or a_pod("p"), a_node("a"), a_node("b"))  # noqa: E731
    found: tuple[str, str] = with_scheduler(test, extenders=extenders(fake, **settings))
    return found


# Filter ---------------------------------------------------------------------------------------------------------------


def test_a_node_that_an_extender_refuses_is_not_taken() -> None:
    """It is shown the pod, and the nodes that pass all plugins as they are."""
    fake = FakeExtender({"filter": without("a", why="too old")})

    assert ("b", "") == where(fake, filterVerb="filter")
    ((verb, question),) = fake.questions
    assert ("filter", "p", ["a", "b"], None) == (
        verb,
        question["Pod"]["metadata"]["name"],
        [node["metadata"]["name"] for node in question["Nodes"]["items"]],
        question["NodeNames"],
    )


def test_an_extender_that_knows_the_nodes_is_told_their_names() -> None:
    """nodeCacheCapable; field names of the answer are read in any case, as Go reads them."""
    fake = FakeExtender({"filter": lambda question: {"nodeNames": question["NodeNames"][1:]}})

    node, _ = where(fake, filterVerb="filter", nodeCacheCapable=True)

    asked = fake.questions[0][1]
    assert (asked["NodeNames"][1], None) == (node, asked["Nodes"])


@pytest.mark.parametrize(
    ("field", "helps"), [("FailedNodes", "No preemption victims found"), ("FailedAndUnresolvableNodes", "not helpful")]
)
def test_refusals_are_told_and_say_whether_preemption_would_help(field: str, helps: str) -> None:
    """In FailedScheduling, beside those of plugins."""
    _, message = where(FakeExtender({"filter": without("a", "b", why="too old", field=field)}), filterVerb="filter")

    assert message.startswith("0/2 nodes are available: 2 too old. ") and helps in message


def test_a_pod_that_an_extender_refused_is_tried_again_after_any_event() -> None:
    """Nobody knows what it waits for; the plugins that refused it for other nodes would leave it alone."""
    refuses = ["a"]
    fake = FakeExtender(
        {"filter": lambda question: without("a")(question) if refuses else {"Nodes": question["Nodes"]}}
    )

    async def test(server: FakeServer) -> tuple[str, str]:
        pod = a_pod("p").node_selector(disk="ssd")
        before, _ = await placed(server, pod, a_node("a").labels(disk="ssd"), a_node("b"))
        refuses.clear()
        server.put(a_pod("other").on("a"))
        await server.clock.sleep(5)
        return before, server.node_of("p")

    assert ("", "a") == with_scheduler(test, extenders=extenders(fake, filterVerb="filter"))


def test_an_extender_that_fails_costs_the_attempt_unless_it_may_be_ignored() -> None:
    """SchedulerError, with its words; `ignorable` ones are passed over."""
    assert ("", "no luck") == where(FakeExtender({"filter": fails}), filterVerb="filter")
    node, _ = where(FakeExtender({"filter": fails}), filterVerb="filter", ignorable=True)
    assert node in ("a", "b")


def test_nodes_that_nobody_asked_about_are_no_answer() -> None:
    """As kube-scheduler says it."""
    fake = FakeExtender({"filter": lambda question: {"NodeNames": ["c"]}})

    _, message = where(fake, filterVerb="filter", nodeCacheCapable=True)

    claimed = 'claims a filtered node "c" which is not found in the input node list'
    assert f'extender "{URL}" {claimed}' == message


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([], "json: cannot unmarshal array into Go value of type v1.ExtenderFilterResult"),
        (
            {"NodeNames": "a"},
            "cannot unmarshal string into Go struct field ExtenderFilterResult.NodeNames of type []string",
        ),
        (
            {"NodeNames": [1]},
            "cannot unmarshal number into Go struct field ExtenderFilterResult.NodeNames of type string",
        ),
        (
            {"FailedNodes": [True]},
            "cannot unmarshal array into Go struct field ExtenderFilterResult.FailedNodes of type map",
        ),
        ({"Error": {}}, "cannot unmarshal object into Go struct field ExtenderFilterResult.Error of type string"),
        ({"Error": "no idea"}, "no idea"),
        (None, "0/2 nodes are available: no new claims"),
    ],
)
def test_answers_of_another_shape_are_refused_in_gos_words(answer: Any, said: str) -> None:
    """They cost the pod its attempt; null is an empty answer, which lets no node pass."""
    fake = FakeExtender({"filter": lambda question: answer})

    _, message = where(fake, filterVerb="filter", nodeCacheCapable=True)

    assert said in message
    assert where(fake, filterVerb="filter", nodeCacheCapable=True, ignorable=True)[0] or answer is None


def test_ignorable_extenders_come_last() -> None:
    """Each sees what those before it left."""
    first, last = (FakeExtender({"filter": without(name)}) for name in "ab")
    made = [
        Extender(settings_of({"urlPrefix": URL, "filterVerb": "filter", "ignorable": is_ignorable}), fake)
        for is_ignorable, fake in ((True, last), (False, first))
    ]

    with_scheduler(lambda server: placed(server, a_pod("p"), a_node("a"), a_node("b")), extenders=Extenders(made))

    assert [["a", "b"], ["b"]] == [
        [node["metadata"]["name"] for node in fake.questions[0][1]["Nodes"]["items"]] for fake in (first, last)
    ]


# Resources ------------------------------------------------------------------------------------------------------------


def test_only_pods_that_want_its_resources_are_its_affair() -> None:
    """managedResources, in requests or limits of any container."""
    fake = FakeExtender({"filter": without("a", "b")})
    settings = {"filterVerb": "filter", "managedResources": [{"name": "example.com/foo"}]}

    wanting = a_pod("p")
    wanting["spec"]["containers"][0]["resources"] = {"limits": {"example.com/foo": "1"}}

    node, _ = where(fake, **settings)
    refused, _ = where(fake, wanting, **settings)

    assert (True, "") == (node in ("a", "b"), refused)


# Prioritize -----------------------------------------------------------------------------------------------------------


def points(**by_node: int) -> Callable[[Any], Any]:
    return lambda question: [{"Host": name, "Score": score} for name, score in by_node.items()]


@pytest.mark.parametrize(
    ("answer", "weight", "expected"),
    [(points(a=2), 1, "b"), (points(a=2), 10, "a"), (points(c=9), 9, "b"), (points(a=True), 9, "b"), (fails, 9, "b")],
)
def test_points_count_beside_those_of_plugins(answer: Callable[[Any], Any], weight: int, expected: str) -> None:
    """Times weight, and ten, as an extender gives ten at most; those of one that fails are none, ignorable or not."""

    async def test(server: FakeServer) -> tuple[str, str]:
        server.put(a_pod("other").requests(cpu="3").on("a"))
        return await placed(server, a_pod("p"), a_node("a"), a_node("b"))

    fake = FakeExtender({"prioritize": answer})
    node, _ = with_scheduler(test, extenders=extenders(fake, prioritizeVerb="prioritize", weight=weight))

    assert expected == node


def test_points_of_extenders_at_one_address_add_up() -> None:
    """What the second says does not replace what the first has said."""

    async def test(server: FakeServer) -> tuple[str, str]:
        server.put(a_pod("other").requests(cpu="3").on("a"))
        return await placed(server, a_pod("p"), a_node("a"), a_node("b"))

    fakes = [FakeExtender({"prioritize": answer}) for answer in (points(a=9), points(a=0))]
    node, _ = with_scheduler(test, extenders=extenders(*fakes, prioritizeVerb="prioritize", weight=9))

    assert "a" == node


# Preempt and bind -----------------------------------------------------------------------------------------------------


def full(server: FakeServer) -> None:
    for name in "ab":
        server.put(a_node(name))
        server.put(a_pod(f"low-{name}").requests(cpu="4").on(name))


def meta(**victims: list[str]) -> Any:
    return {"NodeNameToMetaVictims": {node: {"Pods": [{"UID": uid} for uid in uids]} for node, uids in victims.items()}}


@pytest.mark.parametrize("allowed", ["a", "b"])
def test_an_extender_chooses_among_the_nodes_for_a_preemption(allowed: str) -> None:
    """It is shown all that would do, and answers with uids."""

    def agree(question: Any) -> Any:
        victims = question["NodeNameToVictims"][allowed]["Pods"]
        return meta(**{allowed: [victim["metadata"]["uid"] for victim in victims]})

    async def test(server: FakeServer) -> str:
        full(server)
        server.put(a_pod("p").requests(cpu="4").spec(priority=9))
        await server.clock.sleep(5)
        return server.node_of("p")

    assert allowed == with_scheduler(test, extenders=extenders(FakeExtender({"preempt": agree}), preemptVerb="preempt"))


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({}, "no new claims to deallocate, preemption: no candidate node for preemption"),
        (meta(a=[]), 'preemption: expected at least one victim pod on node "a"'),
        (meta(c=["x"]), 'preemption: nodeinfo not found for node name "c"'),
        (meta(a=["x"]), "on node: a, but the pod is not found on that node"),
    ],
)
def test_nobody_is_removed_where_an_extender_does_not_agree(answer: Any, said: str) -> None:
    """What it answered is told."""

    async def test(server: FakeServer) -> tuple[str, str]:
        full(server)
        server.put(a_pod("p").requests(cpu="4").spec(priority=9))
        await server.clock.sleep(0.9)
        return server.condition("p")["message"], server.node_of("low-a")

    fake = FakeExtender({"preempt": lambda question: answer})
    message, victim = with_scheduler(test, extenders=extenders(fake, preemptVerb="preempt"))

    assert said in message
    assert "a" == victim


def test_an_extender_may_bind() -> None:
    """Instead of DefaultBinder; its error is the binding's."""
    errors = [{"Error": "not today"}, {}]
    fake = FakeExtender({"bind": lambda question: errors.pop(0)})

    async def test(server: FakeServer) -> tuple[str, int]:
        server.put(a_node("a"))
        server.put(a_pod("p"))
        await server.clock.sleep(0.9)
        said = server.condition("p")["message"]
        await server.clock.sleep(5)
        return said, server.most_bindings

    assert ("not today", 0) == with_scheduler(test, extenders=extenders(fake, bindVerb="bind"))
    asked = {"PodName": "p", "PodNamespace": "default", "PodUID": "uid-2", "Node": "a"}
    assert [("bind", asked)] * 2 == fake.questions


def test_a_pod_that_is_bound_by_others_meanwhile_is_left_alone() -> None:
    """The scheduler waits for the extender; the world does not."""
    fake = FakeExtender({"filter": lambda question: {"Nodes": question["Nodes"]}})

    async def test(server: FakeServer) -> tuple[str, str]:
        server.put(a_node("a"))
        server.put(a_pod("p"))
        await server.clock.sleep(0.05)
        server.put({**server.pod("p"), "spec": {**server.pod("p")["spec"], "nodeName": "elsewhere"}})
        await server.clock.sleep(2)
        server.put(a_pod("q"))
        await server.clock.sleep(2)
        return server.node_of("p"), server.node_of("q")

    assert ("elsewhere", "a") == with_scheduler(test, extenders=extenders(fake, filterVerb="filter"))


# Calls ----------------------------------------------------------------------------------------------------------------


class FakeTransport:
    def __init__(
        self, status: int = 200, body: bytes = b"{}", seconds: float = 0, fails: Exception | None = None
    ) -> None:
        self.status, self.content_type, self._body, self._seconds, self._fails = status, "", body, seconds, fails
        self.requests: list[Request] = []

    async def send(self, request: Request) -> Any:
        self.requests.append(request)
        await asyncio.sleep(self._seconds)
        if self._fails is not None:
            raise ConnectionFailed("cut") from self._fails
        return self

    async def read(self) -> bytes:
        return self._body

    async def aclose(self) -> None: ...


def not_verified(code: int) -> ssl.SSLCertVerificationError:
    error = ssl.SSLCertVerificationError()
    error.verify_code, error.verify_message = code, "it has a fault"
    return error


def called(transport: FakeTransport) -> Any:
    return asyncio.run(HttpCaller(ExtenderSettings(f"{URL}/", timeout_seconds=0.01), transport)("filter", {"a": 1}))


def test_a_question_is_a_post_of_json() -> None:
    transport = FakeTransport(body=b'{"b": 2}')

    assert {"b": 2} == called(transport)
    (request,) = transport.requests
    assert ("POST", "/filter", b'{"a":1}') == (request.method, request.target, request.body)


@pytest.mark.parametrize(
    ("transport", "said"),
    [
        (FakeTransport(status=500), f"failed filter with extender at URL {URL}/filter, code 500"),
        (FakeTransport(body=b""), "EOF"),
        (FakeTransport(body=b"<html>"), "invalid answer to filter"),
        (FakeTransport(seconds=9), f'Post "{URL}/filter": context deadline exceeded (Client.Timeout exceeded'),
        (
            FakeTransport(fails=ConnectionRefusedError(111, "refused")),
            f'Post "{URL}/filter": dial tcp extender.test:80: connect: connection refused',
        ),
        (
            FakeTransport(fails=not_verified(18)),
            f'Post "{URL}/filter": tls: failed to verify certificate: x509: certificate signed by unknown authority',
        ),
        (
            FakeTransport(fails=not_verified(10)),
            f'Post "{URL}/filter": tls: failed to verify certificate: x509: it has a fault',
        ),
        (FakeTransport(fails=EOFError()), f'Post "{URL}/filter": EOF'),
    ],
)
def test_what_is_no_answer_is_told_in_gos_words(transport: FakeTransport, said: str) -> None:
    with pytest.raises(ExtenderFailed) as failed:
        called(transport)

    assert str(failed.value).startswith(said)
