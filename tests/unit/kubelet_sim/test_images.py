"""Images that are not asked for: names that nobody can read, those that must not be pulled, those that are there."""

from __future__ import annotations

import pytest

from kubelet_sim import images
from kubeloop.apimachinery.meta import Object
from tests.unit.kubelet_sim.played_pod import PULL_SECONDS, PlayedPod, a_container, a_pod, state_of

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "image",
    [
        "busybox",
        "busybox:1.36",
        "library/busybox",
        "localhost:5000/team/app:v1",
        "registry.example.com/a/b-c__d.e:latest",
        "Registry/app",  # a registry: repositories are in lower case
        f"app@sha256:{HEX}",
        f"app:v1@sha256:{HEX}",
        "[::1]:5000/app",
    ],
)
def test_a_name_that_the_registry_could_know_is_asked_for(image: str) -> None:
    """With a registry, a port, a tag, a digest, or none of them."""
    assert "" == images.name_error(image)


@pytest.mark.parametrize(
    ("image", "why"),
    [
        ("UPPER", "invalid reference format: repository name (library/UPPER) must be lowercase"),
        ("example.com/App:1", "invalid reference format: repository name (App) must be lowercase"),
        ("app:1:2", "invalid reference format"),
        ("app:", "invalid reference format"),
        ("-app", "invalid reference format"),
        ("app name", "invalid reference format"),
        ("https://example.com/app", "invalid reference format"),
        (HEX, f"invalid repository name ({HEX}), cannot specify 64-byte hexadecimal strings"),
        ("app@sha256:" + "a" * 40, "invalid checksum digest length"),
        ("app@md5:" + "a" * 32, "unsupported digest algorithm"),
        ("example.com/" + "a" * 256, "repository name must not be more than 255 characters"),
    ],
)
def test_a_name_that_cannot_be_read_says_why(image: str, why: str) -> None:
    """In the words of the parser that container runtimes share."""
    message = f'Failed to apply default image tag "{image}": couldn\'t parse image name "{image}": {why}'
    assert message == images.name_error(image)


def test_a_container_with_such_a_name_waits_until_it_is_mended() -> None:
    """InvalidImageName, told as InspectFailed and Failed; nothing is pulled before."""
    played = PlayedPod(a_pod(a_container(image="UPPER")))

    status = played.until(1)
    told, played.told = played.told, []
    played.obj["spec"]["containers"][0]["image"] = "lower"

    why = images.name_error("UPPER")
    assert {"reason": "InvalidImageName", "message": why} == status["containerStatuses"][0]["state"]["waiting"]
    assert [f"InspectFailed: {why}", "Failed: Error: InvalidImageName"] == told
    assert "running" == state_of(played.until(2))
    assert 'Pulling: Pulling image "lower"' == played.told[0]


def test_an_image_that_must_not_be_pulled_is_there() -> None:
    """Somebody has brought it to the node, as with the images that are made on this machine: nothing is pulled."""
    played = PlayedPod(a_pod(a_container(imagePullPolicy="Never")))

    assert "running" == state_of(played.until(1))
    there = 'Container image "web:1" already present on machine and can be accessed by the pod'
    assert f"Pulled: {there}" == played.told[0]


def test_an_image_that_must_not_be_pulled_and_is_said_to_be_absent() -> None:
    """ErrImageNeverPull, until the container is given another."""
    played = PlayedPod(a_pod(a_container(image="does-not-exist", imagePullPolicy="Never")))

    status = played.until(1)
    told, played.told = played.told, []
    played.obj["spec"]["containers"][0]["image"] = "web:1"

    why = 'Container image "does-not-exist" is not present with pull policy of Never'
    assert {"reason": "ErrImageNeverPull", "message": why} == status["containerStatuses"][0]["state"]["waiting"]
    assert [f"ErrImageNeverPull: {why}", "Failed: Error: ErrImageNeverPull"] == told
    assert "running" == state_of(played.until(2))


