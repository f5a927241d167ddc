"""A silent film as an MP4 file, from pictures that an encoder has already made into H.264.

Only what a player needs: one track, pictures of equal length, the index before the data
(ISO/IEC 14496-12 and -15).
"""

from __future__ import annotations

import struct
from itertools import accumulate

TICKS = 1000  # of a second, and of a film
MATRIX = struct.pack(">9I", 0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)


def box(kind: str, *parts: bytes) -> bytes:
    data = b"".join(parts)
    return struct.pack(">I4s", 8 + len(data), kind.encode()) + data


def numbers(*values: int) -> bytes:
    return struct.pack(f">{len(values)}I", *values)


def listed(kind: str, rows: list[tuple[int, ...]]) -> bytes:
    """A table: version and flags, how many rows, the rows."""
    return box(kind, numbers(0, len(rows), *(n for row in rows for n in row)))


Pictures = list[tuple[bool, bytes]]  # whether one is a key picture, and its data


def mp4(pictures: Pictures, config: bytes, size: tuple[int, int], rate: int) -> bytes:
    """A film of so many ``pictures`` a second.

    ``config`` is the encoder's AVCDecoderConfigurationRecord.
    """
    head = box("ftyp", b"isom", numbers(512), b"isomavc1mp41")
    data = [data for _, data in pictures]
    first = len(head) + len(index(pictures, config, size, rate, 0)) + 8
    return head + index(pictures, config, size, rate, first) + box("mdat", *data)


def index(pictures: Pictures, config: bytes, size: tuple[int, int], rate: int, first: int) -> bytes:
    """The box moov, where the first picture's data begin at the byte ``first``."""
    width, height = size
    sizes = [len(data) for _, data in pictures]
    length = len(pictures) * TICKS // rate
    entry = box(
        "avc1",
        bytes(6) + b"\0\1" + bytes(16),
        struct.pack(">HH", width, height),
        numbers(0x480000, 0x480000, 0) + b"\0\1" + bytes(32) + b"\0\x18\xff\xff",
        box("avcC", config),
    )
    table = box(
        "stbl",
        box("stsd", numbers(0, 1), entry),
        listed("stts", [(len(sizes), TICKS // rate)]),
        listed("stss", [(n,) for n, (key, _) in enumerate(pictures, 1) if key]),
        listed("stsc", [(1, 1, 1)]),
        box("stsz", numbers(0, 0, len(sizes), *sizes)),
        listed("stco", [(first + n,) for n in accumulate([0, *sizes[:-1]])]),
    )
    reference = box("dinf", box("dref", numbers(0, 1), box("url ", numbers(1))))
    media = box(
        "mdia",
        box("mdhd", numbers(0, 0, 0, TICKS, length), b"\x55\xc4\0\0"),
        box("hdlr", numbers(0, 0), b"vide", bytes(13)),
        box("minf", box("vmhd", numbers(1, 0, 0)), reference, table),
    )
    track = box(
        "tkhd",
        numbers(3, 0, 0, 1, 0, length, 0, 0, 0, 0),
        MATRIX,
        numbers(width << 16, height << 16),
    )
    rates = numbers(0x10000) + b"\1\0" + bytes(10)
    film = box("mvhd", numbers(0, 0, 0, TICKS, length), rates, MATRIX, bytes(24), numbers(2))
    return box("moov", film, box("trak", track, media))
