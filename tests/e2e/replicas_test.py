#!/usr/bin/python3
"""Several planners as one, by deploy/grpc_service_config.json and by deploy/haproxy.cfg: they
answer with the same bytes, and no call is lost with a planner that dies, or ends, under load."""

import contextlib
import os
import signal
import sys
import tempfile
import threading
import time
import urllib.request

from sextantd import GOOD_REQUEST, ROOT, Server
import api
from api import grpc, json_format
from front_door import PROGRAM, FrontDoor
from front_door_test import credentials
from security_test import make_certificates

DEADLINE = 60.0  # seconds: others may use the cores of a test
PLANNER = ["--role=planner", "--log_calls=none"]
PLAN = "/sextant.v1.PlanningService/PlanRun"
CALLERS = 4


def bytes_of(request):
    return json_format.ParseDict(request, api.PlanRunRequest()).SerializeToString()


def options(retries=True):
    with open(os.path.join(ROOT, "deploy", "grpc_service_config.json"), encoding="utf-8") as file:
        config = file.read()
    return [("grpc.service_config", config), ("grpc.enable_retries", int(retries)),
            ("grpc.enable_http_proxy", 0)]


def target(planners):
    return "ipv4:" + ",".join(planner.address for planner in planners)


class Load:
    """Callers that ask one question over and over, each on a channel of its own; use it as a
    context. Afterwards `answers` has the different answers, and `lost` the errors."""

    def __init__(self, open_channel):
        self.open_channel = open_channel
        self.request = bytes_of(GOOD_REQUEST)
        self.answers, self.lost, self.count = set(), [], 0
        self.ended = threading.Event()
        self.lock = threading.Lock()

    def _call(self):
        with self.open_channel() as channel:
            plan = channel.unary_unary(PLAN)
            while not self.ended.is_set():
                try:
                    answer = plan(self.request, timeout=DEADLINE, wait_for_ready=True)
                    with self.lock:
                        self.answers.add(answer)
                        self.count += 1
                except grpc.RpcError as error:
                    self.lost.append(error)

    def __enter__(self):
        self.threads = [threading.Thread(target=self._call) for _ in range(CALLERS)]
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        for thread in self.threads:
            thread.join()

    def more(self, calls=200):
        """Waits for that many further answers."""
        until = self.count + calls
        end = time.monotonic() + DEADLINE
        while self.count < until and time.monotonic() < end:
            time.sleep(0.01)
        assert self.count >= until, (self.count, self.lost[:1])


def check_load(open_channel, planners):
    """One planner is killed, another ends as Kubernetes ends it, and a third goes on."""
    with Load(open_channel) as load:
        load.more()
        planners[0].process.kill()
        load.more()
        if len(planners) > 2:
            planners[1].terminate()
            planners[1].process.wait()
            load.more()
    assert not load.lost, load.lost[0]
    assert len(load.answers) == 1, "planners answer differently"


def has_answered(planner):
    with urllib.request.urlopen(f"http://{planner.http}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    return any(line.startswith("sextant_calls_total{") and "PlanRun" in line for line in lines)


def check_calls_under_way(planners, open_channel, retries):
    """Calls that a planner has when it dies: lost without the policy, and made again with it."""
    with open_channel() as channel:
        plan = channel.unary_unary(PLAN)

        def call():
            return plan.future(bytes_of(GOOD_REQUEST), timeout=DEADLINE, wait_for_ready=True)
        known = {call().result()}
        while not has_answered(planners[0]):  # both are connected
            known.add(call().result())
        planners[0].process.send_signal(signal.SIGSTOP)
        calls = [call() for _ in range(4 * len(planners))]
        while sum(each.done() for each in calls) < len(calls) // 2:
            time.sleep(0.01)
        planners[0].process.kill()
        errors = [each.exception() for each in calls]
    lost = [error for error in errors if error is not None]
    if retries:
        assert not lost, lost[0]
        assert {each.result() for each in calls} == known and len(known) == 1
    else:
        assert lost and lost[0].code() == grpc.StatusCode.UNAVAILABLE, errors


@contextlib.contextmanager
def started(count):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Server(*PLANNER)) for _ in range(count)]


def main():
    with started(3) as planners:
        check_load(lambda: grpc.insecure_channel(target(planners), options()), planners)
    for retries in (True, False):
        with started(2) as planners:
            check_calls_under_way(
                planners, lambda: grpc.insecure_channel(target(planners), options(retries)),
                retries)
    if PROGRAM is None:
        print("without haproxy: not checked behind it")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        with started(2) as planners, FrontDoor(folder, *planners, FRONT_CALLS="1000000",
                                               FRONT_FLOOD="2000000") as door:
            check_load(lambda: grpc.secure_channel(
                door.address, credentials(folder), options()), planners)
    return 0


if __name__ == "__main__":
    sys.exit(main())
