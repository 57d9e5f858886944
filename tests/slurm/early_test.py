#!/usr/bin/python3
"""cli_filter.lua: srun and salloc are judged, srun's tasks get the layout, and sbatch's user reads
the plan once."""

import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import run_or_skip, wait_for
from hooked import BY_FOUR, NEVER, HookedCluster
from sextantd import Server

SEARCHED = "llama-3.1-8b gbs=64 sequence-length=8192"


def check_srun(cluster):
    done = cluster.run("srun", "--gres=gpu:8", "true", env={"SEXTANT_PLAN": NEVER})
    assert done.returncode != 0 and "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm" in done.stderr, done
    assert "Job violates accounting/QOS policy" in done.stderr, done.stderr
    done = cluster.run("srun", "--gres=gpu:8", "env", env={"SEXTANT_PLAN": BY_FOUR, "MINE": "1"})
    assert done.returncode == 0 and done.stderr.count("FITS: llama-3.1-8b, 8 x") == 1, done.stderr
    env = done.stdout.splitlines()
    assert {"SEXTANT_TP=4", "SEXTANT_GBS=240", "SEXTANT_DEVICES=8", "MINE=1"} <= set(env), env
    # --export stays what its user wrote.
    done = cluster.run("srun", "--gres=gpu:8", "--export=ALL,A=b", "env",
                       env={"SEXTANT_PLAN": BY_FOUR})
    assert {"SEXTANT_TP=4", "A=b"} <= set(done.stdout.splitlines()), done
    done = cluster.run("srun", "--gres=gpu:8", "env")
    assert done.returncode == 0 and "sextant" not in done.stderr, done
    assert "SEXTANT_TP" not in done.stdout and "SEXTANT_PLAN" not in done.stdout, done


def check_salloc(cluster):
    done = cluster.run("salloc", "--no-shell", "--gres=gpu:8", env={"SEXTANT_PLAN": NEVER})
    assert done.returncode == 1 and "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm" in done.stderr, done
    # Of --gres Slurm tells srun nothing.
    done = cluster.run("salloc", "--gpus-per-node=8", "--comment=mine", "srun", "env",
                       env={"SEXTANT_PLAN": BY_FOUR})
    assert done.returncode == 0 and "FITS: llama-3.1-8b, 8 x h100-sxm" in done.stderr, done
    assert "SEXTANT_TP=4" in done.stdout.splitlines(), done.stdout
    wait_for(lambda: cluster.jobs() == 0, "an empty queue")


def check_sbatch(cluster):
    done = cluster.sbatch(NEVER, "--gres=gpu:8")
    assert done.returncode == 1 and "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm" in done.stderr, done
    path = os.path.join(cluster.folder, "run", "job.sh")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n#SBATCH --gres=gpu:8\n#SEXTANT {BY_FOUR}\nenv\nsrun env\n")
    done = cluster.run("sbatch", "--parsable", "--output=%j.out", path)
    number = cluster.asked(done)
    assert done.stderr.count("FITS: llama-3.1-8b, 8 x h100-sxm") == 1, done.stderr
    cluster.wait_for_job(number)
    with open(f"{cluster.folder}/run/{number}.out", encoding="utf-8") as file:
        assert file.read().count("SEXTANT_TP=4\n") == 2  # the script's and its step's
    # A layout is looked for here, and checked there.
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n#SBATCH --gres=gpu:8\n#SEXTANT {SEARCHED}\nenv\n")
    done = cluster.run("sbatch", "--parsable", "--output=%j.out", path)
    number = cluster.asked(done)
    assert "FITS: llama-3.1-8b, 8 x h100-sxm" in done.stderr, done.stderr
    cluster.wait_for_job(number)
    with open(f"{cluster.folder}/run/{number}.out", encoding="utf-8") as file:
        assert "\nSEXTANT_DEVICES=8\n" in file.read()


def check_injection(cluster):
    victim = os.path.join(cluster.folder, "run", "victim")
    for text in (f"'; touch {victim}; '", f"$(touch {victim})", f"`touch {victim}`"):
        for command in ("srun", "salloc"):
            words = (command, "--gres=gpu:8", *(["--no-shell"] if command == "salloc" else ["env"]))
            done = cluster.run(*words, env={"SEXTANT_PLAN": text})
            assert done.returncode != 0, (words, text, done)
    assert not os.path.exists(victim)
    done = cluster.run("srun", "--gres=gpu:8", "env", env={"SEXTANT_PLAN": "x" * 100_000})
    assert done.returncode == 0 and "not planned" in done.stderr, done.stderr


def check_away(cluster, server):
    """Nobody waits long, and nothing is refused."""
    cluster.site(deadline_ms=300)
    server.process.send_signal(signal.SIGSTOP)
    for command in (("srun", "--gres=gpu:8", "true"),
                    ("salloc", "--no-shell", "--gres=gpu:8")):
        done = cluster.run(*command, env={"SEXTANT_PLAN": NEVER})
        assert done.returncode == 0 and "not planned" in done.stderr, done
    server.process.send_signal(signal.SIGCONT)


def check_off(cluster):
    cluster.site(mode="off")
    done = cluster.run("srun", "--gres=gpu:8", "env", env={"SEXTANT_PLAN": NEVER})
    assert done.returncode == 0 and "SEXTANT_TP" not in done.stdout, done
    assert "sextant" not in done.stderr, done.stderr
    # Whatever is wrong with the scripts, commands go on.
    cluster.site(mode="refuse")
    cluster.write("sextant/words.lua", "return nil .. 1\n")
    done = cluster.run("srun", "true", env={"SEXTANT_PLAN": NEVER})
    assert done.returncode == 0 and not done.stderr, done


def main():
    with Server("--role=planner") as server, \
            HookedCluster(server.http, asks_early=True) as cluster:
        check_srun(cluster)
        check_salloc(cluster)
        check_sbatch(cluster)
        check_injection(cluster)
        check_away(cluster, server)
        cluster.run("scancel", "--state=RUNNING", "--full")
        check_off(cluster)


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
