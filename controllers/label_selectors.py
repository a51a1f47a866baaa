"""A metav1.LabelSelector as real controllers print it in their messages."""

from __future__ import annotations

from kubeloop.apimachinery.meta import ReadOnlyObject


def as_go_prints(selector: ReadOnlyObject | None) -> str:
    """What %v makes of a *metav1.LabelSelector."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    requirements = "".join(
        f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{requirements}}},}}"
    )
