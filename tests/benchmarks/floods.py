#!/usr/bin/python3
"""What floods of HTTP/2 frames cost a sextantd, alone and behind HAProxy: a table in Markdown.

    SEXTANT_BIN=FOLDER tests/benchmarks/floods.py [KIND...]

Each row is a flood of fresh servers by one client, of another address than the plans beside it: ten
a second with a deadline of a second. Memory is the most that was resident, and time that of the
CPU, from the flood's start until the servers have done all that it left them. A few minutes, or
tens where memory has no bound.
"""

import argparse
import contextlib
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
# pylint: disable=wrong-import-position
from sextantd import SKIPPED, Server  # noqa: E402 isort: skip (it says where the others are)
from api import Client, grpc  # noqa: E402
from front_door import PROGRAM, FrontDoor  # noqa: E402
from front_door_test import credentials, flood_target  # noqa: E402
from http2_floods import KINDS, Target  # noqa: E402
from security_test import make_certificates, write  # noqa: E402
from under_flood import DEADLINE, cost_of  # noqa: E402

LINGER = 10     # seconds that a connection stays: what it has sent is not thrown away with it
NONE = "none"   # one call: what the other programs of this machine do to plans
FLOODER = "127.0.0.2"
PLANNER = ["--role=planner", "--log_calls=none"]
TOKEN = "0123456789abcdef"


@contextlib.contextmanager
def alone(folder):
    """In plain text: (where to flood, a client, the servers)."""
    del folder
    with Server(*PLANNER) as server, Client(server.address) as client:
        yield Target(server.address, source=FLOODER), client, [server]


@contextlib.contextmanager
def with_tokens(folder):
    """By TLS, and whoever floods has no token."""
    tokens = write(folder, "tokens", f"scheduler {TOKEN}\n")
    known = grpc.composite_channel_credentials(credentials(folder, ""),
                                               grpc.access_token_call_credentials(TOKEN))
    with Server(*PLANNER, f"--tls_certificate={folder}/server.pem",
                f"--tls_key={folder}/server.key", f"--token_file={tokens}") as server, \
            Client(server.address, known) as client:
        yield Target(server.address, tls=True, source=FLOODER), client, [server]


@contextlib.contextmanager
def behind_haproxy(folder):
    """Two planners, and whoever floods has a certificate."""
    with Server(*PLANNER) as first, Server(*PLANNER) as second, \
            FrontDoor(folder, first, second) as door, \
            Client(door.address, credentials(folder)) as client:
        yield flood_target(folder, door, FLOODER), client, [first, second, door]


SETTINGS = {"alone": alone, "TLS and tokens": with_tokens, "HAProxy": behind_haproxy}
HEAD = ("flood", "server", "sent, MB", "ended", "sextantd, MiB", "CPU, s", "HAProxy, MiB", "CPU, s",
        "plan, median ms", "worst ms", f"not in {DEADLINE:.0f} s")


def ended(end):
    if end.refused == end.connections:
        return "not let in"
    if end.closed + end.refused == 0:
        return "stayed"
    return f"closed after {end.seconds:.1f} s" if end.connections == 1 else (
        f"{end.closed + end.refused} of {end.connections} closed")


def row(kind, name, folder):
    flood = [kind] if kind != NONE else ["unknown_method", "--count=1"]
    with SETTINGS[name](folder) as (target, client, programs):
        cost = cost_of(flood[0], target, [each.process for each in programs], client, *flood[1:],
                       f"--linger={LINGER}")
    servers = slice(0, 2 if name == "HAProxy" else 1)
    front = ["", ""]
    if name == "HAProxy":
        front = [f"{cost.peaks[-1] / (1 << 20):.0f}", f"{cost.cpu_seconds[-1]:.1f}"]
    return [kind, name, f"{cost.end.bytes / 1e6:.1f}", ended(cost.end),
            f"{max(cost.peaks[servers]) / (1 << 20):.0f}", f"{sum(cost.cpu_seconds[servers]):.1f}",
            *front, f"{cost.median * 1e3:.1f}", f"{cost.worst * 1e3:.0f}",
            f"{len(cost.failures)} of {cost.plans}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=", ".join([NONE, *KINDS]))
    parser.add_argument("--server", action="append", choices=SETTINGS, help="default: each")
    options = parser.parse_args()
    if PROGRAM is None and "HAProxy" in (options.server or SETTINGS):
        print("skipped: no haproxy (deploy/install-deps.sh tests)")
        return SKIPPED
    print("| " + " | ".join(HEAD) + " |")
    print("| --- | --- | ---: | --- |" + " ---: |" * (len(HEAD) - 4))
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        for kind in options.kinds or [NONE, *KINDS]:
            for name in options.server or SETTINGS:
                print("| " + " | ".join(row(kind, name, folder)) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
