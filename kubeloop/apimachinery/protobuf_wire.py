"""The protobuf wire format: a message's bytes taken apart into numbered chunks, without knowing what they mean."""

from __future__ import annotations

import struct
from collections.abc import Iterator

Chunk = int | float | bytes  # a varint, a 64-bit float, or anything with a length
Message = dict[int, list[Chunk]]

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT_BYTES = 10
_DOUBLE = struct.Struct("<d")
_FLOAT = struct.Struct("<f")


class ProtobufError(ValueError):
    """Bytes that are no protobuf message, or not the expected one."""


def read_message(data: bytes) -> Message:
    """Every field's chunks, in their order; ProtobufError where the bytes end early or make no sense."""
    message: Message = {}
    position, end = 0, len(data)
    while position < end:
        tag, position = _varint(data, position)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number < 2**29:
            raise ProtobufError(f"proto: illegal tag {number} (wire type {wire_type})")
        chunk: Chunk
        if wire_type == _VARINT:
            chunk, position = _varint(data, position)
        elif wire_type == _BYTES:
            length, position = _varint(data, position)
            chunk, position = _slice(data, position, length), position + length
        elif wire_type == _FIXED64:
            chunk, position = _DOUBLE.unpack(_slice(data, position, 8))[0], position + 8
        elif wire_type == _FIXED32:
            chunk, position = _FLOAT.unpack(_slice(data, position, 4))[0], position + 4
        else:  # groups, which Kubernetes never uses
            raise ProtobufError(f"proto: illegal wireType {wire_type}")
        message.setdefault(number, []).append(chunk)
    return message


def packed_integers(data: bytes) -> Iterator[int]:
    """The varints of a packed list."""
    position = 0
    while position < len(data):
        number, position = _varint(data, position)
        yield number


def packed_doubles(data: bytes) -> Iterator[float]:
    """The floats of a packed list."""
    if len(data) % _DOUBLE.size:
        raise ProtobufError("unexpected EOF")
    return (number for (number,) in _DOUBLE.iter_unpack(data))


def _varint(data: bytes, position: int) -> tuple[int, int]:
    result = 0
    for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
        if position >= len(data):
            raise ProtobufError("unexpected EOF")
        byte = data[position]
        position += 1
        result |= (byte & 0x7F) << shift
        if byte < 0x80:
            return result & 0xFFFFFFFFFFFFFFFF, position
    raise ProtobufError("proto: integer overflow")


def _slice(data: bytes, position: int, length: int) -> bytes:
    if position + length > len(data):
        raise ProtobufError("unexpected EOF")
    return data[position : position + length]
