"""Why a call to another server came to nothing."""

from __future__ import annotations


class CallError(Exception):
    """There was no answer; the text is the one Go's client has for it. `why`: the same without what was asked."""

    def __init__(self, text: str, why: str = "") -> None:
        super().__init__(text)
        self.why = why or text


class UnusableTrust(CallError):
    """No TLS client can be made of what was said about certificates: nobody was called."""
