"""AlwaysDeny: nobody writes anything. Upstream has it for tests."""

from __future__ import annotations

from apiserver.admission.chain import CONNECT, CREATE, DELETE, UPDATE, Attributes, Plugin


class AlwaysDeny(Plugin):
    operations = frozenset({CONNECT, CREATE, DELETE, UPDATE})

    async def admit(self, attributes: Attributes) -> None:
        raise attributes.forbidden("admission control is denying all modifications")
