"""What a flood costs: memory and time of the programs that it meets, and plans beside it."""

import contextlib
import dataclasses
import json
import os
import statistics
import subprocess
import sys
import threading
import time

import http2_floods
from api import PlanRunRequest, grpc, json_format
from sextantd import GOOD_REQUEST

DEADLINE = 1.0  # seconds, of a plan: a benchmark's, on a machine of its own
PATIENCE = 60.0  # likewise, where other programs may use the machine: that it comes counts
PERIOD = 0.1    # of plans
LOOK = 0.5      # seconds between looks at what programs use
IDLE = 0.05     # seconds that those which have done their work use in one, beside plans
SETTLE = 60.0   # the most that is waited for it


def status(process, name):
    """A line of /proc/PID/status, in bytes."""
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise KeyError(name)


def cpu_seconds(process):
    """What all threads of a process have used. Source: proc(5), /proc/pid/stat."""
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class PlansBeside:
    """Plans of `client`, one after the other, ten a second, while it is a context."""

    def __init__(self, client, deadline):
        self.client = client
        self.deadline = deadline
        self.request = json_format.ParseDict(GOOD_REQUEST, PlanRunRequest())
        self.seconds = []
        self.failures = []  # (code, text)
        self.stop = threading.Event()

    def plan(self):
        start = time.monotonic()
        try:
            self.client.call("PlanningService/PlanRun", self.request, timeout=self.deadline)
        except grpc.RpcError as error:
            self.failures.append((error.code().name, error.details()))
        self.seconds.append(time.monotonic() - start)

    def run(self):
        while not self.stop.is_set():
            self.plan()
            self.stop.wait(max(0, PERIOD - self.seconds[-1]))

    def __enter__(self):
        # Before the flood: it is not about connecting.
        self.client.call("PlanningService/PlanRun", self.request, timeout=60)
        self.thread = threading.Thread(target=self.run)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


@dataclasses.dataclass
class Cost:
    """What one flood cost."""

    end: http2_floods.Ended
    peaks: list[int]          # resident bytes of each process, at most
    cpu_seconds: list[float]  # of each
    median: float             # seconds of a plan
    worst: float
    plans: int
    failures: list[tuple[str, str]]


def command_of(kind, target, *flags):
    return [sys.executable, http2_floods.__file__, kind, "--json", f"--target={target.address}",
            f"--source={target.source}", f"--certificate={target.certificate}",
            *(["--tls"] if target.tls else []), *flags]


def run_flood(kind, target, *flags):
    """The flood, in a process of its own: how it Ended."""
    ended = subprocess.run(command_of(kind, target, *flags), stdout=subprocess.PIPE, check=True,
                           text=True)
    return http2_floods.Ended(**json.loads(ended.stdout))


@contextlib.contextmanager
def lasting_flood(kind, target):
    """A flood that goes on, and stays, until the context ends or the server closes it."""
    with subprocess.Popen(command_of(kind, target, "--seconds=600", "--linger=600"),
                          stdout=subprocess.DEVNULL) as flood:
        try:
            yield
        finally:
            flood.kill()


def wait_until_idle(processes):
    """Until they have done what the flood has left to do."""
    stop = time.monotonic() + SETTLE
    used = sum(map(cpu_seconds, processes))
    while time.monotonic() < stop:
        time.sleep(LOOK)
        before, used = used, sum(map(cpu_seconds, processes))
        if used - before < IDLE:
            return


def cost_of(kind, target, processes, client, *flags, deadline=DEADLINE):
    """Runs a flood beside plans of `client`, which another host's address should be for."""
    before = [cpu_seconds(each) for each in processes]
    with PlansBeside(client, deadline) as beside:
        end = run_flood(kind, target, *flags)
        wait_until_idle(processes)
    return Cost(end, [status(each, "VmHWM") for each in processes],
                [cpu_seconds(each) - start for each, start in zip(processes, before)],
                statistics.median(beside.seconds), max(beside.seconds), len(beside.seconds),
                beside.failures)
