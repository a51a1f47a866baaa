"""One API request on its way through the handlers, and what the handlers need of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import lru_cache

from apiserver.admission.chain import Annotate, unheard
from apiserver.auth.authentication import User
from apiserver.auth.gate import Note, unnoted
from apiserver.handlers.bodies import Body, Decoder
from apiserver.handlers.negotiation import Form
from apiserver.handlers.request import Target
from apiserver.registry.context import Context
from apiserver.registry.options import Query, Warnings, WriteOptions, first
from apiserver.registry.registry import Registry
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.metadata_validation import MAX_FIELD_MANAGER_BYTES
from kubeloop.apimachinery.values import value


@value
class Call:
    """What was asked, taken apart but not yet carried out."""

    registry: Registry
    decoder: Decoder
    target: Target
    method: str
    query: Query
    headers: Mapping[bytes, bytes]
    body: Body
    form: Form
    user: User
    warnings: Warnings
    annotate: Annotate = unheard  # adds to the request's audit event
    note: Note = unnoted  # tells the audit log what was sent

    def note_object(self, obj: Object) -> None:
        """Tell the audit log what was sent, as an object of the target's kind."""
        if self.note is unnoted:
            return
        resource = self.target.kind.resource
        self.note({"kind": resource.kind, "apiVersion": resource.api_version, **obj})

    @property
    def now(self) -> Callable[[], datetime]:
        return self.registry.machinery.clock.now

    @property
    def include_object(self) -> str:
        """What the rows of a Table carry of their objects."""
        return first(self.query, "includeObject")

    def context(self, options: WriteOptions | None = None) -> Context:
        """The store's view of this request."""
        target = self.target
        if options is None:
            return Context(
                self.user,
                target.namespace,
                target.name,
                target.subresource,
                warnings=self.warnings,
                annotate=self.annotate,
            )
        return Context(
            user=self.user,
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            dry_run=options.dry_run,
            field_manager=options.field_manager or user_agent_prefix(self.headers.get(b"user-agent", b"")),
            field_validation=options.field_validation,
            force=options.force,
            warnings=self.warnings,
            annotate=self.annotate,
            options=options.sent,
        )


@lru_cache(maxsize=1000)  # of the names clients go by; full: the least recent are worked out again
def user_agent_prefix(user_agent: bytes) -> str:
    """Who owns what a request changes that names no field manager: `kubectl` of `kubectl/v1.36.0 (linux)`."""
    name = user_agent.decode("utf-8", "ignore").partition("/")[0]
    printable = "".join(filter(str.isprintable, name))
    return printable.encode()[:MAX_FIELD_MANAGER_BYTES].decode("utf-8", "ignore")
