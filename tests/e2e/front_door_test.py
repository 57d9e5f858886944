#!/usr/bin/python3
"""deploy/haproxy.cfg before two planners: what it lets through, and floods that it stops."""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request

from sextantd import GOOD_REQUEST, SKIPPED, Server
import api
from api import Client, grpc, json_format
from front_door import CONFIGURATION, PROGRAM, FrontDoor, with_key
from http2_floods import KINDS, Target
from security_test import make_certificates, write
from under_flood import PATIENCE, cost_of, run_flood

MIB = 1 << 20
# Ten times what a planner of the release build has, and what the front door was seen to take.
PLANNER_BYTES = 300 * MIB
FRONT_DOOR_BYTES = 300 * MIB
CALLS_IN_10_S = 500    # of a host, then they are refused
FLOOD_IN_10_S = 1_000  # and its connections closed
PLANNER = ["--role=planner", "--log_calls=none"]
TOKEN = "0123456789abcdef"


def credentials(folder, name="scheduler"):
    """Of a caller with the certificate of that name; with none if it is empty."""
    def content(file):
        with open(os.path.join(folder, file), "rb") as opened:
            return opened.read()
    return grpc.ssl_channel_credentials(
        content("ca.pem"), *([content(f"{name}.key"), content(f"{name}.pem")] if name else []))


def flood_target(folder, door, source):
    """With a certificate: a flood of one whom the fleet knows."""
    return Target(door.address, tls=True, certificate=with_key(folder, "scheduler"), source=source)


def plan_request():
    return json_format.ParseDict(GOOD_REQUEST, api.PlanRunRequest())


def refusal(call):
    """The grpc.RpcError of a call that is refused."""
    try:
        answer = call()
        list(answer) if hasattr(answer, "code") else answer  # a stream's comes when it is read
    except grpc.RpcError as error:
        return error
    raise AssertionError("not refused")


def check_configuration(folder):
    """Nothing of the file is deprecated, ignored, or depends on what a test sets."""
    checked = subprocess.run([PROGRAM, "-c", "-f", CONFIGURATION], capture_output=True, text=True,
                             env=FrontDoor(folder).environment, check=False)
    assert checked.returncode == 0 and "WARN" not in checked.stderr, checked.stderr


def check_answers(client, planner):
    """Answers, streams, details of errors and trailers come as a planner gives them."""
    with Client(planner.address) as direct:
        request = plan_request()
        for name in ("PlanningService/PlanRun", "AccountingService/ListModels"):
            message = request if name.endswith("PlanRun") else api.ListModelsRequest()
            assert client.call(name, message) == direct.call(name, message), name

        def watch(caller):
            call = caller.channel.unary_stream("/sextant.v1.PlanningService/WatchPlanRun")
            return list(call(request.SerializeToString(), timeout=60))
        assert watch(client) == watch(direct)
        empty = api.PlanRunRequest()
        refused, known = [refusal(lambda: caller.call("PlanningService/PlanRun", empty))
                          for caller in (client, direct)]
        assert refused.code() == grpc.StatusCode.INVALID_ARGUMENT, refused
        assert refused.details() == known.details(), refused
        assert dict(refused.trailing_metadata())["grpc-status-details-bin"] == dict(
            known.trailing_metadata())["grpc-status-details-bin"]


