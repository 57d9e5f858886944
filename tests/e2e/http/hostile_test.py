#!/usr/bin/python3
"""Requests over HTTP that are broken, huge, slow or built to be read in two ways.

Each is answered with a Connect error, or its connection ends; none with a 500, and none costs the
planner memory.
"""

import glob
import gzip
import http.client
import json
import os
import random
import socket
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from sextantd import ROOT, Server  # noqa: E402
from under_flood import status  # noqa: E402

MIB = 1 << 20
MOST_BODY_BYTES = MIB
MOST_GROWTH = 8 * MIB
MUTATIONS = 10_000
SEED = 49
PLAN = "/sextant.v1.PlanningService/PlanRun"
JSON = "Content-Type: application/json"
STREAM = "Content-Type: application/connect+json"
CODES = {400: {"invalid_argument", "failed_precondition", "out_of_range"},
         404: {"not_found", "unimplemented"}, 408: {"deadline_exceeded"}, 411: {"invalid_argument"},
         413: {"resource_exhausted"}, 415: {"invalid_argument", "unimplemented", "unknown"},
         429: {"resource_exhausted"}, 431: {"resource_exhausted", "invalid_argument"},
         405: {"unimplemented"}, 403: {"permission_denied"}, 501: {"unimplemented"},
         504: {"deadline_exceeded"}}
WORDS = [b"\xff", b"\xc3", b"\x00", b"{", b"}", b"[", b"]", b'"', b"\\", b"\\ud800", b"1e400",
         b"-1", b"null", b"NaN", b",", b":", b"99999999999999999999", b'"@type":"x",',
         b"\xed\xa0\x80"]


def post(path, body, *headers):
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *headers]
    if not any(line.lower().startswith(("content-length", "transfer-encoding")) for line in lines):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def chunked(body, size=4096):
    parts = [body[at:at + size] for at in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def envelope(flag, body):
    return bytes([flag]) + len(body).to_bytes(4, "big") + body


class Wire:
    """A connection on which anything can be sent."""

    def __init__(self, server, timeout=30):
        host, _, port = server.http.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), timeout=timeout)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass  # it has answered, and reads no further

    def answer(self):
        """Status, headers and body; None where the connection ends without an answer."""
        response = http.client.HTTPResponse(self.socket, method="POST")
        try:
            response.begin()
            return response.status, response.headers, response.read()
        except (http.client.HTTPException, OSError):
            return None
        finally:
            response.close()


def check_error(name, answered):
    code, headers, body = answered
    assert headers["Content-Type"] == "application/json", (name, code, headers.items())
    error = json.loads(body.decode())
    assert error["code"] in CODES[code], (name, code, error)
    assert error["message"] and "\n" not in error["message"], (name, error)
    for detail in error.get("details", []):
        assert detail["type"].startswith("google.rpc."), (name, detail)
    return error


def check_one(server, name, data, expected):
    """`expected`: the status of the error; None: the connection ends."""
    with Wire(server) as wire:
        wire.send(data)
        answered = wire.answer()
        if expected is None and answered is None:
            return
        assert answered is not None and answered[0] == expected, (name, answered)
        check_error(name, answered)


