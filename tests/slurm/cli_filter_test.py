#!/usr/bin/python3
"""cli_filter.lua: what it writes into comments and --export, what it leaves alone, and how long its
user waits."""

import os
import re
import signal
import sys
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import run_or_skip
from hooked import BY_FOUR, HookedCluster, number_of
from sextantd import Server

SEARCHED = "llama-3.1-8b gbs=64 sequence-length=8192"


def comment_of(cluster, number):
    shown = cluster.run("scontrol", "show", "job", number).stdout
    found = re.search(r"^ *Comment=(.*?) *$", shown, re.MULTILINE)
    return found and found.group(1)


def variables(done):
    assert done.returncode == 0, done
    ours = ("SEXTANT_PLAN=", "SEXTANT_SLURM_FILE=")
    return {line for line in done.stdout.splitlines()
            if line.startswith(("SEXTANT_", "A=")) and not line.startswith(ours)}


def admissions(server):
    with urllib.request.urlopen(f"http://{server.http}/metrics") as answer:
        text = answer.read().decode()
    return sum(int(line.split()[-1]) for line in text.splitlines()
               if line.startswith("sextant_admissions_total"))


def check_comments(cluster):
    plan = {"SEXTANT_PLAN": BY_FOUR}
    for comment, expected in (
            (None, f"sextant: {BY_FOUR}"), ("mine", f"mine sextant: {BY_FOUR}"),
            (f"mine sextant: {SEARCHED} tp=8", f"mine sextant: {SEARCHED} tp=8")):
        given = () if comment is None else (f"--comment={comment}",)
        done = cluster.run("salloc", "--no-shell", "--gres=gpu:8", *given, env=plan)
        assert comment_of(cluster, number_of(done)) == expected, (comment, done)
        cluster.end(done)
    # slurmctld refuses a comment of 1,024 bytes.
    room = 1000 - len(f" sextant: {BY_FOUR}")
    for size, fits in ((room, True), (room + 1, False), (1020, False)):
        done = cluster.run("salloc", "--no-shell", "--gres=gpu:8", "--comment=" + "x" * size,
                           env=plan)
        assert done.returncode == 0 and ("Slurm takes 1000" in done.stderr) != fits, done.stderr
        cluster.end(done)


def check_export(cluster):
    for flags, expected in ((("--export=NONE",), set()), (("--export=A=b",), {"A=b"}),
                            (("--export=ALL,A=b",), {"A=b"})):
        done = cluster.run("srun", "--gres=gpu:8", *flags, "/usr/bin/env",
                           env={"SEXTANT_PLAN": BY_FOUR})
        layout = {"SEXTANT_TP=4", "SEXTANT_GBS=240", "SEXTANT_DEVICES=8"} if expected else set()
        assert variables(done) == expected | layout, (flags, variables(done))
    done = cluster.run("srun", "-v", "--gres=gpu:8", "--export=NONE", "/usr/bin/env",
                       env={"SEXTANT_PLAN": BY_FOUR})
    assert re.search(r"^srun: export +: NONE$", done.stderr, re.MULTILINE), done.stderr
    # What its user exported stays.
    done = cluster.run("srun", "--gres=gpu:8", "env",
                       env={"SEXTANT_PLAN": BY_FOUR, "SEXTANT_TP": "9"})
    assert "SEXTANT_TP=9" in variables(done) and "SEXTANT_GBS=240" in variables(done), done.stdout


def submit(cluster, words, *flags, body="env"):
    path = os.path.join(cluster.folder, "run", "job.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n#SEXTANT {words}\n{body}\n")
    return cluster.run("sbatch", "--parsable", "--output=%j.out", *flags, path)


def check_search(cluster):
    """The layout that was found is what the controller judges, and what the job gets."""
    done = submit(cluster, SEARCHED, "--gpus=16", "--nodes=2", "--comment=mine")
    number = cluster.asked(done)
    found = re.search(r"^sbatch: sextant: layout found: (.*)$", done.stderr, re.MULTILINE).group(1)
    assert comment_of(cluster, number) == f"mine sextant: {SEARCHED} {found}", done.stderr
    assert done.stderr.count("FITS: llama-3.1-8b, 16 x h100-sxm") == 1, done.stderr
    cluster.wait_for_job(number)
    with open(f"{cluster.folder}/run/{number}.out", encoding="utf-8") as file:
        got = set(file.read().splitlines())
    for word in found.split():
        name, value = word.split("=")
        assert f"SEXTANT_{name.upper().replace('-', '_')}={value}" in got, (word, got)
    done = submit(cluster, SEARCHED, "--gpus=16", "--nodes=2", "-Q")
    queued = cluster.run("squeue", "-h", "-o", "%i %k").stdout
    assert f"sextant: {SEARCHED} " in queued and done.stderr == "", (queued, done)
    cluster.run("scancel", "--full", queued.split()[0])
    # A script from stdin may have words that are not known here: nothing is written for it.
    done = cluster.sbatch(BY_FOUR, "--gpus=16", "--nodes=2", env={"SEXTANT_PLAN": SEARCHED})
    assert comment_of(cluster, cluster.asked(done)) is None
    cluster.end(done)


def check_steps(cluster, server):
    """srun within a job asks nobody where the job has its layout."""
    before = admissions(server)
    done = cluster.run("sbatch", "--parsable", "--output=%j.out", "--gpus-per-node=8",
                       "--wrap=srun env", env={"SEXTANT_PLAN": BY_FOUR})
    asked = admissions(server) - before
    assert asked == 2, asked  # here and in the controller
    job = cluster.wait_for_job(cluster.asked(done))
    assert job["JobState"] == "COMPLETED", job
    assert admissions(server) - before == asked
    with open(f"{cluster.folder}/run/{number_of(done)}.out", encoding="utf-8") as file:
        assert "SEXTANT_TP=4\n" in file.read()


def check_parts(cluster):
    """No part of a heterogeneous job is judged as if it were the whole."""
    for flags, body in ((("--gres=gpu:8", ":", "--gres=gpu:8"), "true"),
                        (("--gres=gpu:8",), "#SBATCH hetjob\n#SBATCH --gres=gpu:8\ntrue")):
        done = submit(cluster, SEARCHED, *flags, body=body)
        number = cluster.asked(done)
        assert "layout found" not in done.stderr, done.stderr
        assert comment_of(cluster, number) is None
        cluster.end(done)


def check_waits(cluster, server):
    """A stopped planner costs who submits one deadline here, and one in the controller."""
    cluster.site(deadline_ms=300)
    server.process.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    done = submit(cluster, SEARCHED, "--gres=gpu:8", body="true")
    took = time.monotonic() - began
    server.process.send_signal(signal.SIGCONT)
    assert done.returncode == 0 and "not planned" in done.stderr, done
    assert took < 1.5, took


def main():
    with Server("--role=planner") as server, \
            HookedCluster(server.http, asks_early=True) as cluster:
        check_comments(cluster)
        check_export(cluster)
        check_search(cluster)
        check_steps(cluster, server)
        check_parts(cluster)
        check_waits(cluster, server)


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
