"""KubeSchedulerConfiguration: what a file makes of the scheduler, and what is refused."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from controllers.scheduler.configuration.flag_defaults import flag_defaults
from controllers.scheduler.configuration.loading import Configuration, ConfigurationError, load, parse
from controllers.scheduler.configuration.user_plugins import PluginNotLoaded, known_plugins
from controllers.scheduler.interface import EXTENSION_POINTS, FilterPlugin
from controllers.scheduler.node_info import NodeInfo
from controllers.scheduler.plugins.catalog import DEFAULT_PLUGINS
from controllers.scheduler.pod_info import PodInfo
from controllers.scheduler.profile import Profile
from controllers.scheduler.status import Status, unschedulable
from kubeloop.testing.builders import a_node, a_pod
from tests.unit.scheduler.scene import Scene

HEADER = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class NoTuesday(FilterPlugin):
    """A user's plugin: refuses nodes by their name."""

    NAME = "NoTuesday"

    def filter(self, state: object, pod: PodInfo, node: NodeInfo) -> Status | None:
        return unschedulable("it is tuesday") if node.name == "tuesday" else None


KNOWN = {**known_plugins([]), NoTuesday.NAME: NoTuesday}


def configured(text: str) -> Configuration:
    return parse((HEADER + dedent(text)).encode(), KNOWN)


def profile(text: str) -> Profile:
    """The only profile of a file whose `profiles` has this one entry."""
    indented = "".join(f"    {line}\n" for line in dedent(text).strip().splitlines())
    (found,) = configured(f"profiles:\n  -\n{indented}").profiles
    return found


def test_an_empty_configuration_is_the_default_one() -> None:
    """Every default plugin at every point it has, in the order of the catalog."""
    (found,) = configured("").profiles

    assert "default-scheduler" == found.name
    for point, kind in EXTENSION_POINTS.items():
        assert [e.plugin.NAME for e in DEFAULT_PLUGINS if issubclass(e.plugin, kind)] == list(found.at[point])
    weights = {entry.plugin.NAME: entry.weight for entry in found.plugins}
    assert {entry.plugin.NAME: entry.weight for entry in DEFAULT_PLUGINS} == weights


def test_a_plugin_can_be_disabled_at_one_point() -> None:
    """It is asked everywhere else."""
    found = profile("plugins: {score: {disabled: [{name: NodeResourcesFit}]}}")

    assert "NodeResourcesFit" not in found.at["score"]
    assert "NodeResourcesFit" in found.at["filter"]


def test_all_defaults_can_be_disabled() -> None:
    """A star stands for them; what is named is asked alone."""
    found = profile("plugins: {score: {disabled: [{name: '*'}], enabled: [{name: ImageLocality, weight: 7}]}}")

    assert ["ImageLocality"] == list(found.at["score"])
    assert 7 == {entry.plugin.NAME: entry.weight for entry in found.plugins}["ImageLocality"]


def test_a_reconfigured_plugin_comes_first_and_a_new_one_last() -> None:
    found = profile("plugins: {filter: {enabled: [{name: NoTuesday}, {name: NodePorts}]}}")

    assert "NodePorts" == found.at["filter"][0]
    assert "NoTuesday" == found.at["filter"][-1]


def test_multi_point_enables_at_every_point_a_plugin_has() -> None:
    """And its weight counts where the score point names none."""
    found = profile("plugins: {multiPoint: {enabled: [{name: NoTuesday}, {name: NodeAffinity, weight: 9}]}}")

    assert "NoTuesday" in found.at["filter"]
    assert "NoTuesday" not in found.at["score"]
    assert 9 == {entry.plugin.NAME: entry.weight for entry in found.plugins}["NodeAffinity"]


