"""What differs between kinds, as one object a kind: the questions the store asks while it carries out a verb.

`apiserver/resources` implements these; `apiserver/registry/store.py` calls them in Kubernetes' order. The defaults here
are those of a plain kind with neither status nor generation (a ConfigMap). Objects arrive decoded (types right, unknown
fields gone) and may be changed in place by `default` and `prepare_*`; `validate_*` must not change them. What a patch
of a status does not name is the stored object's own: `default` and `prepare_for_status_update` find it as they left it
once, and so do not change it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from apiserver.auth.authentication import User
from apiserver.registry.cluster import NOTHING, Allocation, Cluster
from kubeloop.apimachinery.field import FieldError
from kubeloop.apimachinery.meta import Object
from kubeloop.apimachinery.validation import dns_subdomain_errors

NO_ERRORS: Sequence[FieldError] = ()
_NOT_KEPT_BY_STATUS = frozenset({"status", "metadata", "kind", "apiVersion"})


class UpdateRules(Protocol):
    """What one endpoint of an object may change: the main one, /status, and what else a kind has."""

    def prepare(self, new: Object, old: Object) -> None: ...

    def validate(self, new: Object, old: Object) -> Sequence[FieldError]: ...


class Strategy:
    """The behaviour of one kind. Subclasses override what is theirs."""

    allow_create_on_update = False  # PUT on an absent name creates it (Service, Lease, Endpoints, Role …)
    allow_unconditional_update = True  # PUT without a resourceVersion is accepted
    graceful_deletion = False  # pods: deletion waits for the kubelet
    returns_object_on_delete = False  # DELETE answers with the object instead of a Status
    orphans_by_default = False  # a raw DELETE leaves dependents (Job, ReplicationController)
    has_own_deletion = False  # `begin_deletion` is the kind's (Namespace), and so are the words of its preconditions
    can_have_dependents = True  # a propagation policy means something (not so for events)
    checks_finalizer_domains = True  # a finalizer without a domain is refused (not so for custom resources)
    checks_names = True  # False: a name is looked at last, where nothing else is wrong, and may be any path segment
    looks_at_metadata = True  # False: only the store does, and of a new object only where the kind found nothing wrong
    keep_history = True  # False: the log keeps only the newest version (Lease)
    # What a kind itself says of the metadata of an update, after the store did: clients count what is said twice.
    rechecks_change = True  # that it may change this way
    rechecks_object = False  # that it is good at all

    def default(self, obj: Object) -> None:
        """Fill in what the user left out. Runs on every create, update and patch, before admission."""

    def default_status(self, obj: Object) -> None:
        """The same after a patch of the status: the spec is the stored one, in which all is filled in."""
        self.default(obj)

    def add_zeros(self, obj: Object) -> None:
        """Add what the object of a bookmark shows, though the type itself does not always write it."""

    def preparation_warnings(self, obj: Object) -> Sequence[str]:
        """Texts for Warning headers about what `prepare_for_create` replaces next; before those of `warnings`."""
        return ()

    def prepare_for_create(self, obj: Object) -> None:
        """Drop what a creator may not set (status), set generation 1 where the kind has one."""

    def check_before_insert(self) -> None:
        """Refuse to store any new object, with an ApiError: asked last, after which nothing is waited for."""

    def stamp_creator(self, obj: Object, user: User) -> None:
        """Note who created it, where the kind keeps that (a signing request); runs after `prepare_for_create`."""

    def validate(self, obj: Object) -> Sequence[FieldError]:
        """Field errors beyond metadata, in Kubernetes' order."""
        return NO_ERRORS

    def complete(self, obj: Object) -> None:
        """Fill in what a new object has only once it is validated: Kubernetes adds it when it reads it back."""

    def prepare_for_update(self, new: Object, old: Object) -> None:
        """Keep what the main endpoint may not change (status); raise generation where the spec changed."""

    def validate_update(self, new: Object, old: Object) -> Sequence[FieldError]:
        return self.validate(new)

    def prepare_for_status_update(self, new: Object, old: Object) -> None:
        """Keep everything but status (and what metadata the kind lets its status endpoint change)."""
        for field in [field for field in new if field not in old and field not in _NOT_KEPT_BY_STATUS]:
            del new[field]
        for field, value in old.items():
            if field not in _NOT_KEPT_BY_STATUS:
                new[field] = value

    def validate_status_update(self, new: Object, old: Object) -> Sequence[FieldError]:
        return NO_ERRORS

    def stamp_update(self, new: Object, old: Object, now: datetime) -> None:
        """Note when something changed, where the kind keeps such times; runs after the endpoint's `prepare`."""

    def update_rules(self, subresource: str) -> UpdateRules:
        """The rules of an endpoint: "" is the main one. Kinds with further ones (finalize, resize …) add theirs."""
        return _StatusRules(self) if subresource == "status" else _MainRules(self)

    async def allocate(self, new: Object, old: Object | None, cluster: Cluster, dry_run: bool) -> Allocation:
        """Give out values that are unique in the cluster (cluster IPs, node ports); raises Invalid where taken.

        What it returns is told how the write ended.
        """
        return NOTHING

    async def removed(self, obj: Object, cluster: Cluster) -> None:
        """The object is gone from storage: let go of what was given to it."""

    def begin_deletion(self, obj: Object, now: datetime) -> Object | None:
        """A kind's own first step of a deletion (Namespace): the object to store instead, or None to go on as usual."""
        return None

    def deletion_grace_seconds(self, obj: Object, requested: int | None) -> int:
        """How long a graceful deletion takes; 0 deletes at once. Asked only where `graceful_deletion`."""
        return 0

    def is_gone_after(self, new: Object, old: Object) -> bool:
        """Whether an update removed the last thing that held a deletion back (ShouldDeleteDuringUpdate)."""
        metadata = old["metadata"]
        return (
            "deletionTimestamp" in metadata
            and metadata.get("deletionGracePeriodSeconds") == 0
            and not new["metadata"].get("finalizers")
        )

    def deletion_warnings(self, propagation_is_given: bool) -> Sequence[str]:
        """Texts for Warning headers on DELETE; `propagation_is_given`: the client says what becomes of dependents."""
        return ()

    def warnings(self, obj: Object) -> Sequence[str]:
        """Texts for Warning headers on create and update (deprecated fields and the like)."""
        return ()

    def update_warnings(self, new: Object, old: Object, subresource: str) -> Sequence[str]:
        """The same on an update: most kinds warn of the object whatever it was, and none of a status."""
        return () if subresource == "status" else self.warnings(new)

    @property
    def hidden_verbs(self) -> frozenset[str]:
        """What discovery does not offer for the time being."""
        return frozenset()

    def validate_name(self, name: str, is_prefix: bool) -> Sequence[str]:
        """Why `name` is no good, in the words of apimachinery's validation; () where it is. Default: DNS subdomain."""
        return dns_subdomain_errors(name, is_prefix) if self.checks_names else ()

    def name_rules(self, obj: Object) -> Callable[[str, bool], Sequence[str]]:
        """What `validate_name` is for this object: kinds whose names follow from their fields have their own."""
        return self.validate_name

    def selectable_fields(self, obj: Object) -> Mapping[str, str]:
        """Field selector values beyond metadata.name and metadata.namespace: {"spec.nodeName": "node-1"}."""
        return {}

    @property
    def selectable_field_names(self) -> frozenset[str]:
        """The names `selectable_fields` may return: others are refused with 400."""
        return frozenset()

    @property
    def old_field_names(self) -> Mapping[str, str]:
        """Names that clients of long ago give selectable fields, and today's: {"spec.host": "spec.nodeName"}."""
        return {}

    def unsupported_field(self, name: str) -> str:
        """How a selector of another field is refused; kinds with own fields say it shorter, as upstream's do."""
        if self.selectable_field_names:
            return f"field label not supported: {name}"
        return f'"{name}" is not a known field selector: only "metadata.name", "metadata.namespace"'


