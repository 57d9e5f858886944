#!/usr/bin/python3
"""Floods of HTTP/2 frames straight at a planner: what they cost it, and plans beside them."""

import contextlib
import os
import re
import socket
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from sextantd import BIN, Server
from api import Client
from http2_floods import KINDS, Target
from security_test import make_certificates
from under_flood import PATIENCE, cost_of, lasting_flood, run_flood, status

MIB = 1 << 20
# 4,096 streams of one host at 19 KB, and what a planner has that has answered a few plans. gRPC
# alone takes 1.1 to 4 GB.
MOST_BYTES = 150 * MIB
RECENT = 6.0  # seconds: longer than streams that were given up count for their host
PLANNER = ["--role=planner", "--log_calls=none"]

# Which limit each goes beyond; None: it harms nobody.
REASONS = {
    "no_ack": "connection_streams",
    "no_ack_indexed": "connection_streams",
    "rapid_reset": "resets",
    "cancelled_calls": "resets",
    "large_headers": "header_bytes",
    "endless_headers": "header_bytes",
    "unknown_method": None,
    "unknown_no_ack": "connection_streams",
    "headers_only": "host_streams",
    "settings": "idle_frames",
    "ping": "idle_frames",
    "settings_no_read": "idle_frames",
    "ping_no_read": "idle_frames",
    "empty_data": "idle_frames",
    "priority": "idle_frames",
    "window_update": None,
    "no_read": "connection_streams",
}
# Where it comes to look at them first.
BY_GRPC_TOO = ["ping", "ping_no_read", "large_headers", "endless_headers"]
HARMLESS = ["unknown_method", "window_update"]
ENCRYPTED = ["no_ack", "rapid_reset", "headers_only", "ping_no_read"]


def metrics(server):
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=PATIENCE) as page:
        return page.read().decode()


def closed(server):
    """Connections closed so far, by reason."""
    return {reason: float(count) for reason, count in re.findall(
        r'^sextant_connections_closed_total\{reason="(\w+)"\} (\S+)$', metrics(server),
        re.MULTILINE)}


def open_streams(server):
    return float(re.search(r"^sextant_grpc_streams_open (\S+)$", metrics(server), re.MULTILINE)[1])


def until(condition):
    while not condition():
        time.sleep(0.05)


def check_flood(kind, server):
    """It is stopped by its limit, at a bounded cost, and all plans beside it are answered."""
    before = closed(server)
    with Client(server.address) as client:
        target = Target(server.address, source="127.0.0.2")
        cost = cost_of(kind, target, [server.process], client, deadline=PATIENCE)
    print(f"{kind}: {cost.peaks[0] / MIB:.0f} MiB, {cost.cpu_seconds[0]:.2f} s of processors; "
          f"{cost.plans} plans, median {1000 * cost.median:.1f} ms, worst "
          f"{1000 * cost.worst:.1f} ms; {cost.end}", flush=True)
    assert cost.peaks[0] <= MOST_BYTES, cost
    assert not cost.failures, cost.failures
    now = closed(server)
    grown = {reason for reason in now if now[reason] > before.get(reason, 0)}
    assert grown == ({REASONS[kind]} if REASONS[kind] else set()) or (
        not grown and kind in BY_GRPC_TOO), (kind, grown)
    assert cost.end.closed or kind in HARMLESS, cost.end


def check_encrypted(folder):
    """With TLS the same frames are seen, and the callers' own calls go on."""
    flags = [f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key"]
    for kind in ENCRYPTED:
        with Server(*PLANNER, *flags) as server:
            target = Target(server.address, tls=True, source="127.0.0.2")
            end = run_flood(kind, target, "--linger=2")
            peak = status(server.process, "VmHWM")
            print(f"{kind} with TLS: {peak / MIB:.0f} MiB; {end}", flush=True)
            assert end.closed > 0 and peak <= MOST_BYTES, (kind, end, peak)
            subprocess.run(
                [os.path.join(BIN, "sextant"), f"--address={server.address}",
                 f"--tls-ca={folder}/ca.pem", "models", "llama"], check=True,
                stdout=subprocess.DEVNULL, timeout=60)


def check_split_hello(folder):
    """A ClientHello in records of a few bytes, which hides its random, opens no way around."""
    flags = [f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key"]
    with Server(*PLANNER, *flags) as server:
        host, _, port = server.address.rpartition(":")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        read, write = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(read, write)
        with socket.create_connection((host, int(port)), timeout=10) as wire:
            first = True
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    data = write.read()
                    if first:
                        data = b"".join(data[:3] + len(part).to_bytes(2, "big") + part for part in
                                        (data[5:][i:i + 16] for i in range(0, len(data) - 5, 16)))
                    first = False
                    wire.sendall(data)
                    read.write(wire.recv(1 << 16))
            tls.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
            wire.sendall(write.read())
            while wire.recv(1 << 16):
                pass  # it ends: nobody would count its streams


def check_memory():
    """Beyond its memory it closes those with the most streams, and is not ready meanwhile."""
    def ready():
        try:
            with urllib.request.urlopen(f"http://{server.http}/readyz", timeout=PATIENCE) as page:
                return page.status == 200
        except urllib.error.HTTPError as error:
            assert error.code == 503, error
            return False
    with Server(*PLANNER, "--max_memory_mib=64") as server:
        assert ready()
        with contextlib.ExitStack() as floods:
            for host in (2, 3):
                target = Target(server.address, source=f"127.0.0.{host}")
                floods.enter_context(lasting_flood("headers_only", target))
            until(lambda: not ready())
            until(lambda: closed(server).get("memory", 0) > 0)
        until(ready)


def check_drain():
    """SIGTERM during floods that would go on: the planner ends."""
    with Server(*PLANNER, "--drain_announce_seconds=0") as server, contextlib.ExitStack() as floods:
        for kind in ("headers_only", "window_update", "unknown_method"):
            floods.enter_context(lasting_flood(kind, Target(server.address)))
        until(lambda: open_streams(server) > 1000)
        server.terminate()
        assert server.process.wait() == 0


def main():
    assert REASONS.keys() == KINDS.keys()
    with Server(*PLANNER) as server:
        for kind in KINDS:
            check_flood(kind, server)
            if kind == "headers_only":  # until its host may have streams again
                until(lambda: open_streams(server) == 0)
                time.sleep(RECENT)
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        check_encrypted(folder)
        check_split_hello(folder)
    check_memory()
    check_drain()


if __name__ == "__main__":
    main()