def test_the_framework_asks_whom_the_profile_names() -> None:
    """Without NodeResourcesFit a full node takes the pod; with a plugin of one's own a node is refused."""
    found = profile("plugins: {filter: {disabled: [{name: NodeResourcesFit}], enabled: [{name: NoTuesday}]}}")
    scene = Scene([a_node("monday"), a_node("tuesday")], profile=found)

    assert ["monday"] == scene.feasible(a_pod("p").requests(cpu="64"))
    assert {"tuesday": "it is tuesday"} == scene.reasons(a_pod("p").requests(cpu="64"))


def test_arguments_reach_the_plugin() -> None:
    found = profile(
        "pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: MostAllocated}}}]",
    )
    busy = a_pod("busy").requests(cpu="2").on("b")
    scores = Scene([a_node("a"), a_node("b")], [busy], profile=found).scores(a_pod("p"), "NodeResourcesFit")

    assert scores["b"] > scores["a"]


def test_several_profiles_and_the_rest_of_the_file() -> None:
    """Each profile's percentage wins over the file's."""
    found = configured(
        """
        percentageOfNodesToScore: 30
        podInitialBackoffSeconds: 2
        podMaxBackoffSeconds: 20
        leaderElection: {leaderElect: false}
        profiles: [{schedulerName: a}, {schedulerName: b, percentageOfNodesToScore: 100}]
        """
    )

    assert [("a", 30), ("b", 100)] == [(p.name, p.percentage_of_nodes_to_score) for p in found.profiles]
    assert (2, 20) == (found.initial_backoff_seconds, found.max_backoff_seconds)
    assert {"leaderElect": False} == found.leader_election


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
ADDED = f"{{{REQUIRED}: {{nodeSelectorTerms: [{{matchExpressions: [{{key: disk, operator: Is, values: [a]}}]}}]}}}}"