class SpecStrategy(Strategy):
    """A kind with spec, status and generation: status only changes through /status, generation counts spec changes."""

    def prepare_for_create(self, obj: Object) -> None:
        obj.pop("status", None)
        if (blank := self.blank_status(obj)) is not None:
            obj["status"] = blank
        obj["metadata"]["generation"] = 1

    def blank_status(self, obj: Object) -> Any:
        """What status a new object has; `{}` where Go writes an empty struct."""
        return {}

    def prepare_for_update(self, new: Object, old: Object) -> None:
        if "status" in old:
            new["status"] = old["status"]
        else:
            new.pop("status", None)
        generation = old["metadata"].get("generation", 0)
        if self.spec_changed(new, old):
            generation += 1
        if generation:
            new["metadata"]["generation"] = generation

    def spec_changed(self, new: Object, old: Object) -> bool:
        return new.get("spec") != old.get("spec")


class ServerRules:
    """The rules where the server itself changes an object: nothing is kept back, nothing refused."""

    def prepare(self, new: Object, old: Object) -> None:
        pass

    def validate(self, new: Object, old: Object) -> Sequence[FieldError]:
        return NO_ERRORS


class _MainRules:
    def __init__(self, strategy: Strategy) -> None:
        self.prepare = strategy.prepare_for_update
        self.validate = strategy.validate_update


class _StatusRules:
    def __init__(self, strategy: Strategy) -> None:
        self.prepare = strategy.prepare_for_status_update
        self.validate = strategy.validate_status_update
