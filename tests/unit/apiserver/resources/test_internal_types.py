"""Values as refusals print them: Kubernetes' internal structs."""

from __future__ import annotations

from apiserver.resources.internal_types import as_internal, internal_diff
from kubeloop.apimachinery.field import go_value


def test_every_field_is_printed_under_its_go_name() -> None:
    """Fields stand in Go's order, absent ones with their zero value, metadata under its JSON names and sorted."""
    profile = {"type": "Localhost", "localhostProfile": "a.json"}
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}

    actual = go_value(as_internal("SeccompProfile", profile)), go_value(as_internal("PodFailurePolicyRule", rule))

    assert (
        '{"Type":"Localhost","LocalhostProfile":"a.json"}',
        '{"Action":"Ignore","OnExitCodes":null,"OnPodConditions":[{"Type":"DisruptionTarget","Status":"True"}]}',
    ) == actual


def test_metadata_keeps_its_json_names() -> None:
    """The labels of a template are printed sorted, in front of its spec."""
    template = {"metadata": {"labels": {"b": "c", "a": "b"}, "annotations": {}}, "spec": {"containers": []}}

    actual = go_value(as_internal("PodTemplateSpec", template))

    assert actual.startswith('{"labels":{"a":"b","b":"c"},"Spec":{"Volumes":null,"InitContainers":null,"Containers":[]')


def test_host_namespaces_are_part_of_the_security_context() -> None:
    """`hostNetwork` of a v1 pod spec is printed where the internal one has it."""
    actual = as_internal("PodSpec", {"hostNetwork": True})

    assert actual["SecurityContext"]["HostNetwork"] is True
    assert "HostNetwork" not in actual


def test_a_change_is_shown_in_its_lines() -> None:
    """As a unified diff of indented JSON, with three lines around it, and < and > as Go escapes them."""
    old = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

    actual = internal_diff("PersistentVolumeClaimSpec", old, {**old, "storageClassName": "a<b"})

    assert actual == (
        "@@ -10,7 +10,7 @@\n"
        "   }\n"
        "  },\n"
        '  "VolumeName": "",\n'
        '- "StorageClassName": null,\n'
        '+ "StorageClassName": "a\\u003cb",\n'
        '  "VolumeMode": null,\n'
        '  "DataSource": null,\n'
        '  "DataSourceRef": null,\n'
    )
