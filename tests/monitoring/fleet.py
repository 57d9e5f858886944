#!/usr/bin/python3
"""A fleet of 20 hosts with 160 simulated GPUs, a real Prometheus and two planners: real servers.

    tests/monitoring/fleet.py

Shows that
- a slow GPU changes the plan of its placement, by name, days and money, and no other plan;
- its alert fires, and no other GPU's;
- both planners answer every request with the same bytes;
- a GPU that becomes slow changes its placement's plan after the next scrape;
- where Prometheus is stopped plans of any hosts go on, and say how old their rates are, or what
  stands in;
- when it is back, so are its rates.
Takes 20 seconds.
"""

import concurrent.futures
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
# pylint: disable=wrong-import-position
import monitored_fleet
import simulated_agents
from prometheus import RULE_FILES, SKIPPED, Prometheus, why_absent
from sextantd import BIN, Server
from simulated_fleet import H100, Gpu

HOSTS = [f"node-{number:03d}" for number in range(20)]
SLOW_HOST, SLOW_INDEX, SLOWDOWN = HOSTS[2], 3, 0.2
LATER_HOST, LATER_INDEX = HOSTS[4], 5  # becomes slow during the test
MEASURED_AGO = 3600


def gpus_of(host, later=False):
    slow = {(SLOW_HOST, SLOW_INDEX)} | ({(LATER_HOST, LATER_INDEX)} if later else set())
    return [Gpu(host, index, H100, slowdown=SLOWDOWN if (host, index) in slow else 0.0)
            for index in range(8)]


def plan(planner, hosts, *more, devices=16):
    """The answer's JSON as text, of all GPUs of two hosts or of those that `more` names."""
    arguments = ["plan", "llama-3.1-8b", "--tokens=1T", "--fleet=h100-sxm", "--node-type=dgx-h100",
                 f"--devices={devices}", f"--gbs={4 * devices}", "--sequence-length=4096", "--tp=2",
                 "--price=2", "--framework=megatron-lm", "--output=json",
                 f"--address={planner.address}"]
    if hosts:
        arguments.append("--hosts=" + ",".join(hosts))
    done = subprocess.run([os.path.join(BIN, "sextant"), *arguments, *more], capture_output=True,
                          text=True, check=False)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    return done.stdout


def step_seconds(text):
    return json.loads(text)["plan"]["stepTime"]["seconds"]["expected"]


def warnings(text):
    return {note["kind"]: note for note in json.loads(text)["plan"].get("warnings", [])}


def alike(planners, hosts):
    """The answer of all planners, which is the same."""
    answers = {plan(planner, hosts) for planner in planners}
    assert len(answers) == 1, answers
    return answers.pop()


class Agents:
    """The servers of all hosts."""

    def __init__(self, folder, stack):
        self.folder = folder
        self.measured_at = time.time() - MEASURED_AGO
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            servers = list(pool.map(self._start, HOSTS))
        self.servers = dict(zip(HOSTS, servers))
        for server in servers:
            stack.callback(server.__exit__, None, None, None)

    def _start(self, host):
        flags = simulated_agents.flags(gpus_of(host), os.path.join(self.folder, host),
                                       self.measured_at)
        return Server("--role=agent", f"--hostname={host}", "--log_calls=none", *flags).__enter__()

    def slow_down(self, host):
        """The host's GPUs were measured again, one of them slower: its agent reads the files."""
        again = self.measured_at + 60
        for gpu in gpus_of(host, later=True):
            path = os.path.join(self.folder, host, "calibrations", f"{gpu.uuid}.full.json")
            with open(path + ".new", "w", encoding="utf-8") as out:
                json.dump(simulated_agents.calibration(gpu, again), out)
            os.replace(path + ".new", path)
        self.servers[host].process.send_signal(signal.SIGHUP)


def check_series(agents):
    """An agent shows at most 16 series a GPU, and under its host's name."""
    import urllib.request
    for host, server in agents.servers.items():
        with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        for gpu in gpus_of(host):
            series = [line for line in text.split("\n") if f'UUID="{gpu.uuid}"' in line]
            assert 0 < len(series) <= 16, (host, len(series))
            assert all(f'hostname="{host}"' in line for line in series), series[0]


def check_slow_gpu(planners, prometheus):
    prometheus.wait_for(
        lambda: len(prometheus.query("count by (hostname) (sextant_gpu_healthy)")) == len(HOSTS),
        "all hosts are scraped")
    prometheus.wait_for(
        lambda: len(prometheus.query("hostname_modelName:sextant_gpu_measured:count == 8"))
        == len(HOSTS), "all hosts are recorded")
    for planner in planners:
        prometheus.wait_for(
            lambda p=planner: json.loads(plan(p, HOSTS))["plan"]["fleet"].get("deviceCount")
            == str(8 * len(HOSTS)), "a planner has read all hosts")
    even = alike(planners, HOSTS[0:2])
    slow = alike(planners, [SLOW_HOST, HOSTS[3]])
    coverage = json.loads(even)["plan"]["fleet"]
    assert (coverage["deviceCount"], coverage["hostCount"]) == ("16", "2"), coverage
    assert coverage["source"] == "RATE_SOURCE_MEASURED_DEVICE", coverage
    ratio = step_seconds(slow) / step_seconds(even)
    assert 1.1 < ratio < 1 / (1 - SLOWDOWN) + 0.03, ratio
    note = warnings(slow)["NOTE_KIND_SLOWEST_DEVICE"]["text"]
    uuid = gpus_of(SLOW_HOST)[SLOW_INDEX].uuid
    assert f"{uuid} on {SLOW_HOST}" in note and " days and " in note and " USD" in note, note
    cost = json.loads(slow)["plan"]["wholeRun"]["slowestDevice"]
    assert cost["uuid"] == uuid and cost["hostname"] == SLOW_HOST, cost
    print(f"two hosts: a step takes {step_seconds(even):.3f} s; with a GPU that is "
          f"{100 * SLOWDOWN:.0f} % slower {step_seconds(slow):.3f} s.\n  {note}")
    # Named by UUID, without the slow one, GPUs of these hosts are as fast as others.
    def of_eight(*hosts):
        gpus = [gpu.uuid for host in hosts for gpu in gpus_of(host) if gpu.uuid != uuid]
        return plan(planners[0], [], "--gpu-uuids=" + ",".join(gpus[-8:]), devices=8)
    without = of_eight(SLOW_HOST, HOSTS[3])
    assert uuid not in json.dumps(warnings(without)), without
    assert abs(step_seconds(without) / step_seconds(of_eight(HOSTS[0])) - 1) < 0.05
    return even


