"""Choosing among the control loops."""

import subprocess
import sys

import pytest

from controllers import catalog
from kubeloop.apimachinery.releases import RELEASES

ALL = [loop.name for loop in catalog.LOOPS]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("*", ALL),
        ("deployment", ["deployment-controller"]),
        ("replicaset-controller,deployment", ["deployment-controller", "replicaset-controller"]),
        ("*,-deployment", [name for name in ALL if name != "deployment-controller"]),
        ("-deployment,deployment", []),
        ("deployment,-deployment", ["deployment-controller"]),
    ],
)
def test_the_flag_chooses(wanted: str, expected: list[str]) -> None:
    """By name or alias, all, or all but some; the first word about a loop wins, the catalog's order is kept."""
    assert expected == [loop.name for loop in catalog.select(wanted.split(","))]


def test_a_loop_nobody_knows_is_refused() -> None:
    """The message names the word and what there is."""
    with pytest.raises(catalog.UnknownLoop, match=r"'-nonsense' is not in the list of known controllers .*deployment"):
        catalog.select(["*", "-nonsense"])


def test_a_loop_for_what_a_version_does_not_serve_is_left_out() -> None:
    """Device claims, their devices and VolumeAttributesClasses are served from 1.34 on; others never know of them."""
    missing = {release: [loop.name for loop in catalog.LOOPS if not loop.is_for(release)] for release in RELEASES}

    expected = [
        "device-taint-eviction-controller",
        "resourceclaim-controller",
        "volumeattributesclass-protection-controller",
    ]
    assert expected == sorted(missing.pop("1.33"))
    assert not any(missing.values())


def test_what_few_need_is_not_loaded_at_the_start() -> None:
    """Cryptography and the compiler of expressions take 160 ms together: they wait for the first who needs them."""
    program = (
        "import sys, controllers.__main__; "
        "print([m for m in sys.modules if m.startswith(('cryptography', 'kubeloop.cel', 're2'))])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()


def test_names_are_told_apart() -> None:
    """No two loops answer to the same word."""
    words = [word for loop in catalog.LOOPS for word in {loop.name, loop.alias}]

    assert sorted(set(words)) == sorted(words)
