"""Damage to bytes and to JSON, drawn from a seeded generator."""

from __future__ import annotations

import json
from random import Random
from typing import Any

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2, 3, 6.0, 1.5, 2**31, 2**53, 2**64, 10**30, 10**400, -0.5, 1e308,
    float("nan"), float("inf"), "", "x", "6", "F64", "\x1b[31m", "\u202e", "\ud800", "__proto__",
    "../../../etc/passwd", "a" * 9999, [], [[]], [6], [1] * 999, {}, {"": {}}, {"__class__": 1},
)  # fmt: skip
FILES = (
    b"", b"\0", bytes(5000), b"{}", b"[]", b"null", b"[" * 200_000, b'{"a":' * 99_999, b"\xff\xfe",
    b"<html>", b"9" * 9999, b"PK\3\4" + bytes(99), b"version https://git-lfs.github.com/spec/v1\n",
)  # fmt: skip


def damaged(draw: Random, content: bytes) -> bytes:
    """Other bytes than these; of JSON mostly JSON with one wrong value."""
    at = draw.randrange(len(content) + 1)
    way = draw.randrange(9)
    if way == 0:
        flipped = bytearray(content or b"\0")
        for _ in range(draw.choice((1, 1, 5))):
            flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
        return bytes(flipped)
    return (
        content[:at] if way == 1
        else content[at:] if way == 2
        else content[:at] + draw.randbytes(draw.randrange(1, 40)) + content[at:] if way == 3
        else content + draw.choice((b"\0", b"\n", content, b"\x1b[2J")) if way == 4
        else draw.choice(FILES) if way == 5
        else edited(draw, content)
    )  # fmt: skip


def edited(draw: Random, content: bytes) -> bytes:
    """JSON with one value or name that does not belong there; of other files, one other line."""
    try:
        document = json.loads(content)
    except ValueError:
        lines = content.split(b"\n")
        lines[draw.randrange(len(lines))] = draw.choice((*FILES, draw.choice(lines)))
        return b"\n".join(lines)
    places = list(_places(document))
    if places:
        table, key = draw.choice(places)
        other, its_key = draw.choice(places)
        way = draw.random()
        if way < 0.15:
            del table[key]
        elif way < 0.3 and isinstance(table, dict):
            table[draw.choice(("", "\x1b[31m", "x" * 999, "__proto__", its_key))] = table.pop(key)
        elif way < 0.5:
            table[key], other[its_key] = other[its_key], table[key]
        elif way < 0.6 and isinstance(table[key], list):
            table[key] = draw.choice([table[key][::-1], table[key][:1], table[key] * 2])
        elif way < 0.7 and isinstance(table[key], int):
            table[key] += draw.choice((-4, -1, 1, 4))
        else:
            table[key] = draw.choice(ODD)
    return _dumps(document)


def _places(value: Any) -> Any:
    """Each list or object in a document, with each of its keys."""
    for key in (
        value if isinstance(value, dict) else range(len(value) if type(value) is list else 0)
    ):
        yield value, key
        yield from _places(value[key])


def _dumps(document: Any) -> bytes:
    try:
        return json.dumps(document).encode("utf-8", "surrogatepass")
    except (ValueError, TypeError):  # a swap made a circle, or a name of a number
        return b"[]"