def check_alert(prometheus):
    def firing():
        alerts = json.loads(prometheus.get("/api/v1/alerts"))["data"]["alerts"]
        return {alert["labels"].get("UUID") for alert in alerts
                if alert["state"] == "firing" and
                alert["labels"]["alertname"] == "SextantGpuSlowerThanFleet"}
    expected = {gpus_of(SLOW_HOST)[SLOW_INDEX].uuid}
    prometheus.wait_for(lambda: firing() == expected, f"the alert of {expected} alone fires")
    print("alert SextantGpuSlowerThanFleet fires for that GPU alone")


def check_product(planners, prometheus):
    def known():
        text = plan(planners[0], [])
        return text if json.loads(text)["plan"]["fleet"].get("deviceCount") == "160" else None
    text = prometheus.wait_for(known, "the median of 160 GPUs is recorded")
    assert json.loads(text)["plan"]["fleet"]["source"] == "RATE_SOURCE_MEASURED_MODEL"
    print(f"without hosts, by the median of 160 GPUs: {step_seconds(text):.3f} s")


def check_that_a_change_is_seen(agents, planners, prometheus, even):
    placement = [LATER_HOST, HOSTS[5]]
    before = step_seconds(alike(planners, placement))
    agents.slow_down(LATER_HOST)

    def changed():
        return step_seconds(plan(planners[0], placement)) > 1.05 * before
    prometheus.wait_for(changed, "the plan of a placement whose GPU became slow has changed")
    prometheus.wait_for(lambda: step_seconds(plan(planners[1], placement)) > 1.05 * before,
                        "the other planner sees it too")
    alike(planners, placement)
    assert step_seconds(alike(planners, HOSTS[0:2])) == step_seconds(even), "other plans changed"
    print("a GPU that became slow changed the plan of its hosts, and that of no others")


def check_without_prometheus(planners, prometheus, even):
    prometheus.process.terminate()
    prometheus.process.wait(timeout=60)
    deadline = time.monotonic() + 30
    while "NOTE_KIND_FLEET_STALE" not in warnings(plan(planners[0], HOSTS[0:2])):
        assert time.monotonic() < deadline, "no plan says that its rates are old"
        time.sleep(0.2)
    stale = plan(planners[0], HOSTS[0:2])
    assert step_seconds(stale) == step_seconds(even)
    coverage = json.loads(stale)["plan"]["fleet"]
    assert coverage["unreadSeconds"] > 1 and "can't be reached" in coverage["failure"], coverage
    # Hosts that were never named are known as well as others; GPUs by UUID are not.
    new = plan(planners[0], HOSTS[6:8])
    assert "NOTE_KIND_FLEET_STALE" in warnings(new), new
    assert json.loads(new)["plan"]["fleet"]["deviceCount"] == "16", new
    uuids = "--gpu-uuids=" + ",".join(gpu.uuid for gpu in gpus_of(HOSTS[9]))
    note = warnings(plan(planners[0], [], uuids, devices=8))["NOTE_KIND_FLEET_UNREAD"]["text"]
    assert "what is published of h100-sxm stands in" in note, note
    print("Prometheus was stopped, and plans go on:\n "
          f" {warnings(stale)['NOTE_KIND_FLEET_STALE']['text']}\n  {note}")


def check_that_it_comes_back(planners, prometheus):
    prometheus.start()
    deadline = time.monotonic() + 60
    while "NOTE_KIND_FLEET_STALE" in warnings(plan(planners[0], HOSTS[6:8])):
        assert time.monotonic() < deadline, "rates are not read again"
        time.sleep(0.2)
    print("Prometheus is back, and so are its rates")


def main():
    reason = why_absent("prometheus")
    if reason:
        print(reason)
        return SKIPPED
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        agents = Agents(folder, stack)
        check_series(agents)
        scraped = {"job_name": "sextant-agents", "static_configs": [
            {"targets": [server.http]} for server in agents.servers.values()]}
        rules = list(monitored_fleet.copies_in_a_hurry(RULE_FILES, os.path.join(folder, "rules")))
        prometheus = stack.enter_context(Prometheus([scraped], rules))
        planners = [stack.enter_context(Server(
            "--role=planner", f"--fleet_prometheus_url={prometheus.url}", "--fleet_interval=1s",
            "--log_calls=none")) for _ in range(2)]
        even = check_slow_gpu(planners, prometheus)
        check_alert(prometheus)
        check_product(planners, prometheus)
        check_that_a_change_is_seen(agents, planners, prometheus, even)
        check_without_prometheus(planners, prometheus, even)
        check_that_it_comes_back(planners, prometheus)
    print(f"all as it should be, in {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
