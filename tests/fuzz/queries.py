"""Query strings and paths: every option there is, with values that it does and does not take."""

from __future__ import annotations

import random
from urllib.parse import quote

from tests.fuzz import junk

_OPTIONS: dict[str, tuple[str, ...]] = {
    "watch": ("true", "1", "false", "0", "maybe", ""),
    "allowWatchBookmarks": ("true", "x"),
    "sendInitialEvents": ("true", "false", "x"),
    "resourceVersion": ("0", "1", "5", "999999999", "-1", "x", ""),
    "resourceVersionMatch": ("Exact", "NotOlderThan", "x", ""),
    "limit": ("0", "1", "3", "-1", "x"),
    "continue": ("x", "e30", "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhXHUwMDAwIn0",
                 "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6LTEsInN0YXJ0IjoiLi4vYSJ9", "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6Ij8iLCJzdGFydCI6W119", "bnVsbA", "WzFd", "MQ"),
    "labelSelector": ("app=web", "app in (a,b)", "!app", "app", "app!=x,y", "a=b=c", "app in ()", "app>1", "app>x"),
    "fieldSelector": ("metadata.name=a", "metadata.namespace!=a", "spec.nodeName=", "status.phase=Running", "x=y", "type=Opaque", "involvedObject.name=a"),
    "timeoutSeconds": ("1", "0", "-1", "x"),
    "dryRun": ("All", "x", "", "all"),
    "fieldManager": ("me", "", "x" * 200, "a\nb"),
    "fieldValidation": ("Strict", "Warn", "Ignore", "x", ""),
    "force": ("true", "false", "x", ""),
    "gracePeriodSeconds": ("0", "30", "-1", "x"),
    "propagationPolicy": ("Foreground", "Background", "Orphan", "x"),
    "orphanDependents": ("true", "false", "x"),
    "pretty": ("true", "x"),
    "includeObject": ("None", "Metadata", "Object", "x"),
    "follow": ("false", "x"),
    "tailLines": ("1", "-1", "x"),
    "sinceSeconds": ("1", "0", "x"),
    "sinceTime": ("2026-01-02T03:04:05Z", "x"),
    "limitBytes": ("1", "0", "x"),
    "container": ("a", "x/y"),
    "command": ("sh",),
    "stdin": ("true", "x"),
    "path": ("/", "a/b", "//"),
    "ports": ("80", "x"),
    "shardSelector": ("shardRange(object.metadata.uid, '0x0', '0x8')", "x"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": ("true", "x"),
}  # fmt: skip
_NAMES = tuple(_OPTIONS)
_RAW = ("=", "&", "&&", "=&=", "%", "%zz=1", "a%00=b", "limit", "limit=1;continue=x", "watch=%ff", "?", "a" * 5000 + "=1", "&".join(["limit=1"] * 2000), "labelSelector=%ff%fe", "x[]=1", "+", "%2B=%2B", "continue=%00")  # fmt: skip


def query(rng: random.Random, names: tuple[str, ...] = _NAMES) -> str:
    """What follows the question mark, already escaped, more or less."""
    if rng.random() < 0.06:
        return rng.choice(_RAW)
    chosen = [rng.choice(names) for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4)))]
    return "&".join(f"{name}={_value(rng, name)}" for name in chosen)


def _value(rng: random.Random, name: str) -> str:
    value = rng.choice(_OPTIONS[name]) if rng.random() < 0.7 else rng.choice(junk.TEXTS[:-1])
    return quote(value, safe="" if rng.random() < 0.9 else "=,()!")


LIST = ("watch", "allowWatchBookmarks", "sendInitialEvents", "resourceVersion", "resourceVersion", "resourceVersionMatch", "limit", "limit", "continue",
        "continue", "labelSelector", "labelSelector", "fieldSelector", "fieldSelector", "timeoutSeconds", "includeObject", "shardSelector")  # fmt: skip
