"""Owner references named twice: the API server keeps each once, and tells whoever sent them.

Called by the store before admission, and after it again, for webhooks write them too. Facts and words are those of
apiserver/pkg/endpoints/handlers/rest.go (v1.36). Costs one look where there are fewer than two references.
"""

from __future__ import annotations

import orjson

from apiserver.registry.options import Warnings
from kubeloop.apimachinery.meta import Object

_FOUND = ".metadata.ownerReferences contains duplicate entries"
_ADVICE = (
    "; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; "
    "please fix your requests; duplicate UID(s) observed: "
)


def drop_repeated_owners(obj: Object, warnings: Warnings, *, is_late: bool = False) -> None:
    """Leave out references that equal an earlier one; `is_late`: admission has run already."""
    references = obj["metadata"].get("ownerReferences")
    if not references or len(references) < 2:
        return
    kept: dict[bytes, Object] = {}
    repeated: list[str] = []
    for reference in references:
        identity = orjson.dumps(reference, option=orjson.OPT_SORT_KEYS)
        if identity in kept:
            repeated.append(reference.get("uid", ""))
        else:
            kept[identity] = reference
    if not repeated:
        return
    obj["metadata"]["ownerReferences"] = list(kept.values())
    when = " after mutating admission happens" if is_late else ""
    warnings.add(f"{_FOUND}{when}{_ADVICE}{', '.join(repeated)}")
