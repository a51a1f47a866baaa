"""One API server, put together: the only place that knows every part of it.

`main.py` serves it on a socket; the in-process cluster of kubeloop.testing calls `server.app` directly. All time,
chance and durability come in here and are handed on.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from apiserver.admission.catalog import DEFAULT_ON, Dependencies, chain_of
from apiserver.admission.quota_ledger import StorageLedger
from apiserver.admission.webhooks.metrics import WebhookMetrics
from apiserver.aggregation.aggregator import Aggregator
from apiserver.aggregation.known_by import publish
from apiserver.aggregation.registration import Registration
from apiserver.auth.authentication import MASTERS, Authenticator, TokenSource, User
from apiserver.auth.bootstrap.users import NODE_RULES
from apiserver.auth.escalation import Escalation
from apiserver.auth.gate import Gate
from apiserver.auth.modes import RBAC, authorizer_of
from apiserver.auth.nodes.authorizer import NodeAuthorizer
from apiserver.auth.nodes.relations import Relations
from apiserver.auth.rbac import Rbac
from apiserver.auth.tokens.discovery import KEYS_PATH
from apiserver.auth.tokens.keyring import Keyring
from apiserver.auth.tokens.legacy import LegacyTokens
from apiserver.auth.tokens.requests import TokenRequests
from apiserver.auth.tokens.service_accounts import ServiceAccountTokens, TokenSettings
from apiserver.bootstrap import bootstrap, create_namespace
from apiserver.handlers import issuer_discovery, zpages
from apiserver.handlers.api import KubernetesApi
from apiserver.handlers.application import Application
from apiserver.handlers.audit import Audited
from apiserver.handlers.audit_log import AuditLog, AuditSettings
from apiserver.handlers.bodies import Decoder
from apiserver.handlers.deadlines import USUAL, Times
from apiserver.handlers.health import Check, Health
from apiserver.handlers.kubelets import Credentials, Kubelets
from apiserver.handlers.lateness import Draw, LateAnswers, Lateness, LateWatches
from apiserver.handlers.limits import InFlightLimits
from apiserver.handlers.metrics import Metrics, build_info, in_flight, stored_objects
from apiserver.handlers.openapi import OpenApiDocuments
from apiserver.handlers.proxying import Proxy
from apiserver.handlers.response import Asgi
from apiserver.handlers.subresources import SubresourceHandler
from apiserver.handlers.system import build, listed_paths
from apiserver.outgoing.outgoing import Outgoing
from apiserver.outgoing.services import ServiceResolver
from apiserver.registry.catalog import Catalog
from apiserver.registry.context import CacheReader, Machinery
from apiserver.registry.custom.conversion_metrics import ConversionMetrics
from apiserver.registry.custom.conversion_webhook import ConversionWebhooks
from apiserver.registry.custom.definitions import CustomResources
from apiserver.registry.forms import CatalogForms
from apiserver.registry.registry import Registry
from apiserver.registry.server_cluster import ServerCluster
from apiserver.resources.catalog import KINDS
from apiserver.resources.services.address_repair import AddressRepair
from apiserver.resources.services.default_range import DefaultRange
from apiserver.schema.definitions import Schema
from apiserver.storage.compaction import Compactor
from apiserver.storage.interface import Storage
from apiserver.token_tracking import TokenTracking
from apiserver.watch.cache import WatchCache
from apiserver.watch.node_pods import NodePods
from apiserver.watch.tail import Tail
from apiserver.webhooks.client import WebhookClient
from kubeloop.apimachinery.clock import Clock
from kubeloop.apimachinery.releases import git_version
from kubeloop.apimachinery.service_addresses import SERVICE_RANGE

if TYPE_CHECKING:
    from apiserver.outgoing.connections import Transports

# What a start does before the server is ready, by upstream's names.
START_HOOKS = (
    "crd-informer-synced",
    "start-system-namespaces-controller",
    "start-service-ip-repair-controllers",
    "rbac/bootstrap-roles",
    "scheduling/bootstrap-system-priority-classes",
    "bootstrap-controller",
    "start-kubernetes-service-cidr-controller",
)
# Who everybody is on a server without authentication: it listens on loopback only, where they own the machine anyway.
UNSECURED = User("kubernetes-admin", groups=(MASTERS, "system:authenticated"))


class ApiServer:
    """Storage, watch cache, stores and handlers of one server. Use `running()` around whatever calls `app`."""

    def __init__(
        self,
        storage: Storage,
        clock: Clock,
        rng: random.Random,
        *,
        token_sources: Iterable[TokenSource] = (),
        knows_certificates: bool = False,
        allow_anonymous: bool = True,
        authorization_modes: Sequence[str] = (RBAC,),
        insecure_kubectl_user: str = "",
        keyring: Keyring | None = None,
        token_settings: TokenSettings | None = None,
        keys_uri: str = KEYS_PATH,
        limits: InFlightLimits | None = None,
        times: Times = USUAL,
        audit: AuditSettings | None = None,
        admission_plugins: Collection[str] = DEFAULT_ON,
        own_address: str = "",
        webhook_transports: Transports | None = None,
        service_ranges: Sequence[str] = (SERVICE_RANGE,),
        schema: Schema | None = None,
        flags: Mapping[str, str] | None = None,
        proxy_certificate: tuple[str, str] | None = None,
        known_by: Mapping[str, str] | None = None,
        kubelet_credentials: Credentials | None = None,
        lateness: Lateness | None = None,
    ) -> None:
        """Without token sources and client certificates the server asks nobody who he is.

        `keys_uri` is where others find the public keys of service account tokens, `own_address` (HOST:PORT) where
        webhooks that name the service `kubernetes` lead. `webhook_transports` replaces the sockets that webhooks and
        aggregated API servers are called over; to the latter the server shows `proxy_certificate`, files of a
        certificate and its key, and `known_by` tells them (`aggregation/known_by.py`). `service_ranges` are the CIDRs
        that cluster IPs come from: one, or one of each family. `kubelet_credentials`: what kubelets know this server
        by. `schema` is that of another minor version: what it does not have is not served. `flags` are what /flagz
        shows. `lateness`: this server is late on purpose.
        """
        schema = schema or Schema.load()
        self._storage = storage
        self._is_started = self._is_stopping = False
        self.cache = WatchCache(storage)
        self._tail = Tail(storage, self.cache, clock)
        self._compactor = Compactor(storage, clock)
        reader = CacheReader(self.cache)
        catalog = Catalog.of(kind for kind in KINDS if schema.definition_name(*kind.gvk))
        rbac = Rbac(reader)
        nodes = NodeAuthorizer(Relations(reader, NodePods(self.cache)), NODE_RULES)
        authorizer = authorizer_of(authorization_modes, nodes, rbac)
        ledger = StorageLedger(storage, self.cache)
        forms = CatalogForms(catalog, schema)
        self._outgoing = Outgoing(ServiceResolver(reader, own_address), webhook_transports)
        webhooks = WebhookClient(self._outgoing)
        escalation, webhook_metrics = Escalation(authorizer, rbac), WebhookMetrics()
        given = Dependencies(
            reader, ledger, escalation, clock, rng, forms, webhooks, webhook_metrics, self._create_namespace
        )
        chain = chain_of(given, admission_plugins)
        cluster = ServerCluster(lambda: self.registry, reader, rng, tuple(service_ranges))
        machinery = Machinery(storage, self.cache, chain, catalog, reader, clock, rng, schema, authorizer, cluster)
        self.registry = Registry(machinery)
        self._default_range, self._address_repair = DefaultRange(self.registry), AddressRepair(machinery)
        conversions = ConversionWebhooks(webhooks, rng, clock.monotonic, ConversionMetrics())
        self._custom_resources = CustomResources(self.registry, schema.metadata_codec(), conversions.converter_of)
        sources = tuple(token_sources)
        keyring = keyring or Keyring()
        self._token_tracking = TokenTracking(self.registry, clock)
        tokens = ServiceAccountTokens(reader, keyring, clock, rng, token_settings)
        legacy_tokens = LegacyTokens(reader, keyring, tokens.settings.audiences, self._token_tracking.used)
        authenticator = Authenticator((*sources, legacy_tokens, tokens), allow_anonymous, tokens.settings.audiences)
        kubectl = User(insecure_kubectl_user, groups=UNSECURED.groups) if insecure_kubectl_user else None
        asks = bool(sources) or knows_certificates
        gate = Gate(authenticator.authenticate if asks else _unsecured, authorizer, kubectl)
        limits = limits or InFlightLimits()
        self._aggregator = Aggregator(self.registry, self._outgoing, proxy_certificate)
        self._registration = Registration(self.registry)
        self._known_by = known_by or {}
        aggregated = self._aggregator.aggregated
        self._proxy = Proxy(aggregated, self._aggregator.calls, gate, limits, times)
        self._kubelets = Kubelets(self._outgoing, kubelet_credentials or Credentials())
        metrics = Metrics(
            clock.monotonic,
            [
                gate.metrics.families,
                chain.metrics.families,
                webhook_metrics.families,
                conversions.metrics.families,
                self.cache.events.families,
                in_flight(limits),
                stored_objects(catalog, self.cache),
                self._aggregator.metrics.families,
                build_info(build(schema.version)),
            ],
        )
        requests = TokenRequests(tokens, reader, clock)
        subresources = SubresourceHandler(authenticator, authorizer, requests, self._kubelets)
        late_watches = None
        if lateness is not None and lateness.watches_seconds:
            late_watches = LateWatches(Draw(clock, lateness.rng, lateness.watches_seconds))
        decoder = Decoder(schema)
        api = KubernetesApi(
            self.registry, decoder, gate, subresources, metrics.requests, aggregated, limits, times, late_watches
        )
        openapi = OpenApiDocuments(schema, catalog, git_version(schema.version), clock.now, self._aggregator)
        health = Health(self._checks())
        application = Application(api, gate, schema.version, catalog, openapi, metrics, health, self._proxy)
        issuer_discovery.add_routes(application, tokens, keys_uri)
        zpages.add_routes(application, schema.version, clock, rng, lambda: listed_paths(catalog, health), flags or {})
        self._audit_log = AuditLog(audit, clock) if audit is not None and audit.path else None
        self.app: Asgi = application
        if audit is not None and self._audit_log is not None:
            self.app = Audited(application, self._audit_log, audit.policy, clock, rng)
            metrics.add(self._audit_log.families)
        if lateness is not None and lateness.answers_seconds:
            self.app = LateAnswers(self.app, Draw(clock, lateness.rng, lateness.answers_seconds))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the storage, fill the cache, make the objects every cluster has; then follow the log until the end."""
        await self._storage.start()
        try:
            await self._tail.load()
            self._custom_resources.start()
            self._aggregator.start()
            async with asyncio.TaskGroup() as tasks:
                background = [tasks.create_task(self._tail.run()), tasks.create_task(self._compactor.run())]
                background.append(tasks.create_task(self._custom_resources.run()))
                if self._audit_log is not None:
                    background.append(tasks.create_task(self._audit_log.run()))
                await self._default_range.sync()
                await bootstrap(self.registry)
                await self._token_tracking.start()
                background.append(tasks.create_task(self._token_tracking.run()))
                await self._address_repair.check_all()
                await self._registration.start()
                await publish(self.registry, self._known_by)
                background.append(tasks.create_task(self._registration.run()))
                background.append(tasks.create_task(self._aggregator.run()))
                background.append(tasks.create_task(self._default_range.run()))
                background.append(tasks.create_task(self._address_repair.run()))
                self._is_started = True
                yield
                for task in background:
                    task.cancel()
        finally:
            await self._outgoing.close()
            await self._storage.close()

    async def _create_namespace(self, name: str) -> None:
        await create_namespace(self.registry, name)

    def _checks(self) -> Mapping[str, Sequence[Check]]:
        """The health of the parts there are, by the names that the real server's parts have."""

        def started() -> str:
            return "" if self._is_started else "not finished"

        storage = Check("etcd", lambda: self._tail.fails)
        always = [Check("ping"), Check("log"), storage]
        loaded = Check("informer-sync", lambda: "" if self._tail.is_loaded else "the watch cache is not filled yet")
        hooks = [Check(f"poststarthook/{name}", started) for name in START_HOOKS]
        stopping = Check("shutdown", lambda: "process is shutting down" if self._is_stopping else "")
        ready = [*always, Check("etcd-readiness", storage.fails), loaded, *hooks, stopping]
        return {"healthz": [*always, *hooks], "livez": [*always, *hooks], "readyz": ready}

    def end_watches(self) -> None:
        """Let every watch end, so that the server can stop; their clients watch again elsewhere or later."""
        self._is_stopping = True
        self.cache.broadcast.close()
        self._proxy.stop()
        self._kubelets.stop()


def _unsecured(authorization: str, certified: User | None) -> User:
    return UNSECURED