def broken_requests():
    good = b'{"model":{"preset":"llama-3.1-8b"}}'
    big = b'{"model":{"preset":"' + b"x" * MOST_BODY_BYTES + b'"}}'
    bomb = gzip.compress(b" " * (300 * MIB), 9)
    deep = b'{"graph":' * 10_000
    both = ("Content-Length: 35", "Transfer-Encoding: chunked")
    yield "nested 10,000 deep", post(PLAN, deep, JSON), 400
    yield "lists 100,000 deep", post(PLAN, b"[" * 100_000, JSON), 400
    yield "a million empty messages", post(
        "/sextant.v1.PlanningService/BatchPlanRuns",
        b'{"runs":[' + b"{}," * (MOST_BODY_BYTES // 3 - 100) + b"{}]}", JSON), 400
    yield "numbers that are longer in protobuf", post(
        "/sextant.v1.AccountingService/AnalyzeTensor",
        b'{"tensor":{"shape":[' + b"-1," * 340_000 + b"1]}}", JSON), 413
    yield "a body over the limit", post(PLAN, big, JSON), 413
    yield "a chunked body over the limit", post(
        PLAN, chunked(big), JSON, "Transfer-Encoding: chunked"), 413
    yield "a length over the limit", post(
        PLAN, b"", JSON, "Content-Length: 99999999999999999999"), 413
    yield "two lengths", post(PLAN, good, JSON, "Content-Length: 35", "Content-Length: 35"), 400
    yield "a length and chunks", post(PLAN, good, JSON, *both), 400
    yield "no length", f"POST {PLAN} HTTP/1.1\r\nHost: localhost\r\n{JSON}\r\n\r\n".encode(), 411
    for size in (b"-1", b"0x5", b"+5", b"5 5", b"", b"f" * 18):
        yield f"a chunk of {size}", post(
            PLAN, size + b"\r\n" + good, JSON, "Transfer-Encoding: chunked"), 400
    yield "an encoding of frames", post(PLAN, good, JSON, "Transfer-Encoding: gzip"), 400
    yield "a NUL in the head", post(PLAN, good, JSON, "X-Name: a\0b"), 400
    yield "a NUL in the body", post(PLAN, b'{"model":{"preset":"a\0b"}}', JSON), 400
    yield "an empty body", post(PLAN, b"", JSON), 400
    yield "a list", post(PLAN, b"[]", JSON), 400
    yield "no protobuf", post(PLAN, b"\xff" * 100, "Content-Type: application/proto"), 400
    yield "another type", post(PLAN, good, "Content-Type: text/plain"), 415
    yield "no type", post(PLAN, good), 415
    yield "a stream's type", post(PLAN, good, STREAM), 415
    yield "long headers", post(PLAN, good, JSON, "X-Long: " + "x" * 20_000), 431
    yield "a bomb", post(PLAN, bomb, JSON, "Content-Encoding: gzip"), 501
    yield "brotli", post(PLAN, good, JSON, "Content-Encoding: br"), 501
    yield "no such page", post("/no/such/page", good, JSON), 404
    yield "another host", post(PLAN, good, JSON).replace(b"127.0.0.1", b"evil.example"), 403
    yield "another page", post(PLAN, good, JSON, "Origin: http://evil.example"), 403
    for timeout in ("0", "-5", "abc", "99999999999", "1.5", " "):
        yield f"a time limit of {timeout!r}", post(
            PLAN, good, JSON, f"Connect-Timeout-Ms: {timeout}"), 400
    yield "another version", post(PLAN, good, JSON, "Connect-Protocol-Version: 2"), 400


def broken_streams():
    """Bodies of a stream: each is answered 200, with one envelope that holds the error."""
    good = b'{"model":{"preset":"llama-3.1-8b"}}'
    yield "no envelope", b"", "invalid_argument"
    yield "half an envelope", envelope(0, good)[:-5], "invalid_argument"
    yield "half a head", b"\0\0", "invalid_argument"
    yield "a flag", envelope(4, good), "invalid_argument"
    yield "compressed", envelope(1, good), "invalid_argument"
    yield "two messages", envelope(0, good) * 2, "invalid_argument"
    yield "a length over the limit", b"\0\xff\xff\xff\xff" + good, "invalid_argument"
    yield "no JSON", envelope(0, b"\xff{"), "invalid_argument"


def check_stream(server, name, body, code):
    with Wire(server) as wire:
        wire.send(post("/sextant.v1.PlanningService/WatchPlanRun", body, STREAM))
        answered = wire.answer()
    assert answered is not None and answered[0] == 200, (name, answered)
    content = answered[2]
    assert content[0] == 2 and int.from_bytes(content[1:5], "big") == len(content) - 5, content
    error = json.loads(content[5:])["error"]
    assert error["code"] in (code, "resource_exhausted"), (name, error)


def mutated(seeds, chance):
    body = bytearray(chance.choice(seeds))
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(body) + 1)
        kind = chance.randrange(6)
        if kind > 3:  # one that is JSON as before
            digits = [place for place, byte in enumerate(body) if 48 <= byte < 58]
            body[chance.choice(digits)] = chance.randrange(48, 58)
        elif kind == 0:
            body[at:at + chance.randint(1, 20)] = b""
        elif kind == 1:
            body[at:at] = chance.choice(WORDS)
        elif kind == 2 and at < len(body):
            body[at] = chance.randrange(256)
        else:
            other = chance.randrange(len(body) + 1)
            body[at:at] = body[other:other + chance.randint(1, 40)]
    return bytes(body)


def check_mutations(server):
    """All on one connection, which none of them ends."""
    paths = {"batch_plan_runs": "PlanningService/BatchPlanRuns",
             "size_cluster": "PlanningService/SizeCluster",
             "size_model": "PlanningService/SizeModel",
             "allocate_compute": "PlanningService/AllocateCompute",
             "count_model": "AccountingService/CountModel",
             "plan_run": "PlanningService/PlanRun", "matmul": "AccountingService/AnalyzeOperation"}
    seeds = {}
    for file in glob.glob(os.path.join(ROOT, "docs", "examples", "*.json")):
        name = os.path.basename(file).removesuffix(".json")
        if name in paths:
            with open(file, "rb") as content:
                seeds.setdefault(paths[name], []).append(
                    json.dumps(json.load(content)).encode())
    assert len(seeds) == len(paths), seeds.keys()
    chance = random.Random(SEED)
    answers = {}
    with Wire(server, timeout=60) as wire:
        for index in range(MUTATIONS):
            path = chance.choice(sorted(seeds))
            body = mutated(seeds[path], chance)
            wire.send(post(f"/sextant.v1.{path}", body, JSON, "Connect-Timeout-Ms: 20"))
            answered = wire.answer()
            assert answered is not None, (index, path, body)
            answers[answered[0]] = answers.get(answered[0], 0) + 1
            if answered[0] == 200:
                json.loads(answered[2])
            else:
                check_error((index, path, body), answered)
    print(f"{MUTATIONS} mutated bodies: {answers}", flush=True)
    assert answers.get(200, 0) > 100 and answers.get(400, 0) > 100, answers


def check_slow(server):
    """Bodies and readers that take their time: they are ended, and pages are read meanwhile."""
    def drip(results):
        with Wire(server, timeout=60) as wire:
            wire.send(post(PLAN, b"", JSON, "Content-Length: 1000"))
            start = time.monotonic()
            while time.monotonic() < start + 60:
                try:
                    wire.socket.sendall(b" ")
                    wire.socket.settimeout(0.5)
                    if wire.socket.recv(1, socket.MSG_PEEK) is not None:
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            wire.socket.settimeout(10)
            results.append(wire.answer())
    results = []
    threads = [threading.Thread(target=drip, args=(results,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        with urllib.request.urlopen(f"http://{server.http}/healthz", timeout=10) as page:
            assert page.status == 200
        time.sleep(0.2)
    for answered in results:
        if answered is not None:  # an ended connection may take its answer along
            assert answered[0] == 408, answered
            check_error("a slow body", answered)
    assert any(results), results


def main():
    is_sanitized = "--sanitized" in sys.argv  # its memory is not the planner's own
    with Server("--role=planner", "--log_calls=none") as server:
        check_mutations(server)
        before = status(server.process, "VmHWM")
        for name, data, expected in broken_requests():
            check_one(server, name, data, expected)
            peak = status(server.process, "VmHWM")
            assert is_sanitized or peak - before < MOST_GROWTH, (name, peak - before)
            before = peak
        for each in broken_streams():
            check_stream(server, *each)
        check_slow(server)
        with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=10) as page:
            page.read()
        server.terminate()
        assert server.process.wait(timeout=60) == 0, "it has to end as it should"
    print("every request was answered, or its connection ended")
    return 0


if __name__ == "__main__":
    sys.exit(main())