WRITE = ("dryRun", "fieldManager", "fieldValidation", "fieldValidation", "force", "pretty")
DELETE = ("dryRun", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "labelSelector", "fieldSelector", "limit", "continue", "resourceVersion",
          "ignoreStoreReadErrorWithClusterBreakingPotential")  # fmt: skip


def name(rng: random.Random, usual: tuple[str, ...]) -> str:
    """A path segment."""
    if rng.random() < 0.93:
        return rng.choice(usual)
    text = rng.choice(junk.TEXTS[:-1])
    return quote(text, safe="/" if rng.random() < 0.3 else "")


_PATHS = (
    "/", "", "*", "//", "/api", "/api/", "/apis", "/apis/", "/api/v1", "/api/v1/", "/api/v2", "/api/v1/x", "/api//v1//pods", "/api/v1/pods/a", "/api/v1/namespaces/a", "/api/v1/namespaces//pods",
    "/api/v1/namespaces/a/pods/b/c/d/e", "/api/v1/watch", "/api/v1/watch/", "/api/v1/watch/x", "/api/v1/watch/namespaces/a", "/api/v1/proxy/x", "/api/v1/namespaces/a/namespaces/b", "/api/v1/%2e%2e/x", "/api/v1/../v1/pods",
    "/apis/apps", "/apis/apps/", "/apis/apps/v1", "/apis/apps/v9", "/apis/apps/v1/deployments/x/y", "/apis/x", "/apis/x/y", "/apis/x/y/z", "/apis/%00", "/apis/apps%2fv1/deployments", "/apis/apps/v1/deployments%20",
    "/version", "/version/", "/healthz", "/livez", "/readyz", "/readyz/x", "/readyz?verbose", "/healthz/ping?verbose&exclude=x", "/metrics", "/metrics/x", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/openapi/v3/x", "/openapi/v3/apis/apps/v1",
    "/openapi/v3/apis/apps/v9", "/openid/v1/jwks", "/.well-known/openid-configuration", "/logs", "/debug/pprof", "/favicon.ico", "/docs", "/openapi.json", "/%", "/%zz", "/%ff", "/\xff", "/api/v1/namespaces/%ff/pods",
    "/api/v1/namespaces/%ed%a0%80/configmaps/a", "http://127.0.0.1/api/v1/pods?limit=1", "http://x/api", "/api/v1/nodes/a/proxy/", "/api/v1/nodes/a/proxy/logs", "/api/v1/namespaces/a/services/b:c:d/proxy/x", "/api/v1/namespaces/a/services/https:b:/proxy",
    "/api/v1/namespaces/a/pods/b:99999/proxy/", "/api/v1/namespaces/fuzz/pods/a/proxy/%2e%2e/", "/api/v1/namespaces/fuzz/pods/a/exec?command=x", "/api/v1/namespaces/fuzz/pods/a/log", "/api/v1/namespaces/fuzz/serviceaccounts/default/token",
    "/" + "a" * 9000, "/" + "a/" * 4000, "/api/v1/namespaces/" + "a" * 5000 + "/pods", "/api/v1;x=y/pods", "/API/V1/PODS", "/api/v1/pods#x", "/api/v1/pods??", "/api/v1/pods?#",
)  # fmt: skip


def path(rng: random.Random) -> str:
    """A path that is hardly one: listed ones, and those with something put in or behind."""
    chosen = rng.choice(_PATHS)
    if rng.random() < 0.6:
        return chosen
    at = rng.randrange(len(chosen) + 1) if rng.random() < 0.5 else len(chosen)
    return (
        chosen[:at]
        + rng.choice(
            (
                "/",
                "x",
                "v2",
                "%2F",
                "%00",
                "?",
                "?hash=x",
                "?timeout=1s",
                "?verbose",
                ".",
                "..",
                ";",
                "%",
                "/../",
                "/x",
                "%C3%A9",
            )
        )
        + chosen[at:]
    )
