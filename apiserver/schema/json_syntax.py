"""What Go's encoding/json has against a text that is not JSON.

A scanner over bytes that follows the grammar and stops at the first byte that cannot stand where it stands. Only texts
that a fast parser refused come here, so it is written to be read, not to be quick.
"""

from __future__ import annotations

from kubeloop.apimachinery.depth import MAX_DEPTH

END = "unexpected end of JSON input"
TOO_DEEP = "exceeded max depth"
_SPACE = b" \t\r\n"
_DIGITS = b"0123456789"
_LITERALS = {ord("t"): b"true", ord("f"): b"false", ord("n"): b"null"}


class _Complaint(Exception):
    """The scanner's way out; the text is encoding/json's message."""


def complaint(raw: bytes) -> str | None:
    """The message of encoding/json for `raw`, None where it is sound JSON."""
    try:
        scanner = _Scanner(raw)
        scanner.value()
        scanner.end()
    except _Complaint as error:
        return str(error)
    return None


class _Scanner:
    """Reads one value; `_position` is the next byte."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._position = 0

    def value(self) -> None:
        """Scans a value without recursion, for nesting may be deeper than Python's stack."""
        closers: list[int] = []  # the closing byte of every list and object the scanner is in
        while True:
            byte = self._significant()
            if byte in b"[{":
                self._position += 1
                if len(closers) == MAX_DEPTH:
                    self._position -= 1
                    self._refuse(TOO_DEEP)
                if self._opens_empty(byte):
                    pass  # the value is complete
                else:
                    closers.append(ord("]") if byte == ord("[") else ord("}"))
                    if byte == ord("{"):
                        self._key("looking for beginning of object key string")
                    continue
            else:
                self._scalar(byte)
            if self._closes(closers):
                return

    def end(self) -> None:
        """Only white space may follow."""
        while self._position < len(self._raw):
            if self._raw[self._position] not in _SPACE:
                self._refuse("after top-level value")
            self._position += 1

    def _closes(self, closers: list[int]) -> bool:
        """After a value: closes what ends here; whether that was everything."""
        while closers:
            byte = self._significant()
            if byte == closers[-1]:
                closers.pop()
                self._position += 1
                continue
            in_list = closers[-1] == ord("]")
            if byte != ord(","):
                self._refuse("after array element" if in_list else "after object key:value pair")
            self._position += 1
            if not in_list:
                self._key("looking for beginning of object key string")
            return False
        return True

    def _opens_empty(self, opener: int) -> bool:
        if self._significant() != (ord("]") if opener == ord("[") else ord("}")):
            return False
        self._position += 1
        return True

    def _key(self, context: str) -> None:
        if self._significant() != ord('"'):
            self._refuse(context)
        self._string()
        if self._significant() != ord(":"):
            self._refuse("after object key")
        self._position += 1

    def _scalar(self, byte: int) -> None:
        if byte == ord('"'):
            self._string()
        elif byte in _LITERALS:
            self._literal(_LITERALS[byte])
        elif byte == ord("-") or byte in _DIGITS:
            self._number()
        else:
            self._refuse("looking for beginning of value")

    def _literal(self, word: bytes) -> None:
        for expected in word:
            if self._byte() != expected:
                self._refuse(f"in literal {word.decode()} (expecting {_quoted(expected)})")
            self._position += 1

    def _string(self) -> None:
        self._position += 1
        while (byte := self._byte()) != ord('"'):
            if byte < 0x20:
                self._refuse("in string literal")
            self._position += 1
            if byte == ord("\\"):
                self._escape()
        self._position += 1

    def _escape(self) -> None:
        byte = self._byte()
        if byte not in b'bfnrt\\/"u':
            self._refuse("in string escape code")
        self._position += 1
        if byte == ord("u"):
            for _ in range(4):
                if self._byte() not in b"0123456789abcdefABCDEF":
                    self._refuse("in \\u hexadecimal character escape")
                self._position += 1

    def _number(self) -> None:
        if self._byte() == ord("-"):
            self._position += 1
        if self._byte() == ord("0"):
            self._position += 1
        else:
            self._digits("in numeric literal")
        if self._next_is(b"."):
            self._position += 1
            self._digits("after decimal point in numeric literal")
        if self._next_is(b"eE"):
            self._position += 1
            if self._next_is(b"+-"):
                self._position += 1
            self._digits("in exponent of numeric literal")

    def _digits(self, context: str) -> None:
        if self._byte() not in _DIGITS:
            self._refuse(context)
        while self._next_is(_DIGITS):
            self._position += 1

    def _next_is(self, allowed: bytes) -> bool:
        return self._position < len(self._raw) and self._raw[self._position] in allowed

    def _significant(self) -> int:
        """The next byte that is no white space, not yet read."""
        while self._next_is(_SPACE):
            self._position += 1
        return self._byte()

    def _byte(self) -> int:
        if self._position >= len(self._raw):
            raise _Complaint(END)
        return self._raw[self._position]

    def _refuse(self, context: str) -> None:
        raise _Complaint(f"invalid character {_quoted(self._raw[self._position])} {context}")


def _quoted(byte: int) -> str:
    """One byte in single quotes, as encoding/json shows it."""
    special = {ord("'"): "\\'", ord('"'): '"', 0x07: "\\a", 0x08: "\\b", 0x0C: "\\f", 0x0A: "\\n", 0x0D: "\\r"}
    special |= {0x09: "\\t", 0x0B: "\\v", ord("\\"): "\\\\"}
    character = chr(byte)
    if byte in special:
        shown = special[byte]
    elif character.isprintable():
        shown = character
    else:
        shown = f"\\x{byte:02x}" if byte < 0x80 else f"\\u{byte:04x}"
    return f"'{shown}'"