def test_default_constraints_may_say_all_that_a_pods_own_may() -> None:
    """But for a selector, which is found for each pod."""
    found = configured(
        """
        profiles:
          - pluginConfig:
              - name: PodTopologySpread
                args:
                  defaultingType: List
                  defaultConstraints:
                    - {maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, nodeTaintsPolicy: Honor}
        """
    )

    (constraint,) = found.profiles[0].args["PodTopologySpread"]["defaultConstraints"]
    assert "Honor" == constraint["nodeTaintsPolicy"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("profile: []", 'strict decoding error: unknown field "profile"'),
        ("profiles: [{plugin: {}}]", 'strict decoding error: unknown field "profiles[0].plugin"'),
        ("parallelism: many", 'parallelism: must be an integer, not "many"'),
        ("parallelism: true", "parallelism: must be an integer, not true"),
        ("profiles: {}", "profiles: must be a list"),
        ("parallelism: 0", "parallelism: Invalid value: 0: should be an integer value greater than zero"),
        ("percentageOfNodesToScore: 101", "percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]"),
        ("podInitialBackoffSeconds: 0", "podInitialBackoffSeconds: Invalid value: 0: must be greater than 0"),
        (
            "podInitialBackoffSeconds: 60",
            "podMaxBackoffSeconds: Invalid value: 10: must be greater than or equal to PodInitialBackoffSeconds",
        ),
        ("profiles: [{schedulerName: a}, {}]", "profiles[1].schedulerName: Required value"),
        (
            "profiles: [{schedulerName: a}, {schedulerName: a}]",
            'profiles[1].schedulerName: Duplicate value: "profiles[0].schedulerName"',
        ),
        ("extenders: [{filterVerb: filter}]", "extenders[0].urlPrefix: Required value"),
        ("extenders: [{urlPrefix: localhost}]", "extenders[0].urlPrefix: Invalid value"),
        ("extenders: [{urlPrefix: http://a, httpTimeout: 5}]", "extenders[0].httpTimeout: must be a string, not 5"),
        (
            "extenders: [{urlPrefix: http://a, httpTimeout: 5 s}]",
            'httpTimeout: time: unknown unit " s" in duration "5 s"',
        ),
        (
            "extenders: [{urlPrefix: http://a, prioritizeVerb: prioritize}]",
            "extenders[0].weight: Invalid value: 0: must have a positive weight applied to it",
        ),
        (
            "extenders: [{urlPrefix: http://a, bindVerb: b}, {urlPrefix: http://b, bindVerb: b}]",
            'extenders: Invalid value: "found 2 extenders implementing bind": only one extender can implement bind',
        ),
        (
            "extenders: [{urlPrefix: http://a, managedResources: [{name: cpu}, {name: a.b/c}, {name: a.b/c}]}]",
            '[extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name,'
            ' extenders[0].managedResources[2].name: Invalid value: "a.b/c": duplicate extender managed resource name]',
        ),
        (
            "extenders: [{urlPrefix: https://a, tlsConfig: {caFile: /no/such.pem}}]",
            "extenders[0].tlsConfig: /no/such.pem: No such file or directory",
        ),
        ("extenders: [{urlPrefix: https://a, tlsConfig: {caData: x}}]", "extenders[0].tlsConfig: "),
        ("extenders: [{urlPrefix: https://a, tlsConfig: {certData: bm8=}}]", "extenders[0].tlsConfig: not PEM"),
        ("extenders: [{urlPrefix: https://a, tlsConfig: {caData: bm8=}}]", "extenders[0].tlsConfig: not PEM"),
        (
            "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {kind: NodeAffinityArgs}}]}]",
            "args for plugin InterPodAffinity were not of type InterPodAffinityArgs.kubescheduler.config.k8s.io,"
            " got NodeAffinityArgs.kubescheduler.config.k8s.io",
        ),
        ("clientConnection: {burst: -1}", "clientConnection.burst: Invalid value: -1: must be non-negative"),
        (
            "leaderElection: {leaseDuration: 5s, retryPeriod: -1s}",
            '[leaderElection.retryPeriod: Invalid value: "-1s": must be greater than zero,'
            ' leaderElection.leaseDuration: Invalid value: "10s": must be greater than `RenewDeadline`]',
        ),
        (
            "profiles: [{pluginConfig: [{name: VolumeBinding, args: {shape: [{score: 1}]}}]}]",
            "remove it or turn on the feature gate StorageCapacityScoring",
        ),
        (
            "profiles: [{pluginConfig: [{name: DynamicResources, args: {bindingTimeout: 10ms}}]}]",
            'profiles[0].pluginConfig[0].args.bindingTimeout: Invalid value: "10ms": must be at least 1 second',
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {resources: []}}}]}]",
            'profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: ""',
        ),
        ("profiles: [{plugins: {filter: {enabled: [{name: Nope}]}}}]", 'plugin "Nope" does not exist'),
        (
            "profiles: [{plugins: {filter: {enabled: [{}]}}}]",
            "profiles[0].plugins.filter.enabled[0].name: Required value",
        ),
        (
            "profiles: [{plugins: {score: {enabled: [{name: NodePorts}]}}}]",
            'plugin "NodePorts" does not extend ScorePlugin plugin',
        ),
        ("profiles: [{plugins: {queueSort: {disabled: [{name: '*'}]}}}]", "only one queue sort plugin required"),
        ("profiles: [{plugins: {bind: {disabled: [{name: '*'}]}}}]", "at least one bind plugin is needed"),
        (
            "profiles: [{pluginConfig: [{name: InterPodAffinity, args: {hardPodAffinityWeight: 101}}]}]",
            "profiles[0].pluginConfig[0].args.hardPodAffinityWeight: Invalid value: 101: not in valid range [0, 100]",
        ),
        (
            "profiles: [{pluginConfig: [{name: VolumeBinding, args: {bindTimeout: 1}}]}]",
            'unknown field "profiles[0].pluginConfig[0].args.bindTimeout"',
        ),
        (
            "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: Best}}}]}]",
            'Unsupported value: "Best": supported values: "LeastAllocated", "MostAllocated"',
        ),
        (
            f"profiles: [{{pluginConfig: [{{name: NodeAffinity, args: {{addedAffinity: {ADDED}}}}}]}}]",
            f"args.addedAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "
            '"Is": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"',
        ),
        (
            "profiles: [{pluginConfig: [{name: DynamicResources, args: {timeout: 1s}}]}]",
            'unknown field "profiles[0].pluginConfig[0].args.timeout"',
        ),
        ("parallelism: 0\npercentageOfNodesToScore: -1", "[parallelism: Invalid value: 0: should be"),
    ],
)
def test_nonsense_is_refused_with_its_place(text: str, said: str) -> None:
    """In kube-scheduler's words where it has some; several mistakes are told together."""
    with pytest.raises(ConfigurationError) as refused:
        configured(text)

    assert said in str(refused.value)


