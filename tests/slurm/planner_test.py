#!/usr/bin/python3
"""sextant/planner.lua against a real planner, and against those that answer as none should."""

import concurrent.futures
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from hooked import PATIENT, StandIn, drip, flood, reply, silent
from sextantd import ROOT, SKIPPED, Server

WORDS = "llama-3.1-8b --tp=2 --gbs=64 --sequence-length=8192"
DEADLINE = 300
LATE = range(DEADLINE - 1, DEADLINE + 1000)  # a busy host is slow to wake
HEAD = b"HTTP/1.1 200 OK\r\n"
FITS = b'{"verdict":"VERDICT_FITS","message":"FITS: it"}'
UNCLEAR = json.dumps({"code": "invalid_argument", "message": "budget: no", "details": [
    {"debug": {"fieldViolations": [{"field": "words", "description": "no"},
                                   {"field": "budget", "description": "no"}]}}]}).encode()


def usable():
    """The Lua versions here that have LuaSocket and cjson."""
    return [version for version in ("lua5.1", "lua5.3", "lua5.4") if shutil.which(version) and
            subprocess.run([version, "-e", 'require "socket.unix" require "cjson.safe"'],
                           capture_output=True, check=False).returncode == 0]


def ask(version, address, *what, breaker=30, deadline=DEADLINE):
    """(milliseconds, kind, text) of each answer."""
    run = subprocess.run(
        [version, os.path.join(ROOT, "tests", "slurm", "lua", "ask.lua"), ROOT, address,
         str(deadline), str(breaker), *map(str, what)],
        capture_output=True, text=True, errors="strict", timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    lines = [line.split("\t", 2) for line in run.stdout.split("\n")[:-1]]
    return [(int(took), kind, said) for took, kind, said in lines]


def check_real(version):
    """A real planner's answers, and its silence when it is stopped and killed."""
    with Server("--role=planner") as server:
        answers = ask(version, server.http, f"{WORDS} --tokens=1T", f"{WORDS} --zero=optimizer",
                      "/etc/shadow", "llama-3.1-8b --emit-to=x", "%FF%FE",
                      " ".join(f"--wrong{index}=1" for index in range(300)), "",
                      deadline=PATIENT)
        does_not, fits, file, output, bytes_, long, empty = answers
        assert does_not[1] == "DOES_NOT_FIT" and "16 x h100-sxm" in does_not[2], does_not
        message, change, layout, limit = does_not[2].split("|")
        assert change.startswith("--zero=optimizer (now none): ") and float(limit) > 86400
        assert layout == "SEXTANT_DEVICES=16 SEXTANT_GBS=64 SEXTANT_TP=2", layout
        assert fits[1] == "FITS" and fits[2].endswith("||SEXTANT_DEVICES=16 SEXTANT_GBS=64 "
                                                      "SEXTANT_TP=2 SEXTANT_ZERO=optimizer|nil")
        assert file[1] == "refusal" and '"/etc/shadow" names a file' in file[2], file
        assert output[1] == "refusal" and '"emit-to"' in output[2], output
        assert bytes_[1] == "refusal" and '"??" is not known' in bytes_[2], bytes_
        assert long[1] == "refusal" and '"wrong0"' in long[2], long
        assert len(long[2].split("|")[0]) == 400, long
        assert empty[1] == "UNKNOWN", empty
        server.process.send_signal(signal.SIGSTOP)
        stopped, open_ = ask(version, server.http, WORDS, WORDS)
        assert stopped[1] == "late" and stopped[0] in LATE, stopped
        assert open_[1] == "open" and open_[0] < DEADLINE, open_
        server.process.send_signal(signal.SIGCONT)
        server.process.kill()
        server.process.wait()
        for took, kind, said in ask(version, server.http, WORDS, breaker=0):
            assert kind == "away" and took < DEADLINE and "refused" in said, (took, kind, said)


def raw(*parts):
    """Sends bytes as they are, and closes."""
    def answer(wire, _):
        for part in parts:
            wire.sendall(part)
    return answer


def never_closes(content):
    def answer(wire, request):
        wire.sendall(HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
        silent(wire, request)
    return answer


def drips_body(wire, request):
    wire.sendall(HEAD + b"\r\n{")
    drip(wire, request)


def slow_blocks(wire, _):
    wire.sendall(HEAD + b"\r\n")
    for _ in range(16):
        wire.sendall(b" " * 4096)
        time.sleep(0.1)


def resets(wire, _):
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    wire.close()


# What it does; the kind, and part of what is said. Only "late" and "away" open the breaker.
ODD = (
    (silent, "late", "in time"), (drip, "late", "in time"), (drips_body, "late", "in time"),
    (slow_blocks, "late", "in time"),
    (raw(), "odd", "closed"), (resets, "odd", "closed"), (raw(HEAD), "odd", "closed"),
    (flood, "odd", "too long"), (raw(b"\0" * 100_000), "odd", "no HTTP"),
    (raw(b"A" * 8193), "odd", "no HTTP"), (raw(b"SSH-2.0-x\r\n\r\n"), "odd", "no HTTP"),
    (raw(HEAD + b"Content-Length: 65537\r\n\r\n"), "odd", "too long"),
    (raw(HEAD + b"Content-Length: 100\r\n\r\n" + FITS), "odd", "ends early"),
    (raw(HEAD + b"\r\n" + FITS + b" " * 65536), "odd", "too long"),
    (raw(HEAD + b"\r\n" + FITS + b" " * 60000), "FITS", "FITS: it"),
    (raw(HEAD + b"\r\n", FITS), "FITS", "FITS: it"), (never_closes(FITS), "FITS", "FITS: it"),
    (raw(HEAD + b"A: \r\n \r\r\n\r\n", FITS), "FITS", "FITS: it"),
    (reply(b""), "odd", "no JSON"), (reply(b"null"), "odd", "no JSON"),
    (reply(b"[" * 60000), "odd", "no JSON"), (reply(b"{}"), "odd", "no verdict"),
    (reply(b'{"verdict":{"a":1}}'), "odd", "no verdict"),
    (reply(b'{"verdict":"VERDICT_LATER"}'), "odd", "no verdict"),
    (reply(b'{"verdict":"VERDICT_FITS","message":null,"change":7,"layout":[1],"timeLimit":3}'),
     "FITS", "|||nil"),
    (reply(b'{"verdict":"VERDICT_TIGHT","message":"' + b"\\u00e9\\n\\u001b%s" * 200 + b'"}'),
     "TIGHT", "??%s"),
    (reply(b'{"verdict":"VERDICT_FITS","layout":{"SEXTANT_TP":"2","SEXTANT_PLAN":"x","PATH":"x",'
           b'"SEXTANT_ADDRESS":"x","SEXTANT_A":"1\\n2","SEXTANT_B":2,"SEXTANT_C":"$(x)"},'
           b'"timeLimit":"1.5s"}'), "FITS", "||SEXTANT_TP=2|1.5"),
    (reply(b'{"code":"resource_exhausted","message":"busy"}', "429 X"), "odd", "HTTP 429"),
    (reply(b'{"code":"deadline_exceeded","message":"x"}', "504 X"), "late", "HTTP 504"),
    (reply(b'{"code":"invalid_argument","message":"x"}', "400 X"), "odd", "HTTP 400"),
    (reply(b'{"code":"invalid_argument","details":[7,{"debug":1},{"debug":{"fieldViolations":'
           b'[3]}}]}', "400 X"), "odd", "HTTP 400"),
    (reply(UNCLEAR, "400 X"), "odd", "budget: no"),
)


def check_odd(version):
    for answer, kind, part in ODD:
        with StandIn(answer) as planner:
            first, second = ask(version, planner.address, WORDS, WORDS)
            assert first[1] == kind and part in first[2], (kind, part, first)
            assert all(" " <= letter <= "~" for letter in first[2]), first
            assert first[0] < LATE.stop, first
            assert first[0] in LATE or part != "in time", first
            asked = len(planner.requests)
            assert (second[1], asked) == (("open", 1) if kind == "late" else (kind, 2)), second


def check_request(version):
    """What is sent: one POST, whose texts are data."""
    with StandIn(reply(FITS)) as planner:
        ask(version, planner.address, 'a","deviceCount":"7%FF%0D%0AEvil: 1')
    head, body = planner.requests[0].split(b"\r\n\r\n", 1)
    assert head.startswith(b"POST /sextant.v1.PlanningService/Admit HTTP/1.0\r\nHost: 127.0.0.1:")
    assert b"Evil" not in head, head
    text = 'a","deviceCount":"7?\r\nEvil: 1'
    assert json.loads(body) == {
        "words": text, "deviceCount": 16, "accelerator": "h100-sxm", "budget": "0.150s",
        "caller": {"scheduler": "SCHEDULER_SLURM", "jobName": text, "user": "u" * 256}}, body


def check_breaker(version):
    """Opens by silence for its time; then one request asks, and its answer closes it."""
    answers = [silent, silent, reply(FITS), reply(FITS)]
    with StandIn(lambda wire, request: answers.pop(0)(wire, request)) as planner:
        kinds = [kind for _, kind, _ in ask(version, planner.address, WORDS, WORDS, 1.1, WORDS,
                                            WORDS, 1.1, WORDS, WORDS, breaker=1)]
    assert kinds == ["late", "open", "late", "open", "FITS", "FITS"], kinds
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % nobody.getsockname()[1]
        kinds = [kind for _, kind, _ in ask(version, address, WORDS, WORDS)]
        assert kinds == ["away", "open"], kinds
        kinds = [kind for _, kind, _ in ask(version, address, WORDS, WORDS, breaker=0)]
        assert kinds == ["away", "away"], kinds
    # Nobody takes the connection: the queue of the socket is full.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        callers = [socket.socket() for _ in range(4)]
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(full.getsockname())
        took, kind, _ = ask(version, "127.0.0.1:%d" % full.getsockname()[1], WORDS)[0]
        assert kind == "late" and took in LATE, (kind, took)
        for caller in callers:
            caller.close()


def check_addresses(version):
    """A Unix socket, and IPv6."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "planner")
        for family, name, address in ((socket.AF_UNIX, path, f"unix:{path}"),
                                      (socket.AF_INET6, ("::1", 0), "[::1]:%d")):
            try:
                server = socket.socket(family)
                server.bind(name)
            except OSError as missing:
                print(f"not tried: {address}: {missing}")
                continue
            server.listen(1)
            if "%d" in address:
                address %= server.getsockname()[1]

            def serve(listening=server):
                wire, _ = listening.accept()
                with wire:
                    wire.recv(65536)
                    reply(FITS)(wire, None)
            thread = threading.Thread(target=serve, daemon=True)
            thread.start()
            assert ask(version, address, WORDS)[0][1] == "FITS"
            thread.join()
            server.close()
        assert ask(version, f"unix:{path}x", WORDS)[0][1] == "away"


def check(version):
    check_real(version)
    check_odd(version)
    check_request(version)
    check_breaker(version)
    check_addresses(version)
    return version


def main():
    versions = usable()
    if not versions:
        print("skipped: no Lua with LuaSocket and cjson (deploy/install-deps.sh tests)")
        return SKIPPED
    with concurrent.futures.ThreadPoolExecutor() as pool:  # they wait most of the time
        for version in pool.map(check, versions):
            print(f"{version}: as expected", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
