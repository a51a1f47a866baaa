"""Conflicts: an apply wants other values for fields that others own. Their texts are part of the API."""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.patch.server_side_apply.field_sets import FieldSet, path_texts
from apiserver.patch.server_side_apply.managers import UPDATE, Entry, Identity
from kubeloop.apimachinery.errors import Conflict
from kubeloop.apimachinery.field import go_quote


class ApplyConflict(Exception):
    """Who owns what the configuration would change."""

    def __init__(self, owners: Mapping[Identity, Entry]) -> None:
        super().__init__(f"conflicts with {len(owners)} managers")
        self.owners = dict(sorted(owners.items(), key=lambda item: item[0].text))

    def fields(self) -> list[FieldSet]:
        return [entry.fields for entry in self.owners.values()]

    def with_fields(self, kept: Mapping[Identity, FieldSet]) -> ApplyConflict:
        """The same conflict, about these fields only."""
        return ApplyConflict({who: self.owners[who]._replace(fields=fields) for who, fields in kept.items() if fields})

    def refusal(self) -> Conflict:
        """The 409 with a cause for every field."""
        named = [(_named(who, entry), path_texts(entry.fields)) for who, entry in self.owners.items()]
        causes = [
            {"reason": "FieldManagerConflict", "message": f"conflict with {name}", "field": path}
            for name, paths in named
            for path in paths
        ]
        if len(causes) == 1:
            message = f"Apply failed with 1 conflict: {causes[0]['message']}: {causes[0]['field']}"
        else:
            lines = [
                line for name, paths in named for line in (f"conflicts with {name}:", *(f"- {path}" for path in paths))
            ]
            message = f"Apply failed with {len(causes)} conflicts: " + "\n".join(lines)
        return Conflict(message, details={"causes": causes})


def _named(who: Identity, entry: Entry) -> str:
    name = go_quote(who.manager)
    if who.subresource:
        name += f" with subresource {go_quote(who.subresource)}"
    return f"{name} using {entry.api_version}" if who.operation == UPDATE else name