def test_a_file_of_another_kind_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="apiVersion and kind must be"):
        parse(b"apiVersion: v1\nkind: ConfigMap\n", KNOWN)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        load(tmp_path / "nope.yaml")


@pytest.mark.parametrize(
    ("spelled", "said"),
    [
        ("no_colon", "write module:Class"),
        ("no_such_module:Plugin", "No module named"),
        ("controllers.scheduler.profile:Profile", "not a class derived from Plugin"),
        ("controllers.scheduler.plugins.node_ports:NodePorts", "there is a plugin NodePorts already"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_told(spelled: str, said: str) -> None:
    with pytest.raises(PluginNotLoaded, match=said):
        known_plugins([spelled])


def test_resources_that_an_extender_counts_are_not_counted_here() -> None:
    """`ignoredByScheduler`; it wins over what a profile ignores."""
    managed = "[{name: a.b/c, ignoredByScheduler: true}, {name: a.b/d}]"
    found = configured(
        f"extenders: [{{urlPrefix: http://a, managedResources: {managed}}}]\n"
        "profiles: [{pluginConfig: [{name: NodeResourcesFit, args: {ignoredResources: [e.f/g]}}]}]"
    )
    scene = Scene([a_node("a")], profile=found.profiles[0])

    assert ["a"] == scene.feasible(a_pod("p").requests(**{"a.b/c": "1"}))
    for name in ("a.b/d", "e.f/g"):
        assert [] == scene.feasible(a_pod("p").requests(**{name: "1"}))
    assert frozenset({"a.b/c", "a.b/d"}) == found.extenders[0].managed_resources


def test_the_file_says_which_lease_the_scheduler_wants() -> None:
    """Two schedulers with leases of their own run side by side; what is 0 or empty is the default."""
    election = '{leaderElect: true, resourceName: packing, resourceNamespace: "", leaseDuration: 1m, retryPeriod: 0s}'
    found = configured(f"leaderElection: {election}\nclientConnection: {{kubeconfig: k}}")

    assert {
        "leader_elect": True,
        "leader_elect_lease_duration": 60.0,
        "leader_elect_resource_name": "packing",
        "kubeconfig": "k",
    } == flag_defaults(found)


def test_only_extended_resources_can_be_ignored() -> None:
    """By name or by the part before the slash; huge pages are always counted."""
    fit = profile(
        "pluginConfig: [{name: NodeResourcesFit, args:"
        " {ignoredResources: [hugepages-2Mi, a.b/c], ignoredResourceGroups: [e.f]}}]"
    )
    scene = Scene([a_node("a")], profile=fit)

    found = {name: scene.feasible(a_pod("p").requests(**{name: "1"})) for name in ("hugepages-2Mi", "a.b/c", "e.f/g")}

    assert {"hugepages-2Mi": [], "a.b/c": ["a"], "e.f/g": ["a"]} == found


def test_arguments_may_say_of_which_kind_they_are() -> None:
    """As the examples of Kubernetes do."""
    kind = "apiVersion: kubescheduler.config.k8s.io/v1, kind: InterPodAffinityArgs"
    found = profile(f"pluginConfig: [{{name: InterPodAffinity, args: {{{kind}, hardPodAffinityWeight: 5}}}}]")

    assert 5 == found.args["InterPodAffinity"]["hardPodAffinityWeight"]
