"""What people are told of a pod, above all when a container changes its state: a kubelet's words (v1.36)."""

from __future__ import annotations

from collections.abc import Sequence

from kubelet_sim import images, moments, probe_words, probing, restarts
from kubelet_sim.probes import Kind
from kubelet_sim.probing import Check
from kubelet_sim.scene import Scene
from kubelet_sim.state import ContainerSpec, Happening, Role

INVALID_NAME = "InvalidImageName"
SANDBOX_CHANGED = Happening("Normal", "SandboxChanged", "Pod sandbox changed, it will be killed and re-created.")


def pulling(scene: Scene) -> Sequence[Happening]:
    if scene.spec.is_real or moments.is_image_present(scene) or moments.is_image_refused(scene):
        return ()
    return _pulling(scene)


def _pulling(scene: Scene) -> Sequence[Happening]:
    return (begins_pull(scene.spec.image, scene.spec),)


def begins_pull(image: str, spec: ContainerSpec | None = None) -> Happening:
    """`spec`: of the container that it is for; one of a volume is the pod's. So with those that follow."""
    return Happening("Normal", "Pulling", f'Pulling image "{image}"', spec)


def image_refused(scene: Scene) -> Sequence[Happening]:
    reason, _ = refusal(scene.spec.image)
    return refused(scene.spec.image, scene.spec), Happening("Warning", "Failed", f"Error: {reason}", scene.spec)


def refused(image: str, spec: ContainerSpec | None = None) -> Happening:
    reason, message = refusal(image)
    return Happening("Warning", "InspectFailed" if reason == INVALID_NAME else reason, message, spec)


def refusal(image: str) -> tuple[str, str]:
    """Reason and message of an image that is not asked for."""
    error = images.name_error(image)
    return (INVALID_NAME, error) if error else ("ErrImageNeverPull", images.never_pulled(image))


def pull_failed(scene: Scene) -> Sequence[Happening]:
    error = Happening("Warning", "Failed", "Error: ErrImagePull", scene.spec)
    return not_pulled(scene.spec.image, scene.spec), error


def not_pulled(image: str, spec: ContainerSpec | None = None) -> Happening:
    return Happening("Warning", "Failed", f'Failed to pull image "{image}": {pull_error(image)}', spec)


def pull_backoff(scene: Scene) -> Sequence[Happening]:
    error = Happening("Warning", "Failed", "Error: ImagePullBackOff", scene.spec)
    return backs_off(scene.spec.image, scene.spec), error


def backs_off(image: str, spec: ContainerSpec | None = None) -> Happening:
    return Happening("Normal", "BackOff", f'Back-off pulling image "{image}"', spec)


def config_error(scene: Scene) -> Sequence[Happening]:
    failed = _misconfigured(scene)
    return (failed,) if scene.spec.is_real else (_pulled(scene), failed)


def still_misconfigured(scene: Scene) -> Sequence[Happening]:
    """With every try the image is looked for again."""
    failed = _misconfigured(scene)
    if scene.spec.is_real:
        return (failed,)
    return (
        (*_pulling(scene), _newly_pulled(scene), failed) if scene.spec.is_always_pulled else (_present(scene), failed)
    )


def _misconfigured(scene: Scene) -> Happening:
    return Happening("Warning", "Failed", f"Error: {scene.runtime.config_errors[scene.spec.name]}", scene.spec)


def first_start(scene: Scene) -> Sequence[Happening]:
    return restart(scene) if scene.spec.is_real else (_pulled(scene), *_started(scene))


def _pulled(scene: Scene) -> Happening:
    if scene.container.has_image:
        return _present(scene)
    return _newly_pulled(scene)


def _newly_pulled(scene: Scene) -> Happening:
    return newly_pulled(scene.spec.image, scene.runtime.pull_seconds, scene.spec)


def newly_pulled(image: str, pull_seconds: float, spec: ContainerSpec | None = None) -> Happening:
    size, duration = images.size_bytes(images.reference(image)), _spelled(pull_seconds)
    message = (
        f'Successfully pulled image "{image}" in {duration} ({duration} including waiting). Image size: {size} bytes.'
    )
    return Happening("Normal", "Pulled", message, spec)


def restart(scene: Scene) -> Sequence[Happening]:
    """Its image is pulled again where the policy says so, and is there otherwise."""
    if scene.spec.is_always_pulled:
        return (*_pulling(scene), _newly_pulled(scene), *_started(scene))
    return (_present(scene), *_started(scene))


