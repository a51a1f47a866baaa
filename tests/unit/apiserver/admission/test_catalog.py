"""Which admission plugins are on: the defaults, and what the two flags make of them."""

from __future__ import annotations

import pytest

from apiserver.admission.catalog import DEFAULT_ON, PLUGINS, PluginFlagError, enabled


def test_without_flags_the_default_plugins_are_on() -> None:
    """Nothing asked for, nothing changed; and some plugins are off until somebody wants them."""
    assert enabled() == DEFAULT_ON
    assert "NamespaceLifecycle" in DEFAULT_ON
    assert "AlwaysPullImages" not in DEFAULT_ON


def test_flags_add_and_take_away() -> None:
    """One flag switches on beside the defaults, the other switches defaults off."""
    names = enabled(["AlwaysPullImages"], ["PodSecurity", "LimitRanger"])

    assert names == (DEFAULT_ON | {"AlwaysPullImages"}) - {"PodSecurity", "LimitRanger"}


@pytest.mark.parametrize(
    ("enable", "disable", "said"),
    [
        (["EventRateLimit"], [], 'couldn\'t init admission plugin "EventRateLimit": no config specified'),
        (["Nope"], [], 'enable-admission-plugins plugin "Nope" is unknown'),
        ([], ["nope"], 'disable-admission-plugins plugin "nope" is unknown'),
        (
            ["Priority", "LimitRanger"],
            ["LimitRanger", "Priority"],
            "[LimitRanger Priority] in enable-admission-plugins and disable-admission-plugins overlapped",
        ),
        (
            ["A"],
            ["B"],
            '[enable-admission-plugins plugin "A" is unknown, disable-admission-plugins plugin "B" is unknown]',
        ),
        ([], ["RbacEscalation"], 'disable-admission-plugins plugin "RbacEscalation" is unknown'),
    ],
)
def test_flags_that_make_no_sense_are_refused(enable: list[str], disable: list[str], said: str) -> None:
    """Unknown names and contradictions, in the real server's words; what is no plugin there cannot be named."""
    with pytest.raises(PluginFlagError) as refused:
        enabled(enable, disable)

    assert said == str(refused.value)


def test_a_name_means_one_plugin() -> None:
    """No name stands twice in the tuple."""
    names = [entry.name for entry in PLUGINS]

    assert sorted(set(names)) == sorted(names)