def check_refused_paths(client):
    """A planner takes the proxy for a caller on its own host: what is for those ends before."""
    for path, code in (("sextant.v1.HardwareService/RunProbe", "PERMISSION_DENIED"),
                       ("sextant.v1.TelemetryService/ReportProgress", "UNIMPLEMENTED"),
                       ("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                        "UNIMPLEMENTED"),
                       ("grpc.health.v1.Health/Watch", "UNIMPLEMENTED"),
                       ("sextant.v1.PlanningService/../HardwareService/RunProbe",
                        "PERMISSION_DENIED")):
        refused = refusal(lambda: client.channel.unary_unary("/" + path)(b"", timeout=60))
        assert refused.code().name == code, (path, refused)
    health = client.channel.unary_unary("/grpc.health.v1.Health/Check")
    assert health(b"", timeout=60) == b"\x08\x01"


def check_strangers(folder, door):
    """Without the fleet's certificate nobody gets in."""
    with Client(door.address, credentials(folder, "")) as client:
        refused = refusal(lambda: client.call("PlanningService/PlanRun", plan_request(), 10))
        assert refused.code() == grpc.StatusCode.UNAVAILABLE, refused


def check_names(folder):
    """A planner knows callers by the tokens that the front door has for their certificates."""
    tokens = write(folder, "planner_tokens", f"slurm {TOKEN}\n")
    by_certificate = write(folder, "front_tokens", f"scheduler {TOKEN}\n")
    tls = [f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key",
           f"--tls_client_ca={folder}/ca.pem"]
    with Server("--role=planner", *tls, f"--token_file={tokens}") as planner, \
            FrontDoor(folder, planner, FRONT_TOKENS=by_certificate, PLANNER_CA=f"{folder}/ca.pem",
                      PLANNER_NAME="localhost",
                      PLANNER_CERTIFICATE=with_key(folder, "server")) as door:
        with Client(door.address, credentials(folder)) as client:
            client.call("PlanningService/PlanRun", plan_request())
        assert planner.log_line()["caller"] == "slurm"
        with Client(door.address, credentials(folder, "stranger")) as client:
            refused = refusal(lambda: client.call("PlanningService/PlanRun", plan_request()))
            assert refused.code() == grpc.StatusCode.UNAUTHENTICATED, refused


def long_batch():
    """Its runs differ, and a layout is searched for each: many seconds in all."""
    out = api.BatchPlanRunsRequest(runs=[plan_request() for _ in range(256)])
    for i, run in enumerate(out.runs):
        run.training.sequence_length = 8192
        run.layout.global_batch_size = 1024
        run.cluster.device_count = 512 + 8 * i
    return out


def check_ends(folder):
    """A planner hears that a call is over, by its deadline or its caller."""
    with Server("--role=planner") as planner, FrontDoor(folder, planner) as door, \
            Client(door.address, credentials(folder)) as client:
        client.call("PlanningService/PlanRun", plan_request())
        assert planner.log_line()["code"] == "OK"
        batch = client.stub("PlanningService/BatchPlanRuns")
        for timeout in (0.5, None):
            call = batch.future(long_batch(), timeout=timeout)
            if timeout is None:
                time.sleep(0.5)
                call.cancel()
            line = planner.log_line()
            assert line["code"] in ("DEADLINE_EXCEEDED", "CANCELLED"), (timeout, line)
            assert line["duration_seconds"] < 5, (timeout, line)


def of_planner(door, metric):
    """What the front door's metrics say of its one planner."""
    with urllib.request.urlopen(f"http://{door.metrics}/metrics") as page:
        (line,) = [each for each in page.read().decode().splitlines()
                   if each.startswith(f'haproxy_server_{metric}{{proxy="planners"')]
    return int(line.rpartition(" ")[2])


def check_half_calls(folder):
    """Planners see no call whose message does not come; others by a connection for each caller."""
    with Server(*PLANNER) as planner, FrontDoor(folder, planner) as door:
        target = flood_target(folder, door, "127.0.0.2")
        end = run_flood("headers_only", target, "--count=64", "--connections=1", "--linger=1")
        assert end.frames == 65 and end.resets == 64 - 32 and end.answers == 0, end
        many = run_flood("headers_only", flood_target(folder, door, "127.0.0.3"), "--count=32",
                         "--connections=20", "--linger=1")
        assert many.refused == 20 - 16 and many.answers == 16 * 32 - 64, many
        assert of_planner(door, "sessions_total") == 0
        for calls in (1, 2):
            assert run_flood("no_read", target, "--count=1", "--linger=1").closed == 0
            assert of_planner(door, "sessions_total") == calls
            assert of_planner(door, "connection_attempts_total") == calls


def check_failover(folder):
    """A planner is killed: no call that follows fails. Then the other one: UNAVAILABLE."""
    with Server(*PLANNER) as first, Server(*PLANNER) as second, \
            FrontDoor(folder, first, second) as door, \
            Client(door.address, credentials(folder)) as client:
        for i in range(60):
            if i == 20:
                first.process.kill()
                first.process.wait()
            client.call("PlanningService/PlanRun", plan_request(), 10)
        second.process.kill()
        second.process.wait()
        refused = refusal(lambda: client.call("PlanningService/PlanRun", plan_request(), 60))
        assert refused.code() == grpc.StatusCode.UNAVAILABLE, refused
        assert refused.details() == "no planner is ready or has room", refused


def check_floods(folder, planners, door, client):
    """Each flood, of a caller with a certificate, beside plans of another host."""
    processes = [each.process for each in (*planners, door)]
    for i, kind in enumerate(KINDS):  # each from a host of its own: what flooded is kept out
        target = flood_target(folder, door, f"127.0.1.{i + 1}")
        cost = cost_of(kind, target, processes, client, "--seconds=2", "--linger=0.3",
                       deadline=PATIENCE)
        assert cost.end.frames > 0, (kind, cost)
        assert not cost.failures, (kind, cost, door.said()[-2000:])
        assert max(cost.peaks[:-1]) < PLANNER_BYTES, (kind, cost)
        assert cost.peaks[-1] < FRONT_DOOR_BYTES, (kind, cost)


def check_rates(folder, door, client):
    """More calls than a host may make are refused, and far more end its connections."""
    target = flood_target(folder, door, "127.0.0.2")
    end = run_flood("unknown_method", target, f"--count={2 * FLOOD_IN_10_S}")
    assert end.closed == 1 and CALLS_IN_10_S < end.answers <= FLOOD_IN_10_S + 100, end
    again = run_flood("unknown_method", target, "--count=1")
    assert again.refused == 1, again
    client.call("PlanningService/PlanRun", plan_request())
    # Of the client's own host, which has made some of those calls already.
    own = flood_target(folder, door, "127.0.0.1")
    assert run_flood("unknown_method", own, f"--count={CALLS_IN_10_S}").closed == 0
    refused = refusal(lambda: client.call("PlanningService/PlanRun", plan_request()))
    assert refused.code() == grpc.StatusCode.RESOURCE_EXHAUSTED, refused


def main():
    if PROGRAM is None:
        print("skipped: no haproxy (deploy/install-deps.sh tests)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        check_configuration(folder)
        check_names(folder)
        check_ends(folder)
        check_half_calls(folder)
        check_failover(folder)
        with Server(*PLANNER) as first, Server(*PLANNER) as second, \
                FrontDoor(folder, first, second) as door, \
                Client(door.address, credentials(folder)) as client:
            check_answers(client, first)
            check_refused_paths(client)
            check_strangers(folder, door)
            check_floods(folder, (first, second), door, client)
        # A tenth of what the file has, which takes a busy machine longer than its 10 s to send.
        with Server(*PLANNER) as planner, \
                FrontDoor(folder, planner, FRONT_CALLS=str(CALLS_IN_10_S),
                          FRONT_FLOOD=str(FLOOD_IN_10_S)) as door, \
                Client(door.address, credentials(folder)) as client:
            check_rates(folder, door, client)
    return 0


if __name__ == "__main__":
    sys.exit(main())
