"""PATCH with an apply patch: a configuration, merged into an object or made one, whose fields its manager then owns.

Who owns what, conflicts and their texts are the business of `apiserver.registry.field_management`.
"""

from __future__ import annotations

from typing import Any

from apiserver.handlers.bodies import Body
from apiserver.handlers.call import Call
from apiserver.handlers.encoding import encode_object, encode_scale
from apiserver.handlers.matching import match_name
from apiserver.handlers.response import Response
from apiserver.handlers.update import SCALE
from apiserver.patch import restoring
from apiserver.registry.field_management import Applied, FieldManagement
from apiserver.registry.options import IGNORE, STRICT, Warnings, WriteOptions
from apiserver.schema.codec import DecodeError
from kubeloop.apimachinery.errors import BadRequest
from kubeloop.apimachinery.meta import Object, deep_copy
from kubeloop.apimachinery.yaml_text import YamlSyntaxError, parse_yaml, problem_lines, yaml_duplicates

APPLY_PATCH = "application/apply-patch+yaml"


async def apply(call: Call) -> Response:
    """201 and the new object, or 200 and the object as it is stored now."""
    options = WriteOptions.parse_patch(call.query, is_apply=True)
    configuration = _Configuration(call, options)
    kind, context = call.target.kind, call.context(options)
    if call.target.subresource == "scale":
        scales = call.registry.scale(kind)
        scale = await scales.apply(lambda old: configuration.scale(old, scales.ownership.field_management), context)
        body = encode_scale(kind, scale, call.form, call.now, call.include_object)
        return Response(200, body, call.form.media_type)
    store = call.registry.store(kind)
    stored, created = await store.apply(lambda old: configuration.object(old, store.field_management), context)
    body = encode_object(kind, stored, call.form, call.now, call.include_object)
    return Response(201 if created else 200, body, call.form.media_type)


class _Configuration:
    """The body of an apply patch, and what it makes of an object each time the store asks."""

    def __init__(self, call: Call, options: WriteOptions) -> None:
        self._call, self._options = call, options
        self._config = _parsed(call.body)

    async def object(self, old: Object | None, fields: FieldManagement) -> Object:
        applied = await self._applied(old, fields)
        if applied.document is None:
            new = {"metadata": {}} if old is None else deep_copy(old)
        else:
            new = self._decoded(applied.document, fields)
        return self._finished(new, applied)

    def _decoded(self, document: Object, fields: FieldManagement) -> Object:
        """Built-in kinds are read once more as Go reads its own maps: numbers that are too large wrap."""
        kind, decode = self._call.target.kind, self._call.decoder.decode
        try:
            return decode(kind, document, IGNORE, Warnings(), is_applied=True)
        except DecodeError as error:
            if kind.is_custom:
                raise fields.unconvertible(self._config, error) from error
        resource = kind.resource
        node = self._call.decoder.node((resource.group, resource.version, resource.kind))
        document, why = restoring.converted(document, node)
        if why:
            raise fields.unconvertible(self._config, why)
        try:
            return decode(kind, document, IGNORE, Warnings(), is_applied=True)
        except DecodeError as error:
            raise fields.unconvertible(self._config, error) from error

    async def scale(self, old: Object, fields: FieldManagement) -> Object:
        applied = await self._applied(old, fields)
        if applied.document is None:
            return self._finished(deep_copy(old), applied)
        try:
            new = self._call.decoder.decode_other(SCALE, applied.document, IGNORE, Warnings())
        except DecodeError as error:
            raise fields.unconvertible(self._config, error) from error
        return self._finished(new, applied)

    async def _applied(self, old: Object | None, fields: FieldManagement) -> Applied:
        options, subresource = self._options, self._call.target.subresource
        applied = await fields.applied(self._config, old, options.field_manager, subresource, force=options.force)
        self._check_strictly()
        return applied

    def _check_strictly(self) -> None:
        """Repeated keys are refused or warned about, once all else was found good."""
        if self._options.field_validation == IGNORE:
            return
        for problem in yaml_duplicates(self._call.body.raw):
            why = f"error converting YAML to JSON: {problem}"
            if self._options.field_validation == STRICT:
                raise BadRequest(f"error strict decoding YAML: {why}")
            self._call.warnings.add(*problem_lines(why))

    def _finished(self, new: Object, applied: Applied) -> Object:
        target, metadata = self._call.target, new["metadata"]
        metadata.pop("managedFields", None)
        if applied.entries:
            metadata["managedFields"] = applied.entries
        match_name(new, target.name, target.namespace)
        return new


def _parsed(body: Body) -> dict[str, Any]:
    try:
        value = parse_yaml(body.raw)
    except YamlSyntaxError as error:
        raise BadRequest(f"error decoding YAML: error converting YAML to JSON: {error}") from error
    if value is None:
        return {}
    if not isinstance(value, dict):
        kind = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
        raise BadRequest(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: "
            f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
        )
    return value