def _present(scene: Scene) -> Happening:
    return is_present(scene.spec.image, scene.spec)


def is_present(image: str, spec: ContainerSpec | None = None) -> Happening:
    message = f'Container image "{image}" already present on machine and can be accessed by the pod'
    return Happening("Normal", "Pulled", message, spec)


def _started(scene: Scene) -> Sequence[Happening]:
    created = Happening("Normal", "Created", "Container created", scene.spec)
    return (created,) if scene.spec.is_real else (created, started(scene.spec))


def started(spec: ContainerSpec) -> Happening:
    return Happening("Normal", "Started", "Container started", spec)


def start_failed(spec: ContainerSpec, why: str) -> Happening:
    return Happening("Warning", "Failed", f"Error: {why}", spec)


def hook_failed(scene: Scene) -> Sequence[Happening]:
    return (
        Happening("Warning", "FailedPostStartHook", "PostStartHook failed", scene.spec),
        Happening("Normal", "Killing", "FailedPostStartHook", scene.spec),
    )


def replaced(scene: Scene) -> Sequence[Happening]:
    if moments.replaced_at(scene) is None or scene.runtime.stopping_since:
        return ()
    message = f"Container {scene.spec.name} definition changed, will be restarted"
    return (Happening("Normal", "Killing", message, scene.spec),)


def checked(scene: Scene, kind: Kind) -> Sequence[Happening]:
    check = probing.next_check(scene, kind)
    return failed_check(scene, kind, check) if check else ()


def failed_check(scene: Scene, kind: Kind, check: Check) -> Sequence[Happening]:
    """Nothing of one that passes."""
    if check.passes:
        return ()
    why = check.said if scene.spec.is_real else probe_words.failure(check, scene.spec.fields, scene.runtime.ip)
    said = f"{kind.capitalize()} probe failed: {why}"
    unhealthy = Happening("Warning", "Unhealthy", said, scene.spec)
    if not probing.is_fatal(scene, kind, check):
        return (unhealthy,)
    return unhealthy, Happening("Normal", "Killing", _failed_probe(scene, kind), scene.spec)


def _failed_probe(scene: Scene, kind: Kind) -> str:
    if scene.spec.role is Role.SIDECAR:
        return f"Init container {scene.spec.name} failed {kind} probe"
    what_next = ", will be restarted" if restarts.after_failed_probe(scene.pod, scene.spec) else ""
    return f"Container {scene.spec.name} failed {kind} probe{what_next}"


def crash(scene: Scene) -> Sequence[Happening]:
    message = f"Back-off restarting failed container {scene.spec.name} in pod {scene.pod.title}"
    return (Happening("Warning", "BackOff", message, scene.spec),)


def annotation_error(error: str) -> Happening:
    return Happening("Warning", "InvalidBehaviour", error)


def no_pull_secrets(names: Sequence[str]) -> Happening:
    message = (
        f"Unable to retrieve some image pull secrets ({', '.join(names)}); "
        "attempting to pull the image may not succeed."
    )
    return Happening("Warning", "FailedToRetrieveImagePullSecret", message)


def no_devices(why: str) -> Happening:
    told = f"Failed to prepare dynamic resources: prepare dynamic resources: {why}"
    return Happening("Warning", "FailedPrepareDynamicResources", told)


def no_sandbox(why: str) -> Happening:
    return Happening("Warning", "FailedCreatePodSandBox", f"Failed to create pod sandbox: {why}")


def not_mounted(error: str) -> Happening:
    return Happening("Warning", "FailedMount", error)


def unmounted(volume: str, why: str) -> Happening:
    message = (
        f"Unable to attach or mount volumes: unmounted volumes=[{volume}], unattached volumes=[], "
        f"failed to process volumes=[{volume}]: {why}"
    )
    return Happening("Warning", "FailedMount", message)


def pull_error(image: str) -> str:
    """What containerd says of an image that the registry does not have."""
    return (
        f'rpc error: code = NotFound desc = failed to pull and unpack image "{image}": failed to resolve reference'
        f' "{image}": {image}: not found'
    )


def _spelled(seconds: float) -> str:
    """As Go prints durations of less than a minute, cut to milliseconds."""
    milliseconds = int(seconds * 1000)
    if milliseconds == 0:
        return "0s"
    return f"{milliseconds}ms" if milliseconds < 1000 else f"{milliseconds / 1000:g}s"
