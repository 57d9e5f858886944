#!/usr/bin/python3
"""What asking before each job costs a Slurm controller: a table in Markdown.

    SEXTANT_BIN=FOLDER tests/benchmarks/slurm.py [JOBS]

Three clusters as those of tests/slurm run at once, one without the hook, and take turns. Times are
of `sbatch --hold` as its user waits for it; "in slurmctld" is what sdiag says of the request.
"""

import os
import re
import statistics
import sys
import threading
import time

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "slurm"), os.path.join(TESTS, "e2e")]
# pylint: disable=wrong-import-position
from cluster import Cluster, run_or_skip  # noqa: E402
from hooked import BY_FOUR, HookedCluster, StandIn, silent  # noqa: E402
from sextantd import Server  # noqa: E402

ROUNDS = 5
AT_ONCE = 8


def submitted(cluster, words):
    """Milliseconds of one submission."""
    script = "#!/bin/sh\n" + (f"#SEXTANT {words}\n" if words else "") + "sleep 1\n"
    began = time.monotonic()
    done = cluster.run("sbatch", "--hold", "--gres=gpu:8", stdin=script)
    took = 1000 * (time.monotonic() - began)
    assert done.returncode == 0, done
    return took


def in_controller(cluster):
    """(number, milliseconds in all) of the submissions that slurmctld has handled."""
    found = re.search(r"REQUEST_SUBMIT_BATCH_JOB .*count:(\d+) .*total_time:(\d+)",
                      cluster.run("sdiag").stdout)
    return (int(found.group(1)), int(found.group(2)) / 1000) if found else (0, 0)


class Timed:
    """Submissions to one cluster: milliseconds of each, and in slurmctld."""

    def __init__(self, cluster, words=None):
        self.cluster = cluster
        self.words = words
        submitted(cluster, words)  # loads what is loaded once
        self.before = in_controller(cluster)
        self.times = []

    def submit(self):
        self.times.append(submitted(self.cluster, self.words))

    def mean(self):
        number, total = in_controller(self.cluster)
        return (total - self.before[1]) / (number - self.before[0])


def row(name, times, inside):
    times = sorted(times)
    shown = "" if inside is None else f"{inside:.2f}"
    print(f"| {name} | {len(times)} | {statistics.median(times):.1f} | {times[-1]:.1f} | {shown} |",
          flush=True)


def longest_sinfo(cluster):
    """Milliseconds of the longest `sinfo` of a bystander while eight submit."""
    threads = [threading.Thread(target=submitted, args=(cluster, BY_FOUR)) for _ in range(AT_ONCE)]
    longest = 0
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        began = time.monotonic()
        cluster.run("sinfo")
        longest = max(longest, 1000 * (time.monotonic() - began))
    return longest


def measure():
    jobs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| submission | jobs | median ms | worst ms | mean ms in slurmctld |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with Server("--role=planner", "--log_calls=none") as server, Cluster() as bare, \
            HookedCluster(server.http) as hooked, HookedCluster(server.http) as asking:
        rows = {"no hook": Timed(bare), "no request": Timed(hooked),
                "a request": Timed(asking, BY_FOUR)}
        for _ in range(jobs):
            for one in rows.values():
                one.submit()
        for name, one in rows.items():
            row(name, one.times, one.mean())
        late(asking)


def late(cluster):
    """Rows of a planner that is silent. One at another address is asked anew."""
    first, waits = [], []
    for _ in range(ROUNDS):
        with StandIn(silent) as planner:
            cluster.site(address=planner.address)
            waits.append(longest_sinfo(cluster))
        with StandIn(silent) as planner:
            cluster.site(address=planner.address)
            first.append(submitted(cluster, BY_FOUR))
    with StandIn(silent) as planner:
        cluster.site(address=planner.address)
        following = Timed(cluster, BY_FOUR)
        for _ in range(ROUNDS * 10):
            following.submit()
        mean = following.mean()
        cluster.site(breaker_s=0)
        without = longest_sinfo(cluster)
    row("the first to a silent planner", first, None)
    row("the next ones", following.times, mean)
    row(f"`sinfo` while {AT_ONCE} submit to a silent planner: the longest", waits, None)
    row("the same without the breaker", [without], None)


if __name__ == "__main__":
    sys.exit(run_or_skip(measure))