@pytest.mark.parametrize(("policy", "is_pulled"), [("Always", True), ("IfNotPresent", False)])
def test_a_restart_pulls_again_where_the_policy_says_always(policy: str, is_pulled: bool) -> None:
    """Otherwise the image is there."""
    failing = a_container(imagePullPolicy=policy, command=["sh", "-c", "exit 1"])
    played = PlayedPod(a_pod(failing))

    played.until(1.25)

    assert (2 if is_pulled else 1) == played.told.count('Pulling: Pulling image "web:1"')


def test_an_image_is_pulled_before_the_rest_of_a_container_is_looked_at() -> None:
    """That a config map is missing is told after that its image is there."""
    played = PlayedPod(a_pod())
    played.runtime = played.runtime._replace(config_errors={"c": "no"})

    assert "CreateContainerConfigError" == state_of(played.until(1))
    assert ["Pulling", "Pulled", "Failed"] == [one.partition(":")[0] for one in played.told]


@pytest.mark.parametrize("image", ["web", "web:latest", "library/web", "docker.io/web", "index.docker.io/library/web"])
def test_an_image_has_one_whole_name(image: str) -> None:
    """However much of it is left out; the short one that pods use is told, too."""
    assert "docker.io/library/web:latest" == images.reference(image)
    assert ["docker.io/library/web:latest", "web:latest"] == images.names(images.reference(image))


def test_an_image_elsewhere_is_called_as_it_is() -> None:
    """Ports are no tags, and what has a digest needs none."""
    assert "localhost:5000/web:latest" == images.reference("localhost:5000/web")
    assert f"quay.io/web@sha256:{HEX}" == images.reference(f"quay.io/web@sha256:{HEX}")
    assert ["quay.io/web:1"] == images.names("quay.io/web:1")
    assert ["docker.io/team/web:1", "team/web:1"] == images.names("docker.io/team/web:1")


def a_pod_whose_image_is_there(*containers: Object) -> PlayedPod:
    played = PlayedPod(a_pod(*containers))
    played.runtime = played.runtime._replace(images=frozenset({"docker.io/library/web:1"}))
    return played


def test_an_image_that_is_there_is_not_waited_for() -> None:
    """Its pod is created first, which shows, and runs long before an image could have been pulled."""
    played = a_pod_whose_image_is_there()

    assert "ContainerCreating" == state_of(played.until(0))
    assert "running" == state_of(played.until(PULL_SECONDS / 2))
    there = 'Container image "web:1" already present on machine and can be accessed by the pod'
    assert [f"Pulled: {there}", "Created: Container created", "Started: Container started"] == played.told


def test_the_policy_always_pulls_all_the_same() -> None:
    """As a kubelet that asks the registry every time."""
    played = a_pod_whose_image_is_there(a_container(imagePullPolicy="Always"))

    assert "ContainerCreating" == state_of(played.until(PULL_SECONDS / 2))
    assert "running" == state_of(played.until(PULL_SECONDS))
    assert 'Pulling: Pulling image "web:1"' == played.told[0]


def test_containers_of_a_pod_share_an_image() -> None:
    """It is pulled for the first of them; the other starts with it."""
    played = PlayedPod(a_pod(a_container("a"), a_container("b")))

    assert ["ContainerCreating"] * 2 == [state_of(played.until(PULL_SECONDS / 2), name) for name in "ab"]
    assert ["running"] * 2 == [state_of(played.until(PULL_SECONDS), name) for name in "ab"]
    assert 1 == played.told.count('Pulling: Pulling image "web:1"')
    assert ["Successfully", "Container"] == [one.split()[1] for one in played.told if one.startswith("Pulled:")]


def test_an_image_that_cannot_be_had_is_asked_for_by_every_container() -> None:
    """None of them waits for another one's."""
    played = PlayedPod(a_pod(a_container("a", image="invalid"), a_container("b", image="invalid")))

    assert ["ErrImagePull"] * 2 == [state_of(played.until(PULL_SECONDS), name) for name in "ab"]
