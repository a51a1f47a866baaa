"""What keeps a pod from starting is told as long as it does."""

from __future__ import annotations

from kubelet_sim.complaints import FIRST_SECONDS, MOST_SECONDS
from tests.unit.kubelet_sim.played_pod import PlayedPod, a_container, a_pod

MISSING = 'configmap "x" not found'


def told(pod: PlayedPod, message: str) -> int:
    return sum(said.endswith(message) for said in pod.told)


def misconfigured() -> PlayedPod:
    pod = PlayedPod(a_pod())
    pod.runtime = pod.runtime._replace(config_errors={"c": MISSING})
    return pod


def test_an_error_is_told_again_after_growing_pauses() -> None:
    """Ten seconds at first, two minutes at most; the image is looked for with every try."""
    pod = misconfigured()

    counts = []
    for seconds in (5, 15, 35, 75, 160, 160 + 600):
        pod.until(seconds)
        counts.append(told(pod, f"Error: {MISSING}"))

    assert [1, 2, 3, 4, 5, 9] == counts
    assert 8 == told(pod, "already present on machine and can be accessed by the pod")
    assert (10, 122) == (FIRST_SECONDS, MOST_SECONDS)


def test_what_is_mended_is_told_no_more() -> None:
    """And a new error has its own pauses."""
    pod = misconfigured()
    pod.until(40)
    pod.runtime = pod.runtime._replace(config_errors={})

    pod.until(400)

    assert 3 == told(pod, f"Error: {MISSING}")
    assert pod.runtime.complaint is None


def test_volumes_and_images_are_complained_of_too() -> None:
    """Each with what was told first."""
    unmounted, unreadable = PlayedPod(a_pod()), PlayedPod(a_pod(a_container(image="UPPER")))
    why = 'MountVolume.SetUp failed for volume "v" : configmap "x" not found'
    unmounted.runtime = unmounted.runtime._replace(mount_errors=(why,))

    unmounted.until(35), unreadable.until(35)

    assert (2, 3) == (told(unmounted, why), told(unreadable, "Error: InvalidImageName"))


def test_a_pod_that_is_to_end_complains_no_more() -> None:
    """Nor does one that runs."""
    ending, running = misconfigured(), PlayedPod(a_pod())
    ending.until(5)
    ending.delete()
    before = told(ending, f"Error: {MISSING}")

    ending.until(300), running.until(300)

    assert before == told(ending, f"Error: {MISSING}")
    assert running.runtime.complaint is None
