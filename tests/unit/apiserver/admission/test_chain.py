"""The chain: order, phases, and what a plugin is asked."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.admission.chain import CREATE, DELETE, UPDATE, Attributes, Chain, Plugin
from kubeloop.apimachinery.errors import Forbidden
from kubeloop.apimachinery.resource import CONFIG_MAPS, PODS


class Recording(Plugin):
    """Writes down what it is asked."""

    def __init__(self, name: str, log: list[str]) -> None:
        self._name, self._log = name, log

    async def admit(self, attributes: Attributes) -> None:
        self._log.append(f"admit {self._name}")

    async def validate(self, attributes: Attributes) -> None:
        self._log.append(f"validate {self._name}")


class OnlyPods(Recording):
    operations = frozenset({CREATE})
    resources = frozenset({"pods"})


class Refusing(Plugin):
    async def admit(self, attributes: Attributes) -> None:
        raise attributes.forbidden("no")


def test_plugins_run_in_order_and_in_two_phases() -> None:
    """All admit in order, then all validate in order."""
    log: list[str] = []
    chain = Chain([Recording("a", log), Recording("b", log)])
    attributes = Attributes(CREATE, PODS, object={})

    asyncio.run(chain.mutate(attributes))
    asyncio.run(chain.validate(attributes))

    assert ["admit a", "admit b", "validate a", "validate b"] == log


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (Attributes(CREATE, PODS, object={}), ["admit p"]),
        (Attributes(UPDATE, PODS, object={}), []),
        (Attributes(DELETE, PODS), []),
        (Attributes(CREATE, CONFIG_MAPS, object={}), []),
    ],
)
def test_a_plugin_is_asked_about_its_own_kind_of_writes(attributes: Attributes, expected: list[str]) -> None:
    """operations and resources say which writes a plugin sees."""
    log: list[str] = []

    asyncio.run(Chain([OnlyPods("p", log)]).mutate(attributes))

    assert expected == log


def test_the_first_refusal_ends_it() -> None:
    """Plugins after a refusal are not asked."""
    log: list[str] = []
    chain = Chain([Refusing(), Recording("late", log)])

    with pytest.raises(Forbidden):
        asyncio.run(chain.mutate(Attributes(CREATE, PODS, object={})))

    assert [] == log


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (Attributes(CREATE, PODS, name="a"), 'pods "a" is forbidden: why'),
        (Attributes(CREATE, PODS, object={"metadata": {"name": "b"}}), 'pods "b" is forbidden: why'),
        (Attributes(CREATE, PODS, object={"metadata": {"generateName": "w-"}}), 'pods "w-" is forbidden: why'),
        (Attributes(CREATE, PODS, object={}), 'pods "Unknown" is forbidden: why'),
    ],
)
def test_a_refusal_names_the_object(attributes: Attributes, expected: str) -> None:
    """A name to be generated is named by its prefix."""
    assert expected == attributes.forbidden("why").message


class Touching(Recording):
    """Wants the chain to run again, whenever it is asked."""

    async def admit(self, attributes: Attributes) -> None:
        await super().admit(attributes)
        attributes.reinvocation.wanted = True


def test_the_chain_runs_once_more_where_a_plugin_wants_it() -> None:
    """Every plugin admits a second time, and no plugin a third."""
    log: list[str] = []

    asyncio.run(Chain([Recording("a", log), Touching("b", log)]).mutate(Attributes(CREATE, PODS, object={})))

    assert ["admit a", "admit b"] * 2 == log
