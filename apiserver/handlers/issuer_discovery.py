"""The two documents of OpenID Connect discovery, as FastAPI routes: with them others can verify our tokens."""

from __future__ import annotations

import orjson
from fastapi import FastAPI
from fastapi.responses import Response as HttpResponse

from apiserver.auth.tokens import discovery
from apiserver.auth.tokens.service_accounts import ServiceAccountTokens

_CACHED = {"cache-control": "public, max-age=3600"}


def add_routes(app: FastAPI, tokens: ServiceAccountTokens, keys_uri: str) -> None:
    """Attach both to the application."""

    @app.get(discovery.CONFIGURATION_PATH)
    async def configuration() -> HttpResponse:
        document = await discovery.configuration(tokens, keys_uri)
        return HttpResponse(orjson.dumps(document), media_type="application/json", headers=_CACHED)

    @app.get(discovery.KEYS_PATH)
    async def key_set() -> HttpResponse:
        document = await discovery.key_set(tokens)
        return HttpResponse(orjson.dumps(document), media_type="application/jwk-set+json", headers=_CACHED)
