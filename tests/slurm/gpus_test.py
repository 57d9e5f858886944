#!/usr/bin/python3
"""The number of GPUs that is judged is the number that Slurm gives, however a job asks for them."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import run_or_skip
from hooked import ALWAYS, NEVER, HookedCluster
from sextantd import Server

# Flags, and the GPUs that Slurm 22.05 gives.
COUNTED = (
    ("--gres=gpu", 1),
    ("--gres=gpu:8", 8),
    ("--gres=gpu:h100", 1),
    ("--gres=gpu:h100:8", 8),
    ("--gres=gpu:h100:4 --nodes=2", 8),
    ("--gres=gpu:h100:8 --nodes=2", 16),
    ("--gres=gpu:4 --ntasks=4 --nodes=2", 8),
    ("--gres=gpu:8 --nodelist=node[1-2]", 16),
    ("--gpus-per-node=8", 8),
    ("--gpus-per-node=h100:8 --nodes=2", 16),
    ("--gpus=16", 16),
    ("--gpus=h100:16", 16),
    ("--gpus=h100:8 --nodes=1", 8),
    ("--gpus=4 --nodes=2", 4),
    ("-G 8", 8),
    ("--gpus-per-node=4 --gpus=8", 8),
    ("--gpus-per-task=1 --ntasks=8", 8),
    ("--gpus-per-task=h100:1 --ntasks=8 --nodes=2", 8),
    ("--gpus-per-task=4 --nodes=2", 8),
    ("--gpus-per-task=4 --nodes=2 --ntasks-per-node=2", 16),
    ("--gpus=8 --gpus-per-task=1", 8),
    ("--gpus-per-node=8 --nodes=2 --ntasks=2 --gpus-per-task=8", 16),
    ("--ntasks-per-gpu=2 --ntasks=16 --nodes=2", 8),
    # Whole nodes, whatever is asked of them.
    ("--exclusive", 8),
    ("--exclusive --nodes=2", 16),
    ("--exclusive --gres=gpu:4", 8),
    ("--exclusive --gres=gpu:4 --nodes=2", 16),
    ("--exclusive --gpus=4 --nodes=1", 8),
    ("--exclusive=user --gres=gpu:4", 4),
    ("--partition=whole --gres=gpu:4", 8),
    ("--partition=whole --gres=gpu:h100:1 --nodes=2", 16),
)

# Flags of which Slurm chooses the number of nodes, and so of GPUs; and the number here.
OPEN = (
    ("--gres=gpu:8 --ntasks=20", 16),
    ("--gres=gpu:8 --nodes=1-2", 16),
    ("--gres=gpu:2 --ntasks=4 --ntasks-per-node=2", 4),
    ("--gres=gpu:8 --nodelist=node[1-2] --ntasks=3", 16),
    ("--exclusive --gpus=16", 16),
    ("--exclusive --ntasks=20", 16),
    ("--partition=whole --gpus=16", 16),
    ("--gres=gpu:h100:1,gpu:h100:2", 2),
    ("--gpus-per-socket=4 --sockets-per-node=1", 4),
)


def judged(done):
    """The number of GPUs in what was said, or None where no number was judged."""
    numbers = set(re.findall(r"(\d+) x h100-sxm", done.stderr))
    assert len(numbers) <= 1, done.stderr
    return int(numbers.pop()) if numbers else None


def allocated(cluster, done):
    """The number of GPUs that Slurm gave, which it gets back."""
    given = cluster.gpus(cluster.asked(done))
    cluster.end(done)
    return given


def check(cluster, flags, expected):
    """Both verdicts show the number that is allocated."""
    done = cluster.salloc(ALWAYS, *flags.split())
    given = allocated(cluster, done)
    assert given == expected, (flags, given)
    assert judged(done) == given and " FITS: " in done.stderr, (flags, given, done.stderr)
    done = cluster.salloc(NEVER, *flags.split())
    assert done.returncode != 0, (flags, done)
    assert judged(done) == given and "DOES NOT FIT: " in done.stderr, (flags, done.stderr)


def check_open(cluster, flags, given):
    """No number is judged, or the right one, and the user is told."""
    done = cluster.salloc(NEVER, *flags.split())
    assert "not judged" in done.stderr and judged(done) is None, (flags, done.stderr)
    found = allocated(cluster, done)
    assert found == given, (flags, found)


def check_batch(cluster):
    """The same of a batch job, whose options stand in its script."""
    for flags, gpus in (("--gres=gpu:h100:8 --nodes=2", 16), ("--gpus-per-task=1 --ntasks=8", 8),
                        ("--gpus=16", 16)):
        lines = "".join(f"#SBATCH {flag}\n" for flag in flags.split())
        done = cluster.run("sbatch", "--parsable", stdin=f"#!/bin/sh\n{lines}#SEXTANT {ALWAYS}\n"
                                                         "sleep 60\n")
        number = cluster.asked(done)
        cluster.wait_for_job(number, "RUNNING")
        assert judged(done) == cluster.gpus(number) == gpus, (flags, done.stderr)
        cluster.end(done)
        cluster.wait_for_job(number)


def main():
    with Server("--role=planner") as server, HookedCluster(server.http, nodes=4) as cluster:
        for flags, expected in COUNTED:
            check(cluster, flags, expected)
        for flags, given in OPEN:
            check_open(cluster, flags, given)
        check_batch(cluster)


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
