#!/usr/bin/python3
"""Calls a second of a whole sextantd, with h2load as the client (Debian: nghttp2-client).

    tests/benchmarks/h2load.py [--calls=20000]

h2load counts answers of HTTP, which are 200 whatever became of the call. So the server's own count
of calls that ended OK has to have grown by as many. Each row is beside gRPC's health check, which
does nothing, in the same run and server. One connection sends one request again and again: what
differs from call to call, plan_run_cost varies.

Then the same plans over HTTP/1.1, in protobuf and JSON, beside gRPC with as many connections, each
with one call at a time: callers that wait for their answer.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
# pylint: disable=wrong-import-position
import python_client_test  # noqa: F401  (makes the messages)
from sextantd import SKIPPED, Server

PLAN = "sextant.v1.PlanningService/PlanRun"


def preset():
    from sextant.v1 import planning_service_pb2 as api
    request = api.PlanRunRequest()
    request.model.preset = "llama-3.1-70b"
    request.training.token_count = 15 * 10**12
    request.cluster.device.accelerator = "h100-sxm"
    request.cluster.device_count = 1024
    return request


def layout():
    from sextant.v1 import plan_options_pb2
    request = preset()
    request.training.sequence_length = 8192
    request.cluster.node_type = "dgx-h100"
    request.layout.global_batch_size = 2048
    request.layout.parallel.tensor_parallel_size = 8
    request.layout.parallel.pipeline_parallel_size = 4
    request.options.search = plan_options_pb2.LAYOUT_SEARCH_NONE
    return request


def calls_that_were_ok(server):
    """By the server's count."""
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    counts = re.findall(r'^sextant_calls_total\{code="OK",.*\} (\d+)$', text, re.MULTILINE)
    return sum(map(int, counts))


def load(url, body, calls, folder, *flags):
    """Calls a second."""
    file = os.path.join(folder, "body")
    with open(file, "wb") as out:
        out.write(body)
    done = subprocess.run(["h2load", "-n", str(calls), "-d", file, *flags, url], check=True,
                          capture_output=True, text=True).stdout
    assert f"status codes: {calls} 2xx" in done, done
    return float(re.search(r"finished in .*?, ([\d.]+) req/s", done)[1])


def checked_load(server, method, calls, *arguments):
    before = calls_that_were_ok(server)
    rate = load(*arguments)
    counted = calls_that_were_ok(server) - before
    assert counted == (calls if method == PLAN else 0), (method, counted, calls)
    return rate


def grpc_load(server, method, message, calls, folder, streams=32):
    return checked_load(
        server, method, calls, f"http://{server.address}/{method}",
        b"\0" + len(message).to_bytes(4, "big") + message, calls, folder, "-c", "1", "-m",
        str(streams), "-H", "content-type: application/grpc", "-H", "te: trailers")


def http_load(server, form, message, calls, folder):
    return checked_load(
        server, PLAN, calls, f"http://{server.http}/{PLAN}", message, calls, folder, "--h1", "-c",
        "1", "-m", "1", "-H", f"content-type: application/{form}")


def show_protocols(server, calls, folder):
    """Calls one after the other, by gRPC and over HTTP, in one run."""
    from google.protobuf import json_format
    from sextant.v1 import plan_options_pb2
    for name, request in (("a preset, BASIC", preset()), ("a layout, BASIC", layout()),
                          ("a layout, FULL", layout())):
        if name.endswith("FULL"):
            request.options.view = plan_options_pb2.PLAN_VIEW_FULL
        binary, text = request.SerializeToString(), json_format.MessageToJson(request).encode()
        best = {"gRPC": 0, "Connect, protobuf": 0, "Connect, JSON": 0}
        for _ in range(3):
            for form, measure in (
                    ("gRPC", lambda: grpc_load(server, PLAN, binary, calls, folder, streams=1)),
                    ("Connect, protobuf",
                     lambda: http_load(server, "proto", binary, calls, folder)),
                    ("Connect, JSON", lambda: http_load(server, "json", text, calls, folder))):
                best[form] = max(best[form], measure())
        for form, rate in best.items():
            print(f"{name:16} {form:18} {1e6 / rate:8.0f} us a call  {best['gRPC'] / rate:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--calls", type=int, default=20000)
    options = parser.parse_args()
    if shutil.which("h2load") is None:
        print("skipped: not installed: h2load (nghttp2-client)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, Server("--log_calls=none") as server:
        rows = {"health check": ("grpc.health.v1.Health/Check", b""),
                "plan of a preset": (PLAN, preset().SerializeToString()),
                "plan of 70B with a layout": (PLAN, layout().SerializeToString())}
        best = {name: 0 for name in rows}
        for _ in range(3):
            for name, (method, message) in rows.items():
                best[name] = max(best[name],
                                 grpc_load(server, method, message, options.calls, folder))
        for name, rate in best.items():
            print(f"{name:26} {rate:8.0f} calls/s  {rate / best['health check']:.2f}")
        show_protocols(server, options.calls // 10, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
