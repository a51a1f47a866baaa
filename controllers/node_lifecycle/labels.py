"""The beta labels of operating system and architecture, which say what the stable ones say."""

from __future__ import annotations

from collections.abc import Mapping

_BETA = {"kubernetes.io/os": "beta.kubernetes.io/os", "kubernetes.io/arch": "beta.kubernetes.io/arch"}


def beta_labels(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels to write: missing ones and those that contradict their stable label."""
    return {beta: labels[key] for key, beta in _BETA.items() if key in labels and labels.get(beta) != labels[key]}
