"""What a relying party needs to verify service account tokens by itself: OpenID Connect discovery.

Served at /.well-known/openid-configuration and /openid/v1/jwks by `handlers/issuer_discovery.py`.
"""

from __future__ import annotations

from apiserver.auth.tokens.service_accounts import ServiceAccountTokens
from kubeloop.apimachinery.meta import Object

CONFIGURATION_PATH = "/.well-known/openid-configuration"
KEYS_PATH = "/openid/v1/jwks"


async def configuration(tokens: ServiceAccountTokens, keys_uri: str) -> Object:
    """Who issues the tokens, and where its keys are."""
    algorithms = {key.algorithm for key in await tokens.keyring.published()}
    return {
        "issuer": tokens.settings.issuers[0],
        "jwks_uri": keys_uri,
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": sorted(algorithms),
    }


async def key_set(tokens: ServiceAccountTokens) -> Object:
    """The public keys as a JSON web key set."""
    return {"keys": [key.web_key() for key in await tokens.keyring.published()]}
