#!/usr/bin/python3
"""buf curl, which knows the API by reflection alone: it describes, plans and is refused.

It also sends what README.md tells users to send with grpcurl, and prints the same over HTTP.
"""

import json
import os
import re
import subprocess
import sys

from sextantd import GOOD_REQUEST, ROOT, SKIPPED, Server

BUF = os.path.join(ROOT, "tests", "lint", "buf.sh")


def curl(server, *arguments):
    return subprocess.run(
        [BUF, "curl", "--protocol", "grpc", "--http2-prior-knowledge", *arguments],
        capture_output=True, text=True, timeout=60, check=False)


def plan(server, request):
    return curl(server, "-d", json.dumps(request),
                f"http://{server.address}/sextant.v1.PlanningService/PlanRun")


def without_debug(text):
    """An error that buf printed, without what Connect adds to its details; any other text as it is.
    """
    if not text.startswith(b"{"):
        return text
    error = json.loads(text)
    for detail in error.get("details", []):
        detail.pop("debug", None)
    return error


def check_http(server):
    """By Connect on the HTTP port it prints byte for byte what it prints by gRPC."""
    proto = os.path.join(ROOT, "proto")
    search = {**GOOD_REQUEST, "training": {"tokenCount": 10**12, "sequenceLength": 8192},
              "layout": {"globalBatchSize": 2048}}
    for call, request in (("PlanningService/PlanRun", GOOD_REQUEST),
                          ("PlanningService/PlanRun", {}), ("PlanningService/PlanRun", search),
                          ("HardwareService/ListAccelerators", {})):
        prints = []
        for address, flags in ((server.address, ["grpc", "--http2-prior-knowledge"]),
                               (server.http, ["connect"])):
            prints.append(subprocess.run(
                [BUF, "curl", "--schema", proto, "--protocol", *flags, "-d", json.dumps(request),
                 f"http://{address}/sextant.v1.{call}"], capture_output=True, timeout=60,
                check=False))
        by_grpc, by_http = ((done.returncode, done.stdout, without_debug(done.stderr))
                            for done in prints)
        assert by_grpc == by_http, (call, request, by_grpc, by_http)
    stream = subprocess.run(
        [BUF, "curl", "--schema", proto, "--protocol", "connect", "-d", json.dumps(search),
         f"http://{server.http}/sextant.v1.PlanningService/WatchPlanRun"],
        capture_output=True, text=True, timeout=60, check=False)
    assert stream.returncode == 0 and '"answer"' in stream.stdout, stream


def readme_request():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        return json.loads(re.search(r"grpcurl -plaintext -d '(.*?)'", file.read(), re.S).group(1))


def main():
    if subprocess.run([BUF, "--version"], capture_output=True, check=False).returncode == 77:
        print("skipped: no buf (deploy/install-deps.sh tests)")
        return SKIPPED
    with Server() as server:
        methods = curl(server, "--list-methods", f"http://{server.address}")
        assert methods.returncode == 0, methods.stderr
        for method in ("sextant.v1.PlanningService/PlanRun",
                       "sextant.v1.PlanningService/SizeModel",
                       "sextant.v1.HardwareService/ListAccelerators",
                       "sextant.v1.TelemetryService/ReportProgress",
                       "grpc.health.v1.Health/Check"):
            assert method in methods.stdout.splitlines(), methods.stdout

        answer = plan(server, GOOD_REQUEST)
        assert answer.returncode == 0, answer.stderr
        fields = json.loads(answer.stdout)["plan"]
        assert fields["parameters"]["total"] == "70553706496"
        assert fields["verdict"] == "VERDICT_STATE_FITS"

        derived = plan(server, readme_request())
        assert derived.returncode == 0, derived.stderr
        assert json.loads(derived.stdout)["plan"]["derivation"], derived.stdout

        health = curl(server, "-d", '{"service": "sextant.v1.PlanningService"}',
                      f"http://{server.address}/grpc.health.v1.Health/Check")
        assert json.loads(health.stdout) == {"status": "SERVING"}, health

        refused = plan(server, {"model": {"preset": "llama-3.1-70b"}})
        # buf's exit code is 8 times gRPC's; INVALID_ARGUMENT is 3.
        assert refused.returncode == 24, refused
        error = json.loads(refused.stderr)
        assert error["code"] == "invalid_argument"
        assert "training.token_count" in error["message"]
        kinds = [detail["type"] for detail in error["details"]]
        assert kinds == ["google.rpc.ErrorInfo", "google.rpc.BadRequest"], kinds
        check_http(server)
    print("buf curl describes, plans and is refused, by gRPC and over HTTP")
    return 0


if __name__ == "__main__":
    sys.exit(main())
