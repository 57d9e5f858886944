#!/usr/bin/python3
"""slurm-health-check.sh as slurmd's HealthCheckProgram, with the real sextant-probe: two slow
measurements in a row drain a node, noise does not."""

import copy
import json
import os
import subprocess
import sys
import tempfile
import time

from cluster import PATH, ROOT, Cluster, run_or_skip, wait_for

BIN = os.path.abspath(os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build/release/bin")))
SCRIPT = os.path.join(ROOT, "deploy", "monitoring", "slurm-health-check.sh")
CONF = """
HealthCheckProgram={folder}/etc/health.sh
HealthCheckInterval=1
HealthCheckNodeState=ANY
"""
# slurmd gives its HealthCheckProgram the node's name and little else.
HEALTH = f"""#!/bin/sh
folder=$(dirname "$(dirname "$0")")
export PATH="{BIN}:{PATH}" SLURM_CONF="$folder/etc/slurm.conf"
export SEXTANT_CALIBRATIONS="$folder/run/$SLURMD_NODENAME"
{SCRIPT}
echo "$SLURMD_NODENAME" >> "$folder/log/health"
"""


def measured():
    """A quick calibration of this host by the real probe."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "calibration.json")
        done = subprocess.run(
            [os.path.join(BIN, "sextant-probe"), "--mode=quick", "--backend=host",
             f"--output={path}"], capture_output=True, text=True, timeout=120, check=False,
            env={**os.environ, "SEXTANT_LOCK_FOLDER": folder})
        assert done.returncode == 0, done
        with open(path, encoding="utf-8") as file:
            return json.load(file)


def at(calibration, hours_ago, speed=1.0, stable=True):
    """The calibration of an earlier hour, in which all was faster by the factor `speed`."""
    out = copy.deepcopy(calibration)
    out["measuredTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                                        time.gmtime(time.time() - 3600 * hours_ago))
    out.pop("registers", None)  # no limit for the rates
    for one in out["matmuls"] + out.get("streams", []) + out.get("elementwise", []):
        one.pop("registerRatio", None)
        for name in ("flopsPerSecond", "bytesPerSecond"):
            if name in one:
                one[name] *= speed
        for name in ("medianSeconds", "p10Seconds", "p90Seconds"):
            one["time"][name] /= speed
        one["time"]["stable"] = stable
    return out


class Health:
    """What the nodes of the cluster are judged by, and what came of it."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.log = f"{cluster.folder}/log/health"

    def keep(self, node, *calibrations):
        """Adds them to the node's folder, as files that are never half there."""
        folder = f"{self.cluster.folder}/run/{node}"
        os.makedirs(folder, exist_ok=True)
        for calibration in calibrations:
            path = f"{folder}/{len(os.listdir(folder))}.json"
            with open(path + ".new", "w", encoding="utf-8") as file:
                json.dump(calibration, file)
            os.rename(path + ".new", path)

    def wait_for_a_check(self, node):
        """Waits until a check of the node has begun and ended."""
        def count():
            if not os.path.exists(self.log):
                return 0
            with open(self.log, encoding="utf-8") as file:
                return file.read().split().count(node)
        enough = count() + 2  # one may be under way
        wait_for(lambda: count() >= enough, f"a check of {node}")

    def verdict(self, node):
        """The exit code and the first line of a check by hand."""
        done = subprocess.run(
            [os.path.join(BIN, "sextant-probe"), "check", f"{self.cluster.folder}/run/{node}"],
            capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout.splitlines()[0]

    def reason(self, node):
        """What `sinfo -R` shows of the node."""
        shown = self.cluster.run("sinfo", "-R", "-h", "-N", "-n", node, "-p", "train",
                                 "-o", "%250E")
        return shown.stdout.strip()

    def is_drained(self, node):
        return self.cluster.states()[node].startswith("drain")


def check_noise(health, calibration):
    """Two quick runs, the second on a busy host: a history of one."""
    health.keep("node2", at(calibration, 2), at(calibration, 1, speed=0.454))
    code, line = health.verdict("node2")
    assert code == 1 and "a history of fewer than 5 proves nothing" in line, line
    health.wait_for_a_check("node2")
    assert not health.is_drained("node2"), health.reason("node2")


def check_unstable(health, calibration):
    """A long history, and figures of a busy host again and again."""
    health.keep("node2", *(at(calibration, 0.9 - hour / 10) for hour in range(5)))
    health.keep("node2", *(at(calibration, 0.2 - hour / 10, speed=0.454, stable=False)
                           for hour in range(2)))
    assert health.verdict("node2")[0] != 2, health.verdict("node2")
    health.wait_for_a_check("node2")
    assert not health.is_drained("node2"), health.reason("node2")


def check_two_in_a_row(health, calibration):
    health.keep("node1", *(at(calibration, 10 - hour) for hour in range(5)))
    health.keep("node1", at(calibration, 2, speed=0.8))
    code, line = health.verdict("node1")
    assert code == 1 and "CRITICAL takes 2 in a row" in line, line
    health.wait_for_a_check("node1")
    assert not health.is_drained("node1"), health.reason("node1")
    health.keep("node1", at(calibration, 1, speed=0.8))
    wait_for(lambda: health.is_drained("node1"), "node1 drained")
    reason = health.reason("node1")
    uuid = calibration["device"]["uuid"]
    assert reason.startswith(f"SEXTANT CRITICAL - {uuid} "), reason
    assert "20.0 % below" in reason and "slow in 2 measurements in a row" in reason, reason
    # Nothing is started on it any more.
    done = health.cluster.run("srun", "--nodelist=node1", "--immediate=1", "true")
    assert done.returncode != 0, done


def check_reason_stays(health, calibration):
    """A node that somebody drained keeps his reason."""
    health.cluster.run("scontrol", "update", "NodeName=node2", "State=DRAIN",
                       "Reason=its fan is replaced")
    health.keep("node2", at(calibration, 0.05, speed=0.8), at(calibration, 0.01, speed=0.8))
    code, line = health.verdict("node2")
    assert code == 2 and "slow in 2 measurements in a row" in line, line
    health.wait_for_a_check("node2")
    assert health.reason("node2") == "its fan is replaced", health.reason("node2")


def check_wrong_result(health, calibration):
    """The server's mark of a wrong result drains at once, however fast the device is."""
    health.keep("node3", *(at(calibration, 5 - hour) for hour in range(5)))
    assert health.verdict("node3")[0] == 0, health.verdict("node3")
    health.wait_for_a_check("node3")
    assert not health.is_drained("node3"), health.reason("node3")
    mark = f"{health.cluster.folder}/run/node3/{calibration['device']['uuid']}.distrusted"
    with open(mark, "w", encoding="utf-8"):
        pass
    wait_for(lambda: health.is_drained("node3"), "node3 drained")
    assert "had a wrong result" in health.reason("node3"), health.reason("node3")


def main():
    calibration = measured()
    with Cluster(conf=CONF, files={"health.sh": HEALTH}, nodes=3) as cluster:
        health = Health(cluster)
        check_two_in_a_row(health, calibration)
        check_noise(health, calibration)
        check_unstable(health, calibration)
        check_reason_stays(health, calibration)
        check_wrong_result(health, calibration)
    print("two slow measurements in a row drain a node, noise does not")


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
