#!/usr/bin/python3
"""Jobs that a real Slurm refuses, warns of or queues, on a real planner's word."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import run_or_skip, wait_for
from hooked import BY_FOUR, BY_SIXTEEN, NEVER, TIGHT, HookedCluster, counted
from sextantd import Server

BLOB = "JS1:H4sIAAAAAAAC/6tWykvMTVWyUlAqS8wpTVWqBQBb5lBnEwAAAA=="  # as jobstats keeps a summary


def says(done, *texts):
    for text in texts:
        assert text in done.stderr, (text, done.returncode, done.stderr)


def is_silent(done):
    assert "sextant" not in done.stderr.lower(), done.stderr


def judged(server, verdict):
    """How many jobs of Slurm the planner has judged so."""
    return counted(server, "sextant_admissions_total", f'verdict="{verdict}"')


def check_refused(cluster):
    done = cluster.sbatch(NEVER, "--gres=gpu:8")
    assert done.returncode == 1 and not done.stdout, done
    says(done, "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm: 1 node x 8; ", "--zero=gradients",
         "Job violates accounting/QOS policy")
    assert "Unspecified error" not in done.stderr, done.stderr
    assert cluster.jobs() == 0
    # Wherever the words stand.
    done = cluster.sbatch(None, "--gres=gpu:8", env={"SEXTANT_PLAN": NEVER})
    assert done.returncode == 1, done
    says(done, "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm")
    done = cluster.sbatch(None, "--gres=gpu:8", f"--comment=mine sextant: {NEVER}")
    assert done.returncode == 1, done
    says(done, "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm")
    done = cluster.sbatch("lama-3.1-8b tp=4 gbs=64 sequence-length=8192", "--gres=gpu:8")
    assert done.returncode == 1, done
    says(done, 'model "lama-3.1-8b" is not known', "llama-3.1-8b")
    assert cluster.jobs() == 0


def check_fits(cluster):
    done = cluster.sbatch(BY_FOUR, "--gres=gpu:8", body="env", user="nobody")
    number = cluster.asked(done)
    says(done, "FITS: llama-3.1-8b, 8 x h100-sxm: 1 node x 8; ")
    job = cluster.wait_for_job(number)
    assert job.get("AdminComment") is None, job
    with open(f"{cluster.folder}/run/{number}.out", encoding="utf-8") as file:
        env = file.read().splitlines()
    assert {"SEXTANT_TP=4", "SEXTANT_GBS=240", "SEXTANT_DEVICES=8"} <= set(env), env
    log = cluster.output("slurmctld")
    assert re.search(r"sextant.*FITS: llama-3.1-8b, 8 x h100-sxm", log), log[-2000:]


def check_tight_warns(cluster):
    done = cluster.sbatch(TIGHT, "--gres=gpu:8")
    cluster.asked(done)
    says(done, "TIGHT: llama-3.1-8b, 8 x h100-sxm", "--zero=gradients (now optimizer)")
    cluster.end(done)


def check_doubt_passes(cluster):
    done = cluster.sbatch("llama-3.1-8b", "--gres=gpu:8")
    cluster.asked(done)
    says(done, "no layout is given")
    cluster.end(done)
    # The words say another number than Slurm does.
    done = cluster.sbatch(f"{NEVER} devices=64", "--gres=gpu:8")
    cluster.asked(done)
    says(done, "64", "8")
    cluster.end(done)


def check_no_request(cluster):
    done = cluster.sbatch(None, "--gres=gpu:8")
    cluster.asked(done)
    is_silent(done)
    cluster.end(done)


def check_time_limit(cluster):
    """A limit below the predicted time is said, and none above."""
    done = cluster.sbatch(f"{BY_FOUR} tokens=1B", "--gres=gpu:8", "--time=60")
    cluster.asked(done)
    says(done, "--time")
    cluster.end(done)
    done = cluster.sbatch(f"{BY_FOUR} tokens=1B", "--gres=gpu:8", "--time=30-0")
    cluster.asked(done)
    assert "--time" not in done.stderr, done.stderr
    cluster.end(done)


def check_test_only(cluster):
    done = cluster.sbatch(NEVER, "--gres=gpu:8", "--test-only")
    assert done.returncode == 1, done
    says(done, "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm")
    done = cluster.sbatch(BY_FOUR, "--gres=gpu:8", "--test-only")
    assert done.returncode == 0, done
    says(done, "FITS: llama-3.1-8b, 8 x h100-sxm", "to start at")
    assert cluster.jobs() == 0


def check_array(cluster, server):
    """Asked once, by the GPUs of one task."""
    before = judged(server, "fits")
    done = cluster.sbatch(BY_FOUR, "--gres=gpu:4", "--array=0-3")
    number = cluster.asked(done)
    says(done, "FITS: llama-3.1-8b, 4 x h100-sxm")
    assert judged(server, "fits") == before + 1
    task = wait_for(lambda: cluster.gpus(f"{number}_0"), "a running task")
    assert task == 4, task
    cluster.end(done)
    assert cluster.sbatch(NEVER, "--gres=gpu:4", "--array=0-3").returncode == 1


def check_heterogeneous(cluster):
    """Each part is a job of its own to the hook: a request says nothing of either."""
    script = (b"#!/bin/sh\n#SEXTANT %s\n#SBATCH --gres=gpu:8\n#SBATCH hetjob\n"
              b"#SBATCH --gres=gpu:4\nsleep 60\n" % NEVER.encode())
    done = cluster.run("sbatch", "--parsable", stdin=script)
    cluster.asked(done)
    says(done, "not judged", "heterogeneous")
    cluster.end(done)


def check_modified(cluster):
    """What an update changes is judged again. scontrol shows the error alone, the log the line."""
    for words, env in ((BY_SIXTEEN, {}), (None, {"SEXTANT_PLAN": BY_SIXTEEN})):
        done = cluster.sbatch(words, "--gres=gpu:8", "--nodes=2", "--hold", env=env)
        number = cluster.asked(done)
        says(done, "FITS: qwen2.5-32b, 16 x h100-sxm")
        for change, gpus in (("NumNodes=1", 8), ("NumNodes=1-1", 8), ("Gres=gpu:4", 8)):
            refused = f"DOES NOT FIT: qwen2.5-32b, {gpus} x h100-sxm"
            logged = cluster.output("slurmctld").count(refused)
            done = cluster.run("scontrol", "update", f"jobid={number}", change)
            assert done.returncode == 1 and "accounting/QOS policy" in done.stderr, (change, done)
            log = cluster.output("slurmctld")
            assert log.count(refused) > logged, log[-2000:]
        job = cluster.job(number)
        assert job["NumNodes"] == "2-2" and job["TresPerNode"] == "gres:gpu:8", job
        for harmless in ("TimeLimit=10", "Nice=3", "Comment=hello"):
            done = cluster.run("scontrol", "update", f"jobid={number}", harmless)
            assert done.returncode == 0, done
        cluster.run("scancel", number)
    # What passes is what Slurm gives.
    done = cluster.sbatch(BY_FOUR, "--gres=gpu:8", "--nodes=2", "--hold")
    number = cluster.asked(done)
    done = cluster.run("scontrol", "update", f"jobid={number}", "NumNodes=1")
    assert done.returncode == 0, done
    found = re.findall(r"event=modify.* verdict=FITS gpus=(\d+)", cluster.output("slurmctld"))
    assert found and found[-1] == "8", found
    cluster.run("scontrol", "release", number)
    cluster.wait_for_job(number, "RUNNING")
    assert cluster.gpus(number) == 8
    cluster.run("scancel", "--full", number)


def check_other_partition(cluster):
    """Slurm without accounting takes what our socket leaves in errno for its own error."""
    for user, judged_again in (("nobody", 1), ("4242", 1), (None, 0)):
        done = cluster.sbatch(BY_FOUR, "--gres=gpu:4", "--hold", user=user)
        number = cluster.asked(done)
        found = f"event=modify mode=refuse action=pass verdict=FITS gpus=8 .*job={number} "
        done = cluster.run("scontrol", "update", f"jobid={number}", "Partition=whole")
        assert done.returncode == 0, (user, done.stderr)
        assert cluster.job(number)["Partition"] == "whole"
        assert len(re.findall(found, cluster.output("slurmctld"))) == judged_again, user
        cluster.run("scancel", number)


def check_unknown_type(cluster):
    """GPUs without a row of `devices` are not judged, whatever rows others have."""
    rows = cluster.settings["devices"]
    done = cluster.sbatch(NEVER, "--gres=gpu:b999:8", "--test-only")
    says(done, "b999", "not judged")
    assert "DOES NOT FIT" not in done.stderr, done.stderr
    cluster.site(devices=[{**rows[0], "partition": "train"}])
    done = cluster.sbatch(NEVER, "--gres=gpu:8", "--partition=debug")
    cluster.asked(done)
    says(done, "not judged")
    cluster.end(done)
    # Two products, and no type that chooses one.
    cluster.site(devices=[*rows, {"gres": "a100", "accelerator": "a100-sxm-80gb"}])
    done = cluster.sbatch(NEVER, "--gres=gpu:8")
    cluster.asked(done)
    says(done, "not judged")
    cluster.end(done)
    cluster.site(devices=rows)


def check_modes(cluster):
    """Another mode takes a line of the site's file, and nothing else."""
    cluster.site(mode="observe")
    done = cluster.sbatch(NEVER, "--gres=gpu:8")
    cluster.asked(done)
    says(done, "DOES NOT FIT: llama-3.1-8b, 8 x h100-sxm")
    cluster.end(done)
    cluster.site(mode="off")
    done = cluster.sbatch(NEVER, "--gres=gpu:8")
    cluster.asked(done)
    is_silent(done)
    cluster.end(done)
    cluster.site(mode="refuse")
    assert cluster.sbatch(NEVER, "--gres=gpu:8").returncode == 1
    cluster.site(exempt_users=["nobody"], exempt_partitions=["debug"])
    done = cluster.sbatch(NEVER, "--gres=gpu:8", user="nobody")
    cluster.asked(done)
    cluster.end(done)
    done = cluster.sbatch(NEVER, "--gres=gpu:h100:8", "--partition=debug")
    cluster.asked(done)
    cluster.end(done)
    assert cluster.sbatch(NEVER, "--gres=gpu:8").returncode == 1
    cluster.site(exempt_users=[], exempt_partitions=[])
    # A site's mistake is off, and the log says which.
    cluster.site(mode="refuze")
    done = cluster.sbatch(NEVER, "--gres=gpu:8")
    cluster.asked(done)
    cluster.end(done)
    assert "mode has to be" in cluster.output("slurmctld")
    cluster.site(mode="refuse")


def check_admin_comment(cluster):
    """AdminComment is jobstats': it is written only where the site says so, and kept."""
    cluster.site(admin_comment=True)
    done = cluster.sbatch(BY_FOUR, "--gres=gpu:8", "--hold")
    number = cluster.asked(done)
    shown = cluster.run("scontrol", "show", "job", number).stdout
    assert "AdminComment=" in shown and "FITS: llama-3.1-8b, 8 x h100-sxm" in shown, shown
    cluster.site(admin_comment=False)
    for _ in range(2):  # what jobstats wrote stays, through an update that is judged as well
        done = cluster.run("scontrol", "update", f"jobid={number}", f"AdminComment={BLOB}")
        assert done.returncode == 0, done
        cluster.run("scontrol", "update", f"jobid={number}", "NumNodes=2")
        shown = cluster.run("scontrol", "-o", "show", "job", number).stdout
        assert f"AdminComment={BLOB} " in shown, shown
        cluster.site(admin_comment=True)
    cluster.site(admin_comment=False)
    cluster.run("scancel", number)


def check_our_own_mistake(cluster, server):
    """A run-time error in the hook lets jobs through, and is counted: in the log, and by the
    planner once it is asked again."""
    name = "sextant/gpus.lua"
    good = cluster.files[name]
    # Slurm reads the scripts again when job_submit.lua has another mtime.
    cluster.write(name, good.replace("\nreturn gpus\n", """
        local count = gpus.count
        function gpus.count(settings, job)
          return job.name == "bad" and nil .. 1 or count(settings, job)
        end
        return gpus"""))
    cluster.write("job_submit.lua", cluster.files["job_submit.lua"])
    for times in (1, 2):
        done = cluster.sbatch(NEVER, "--gres=gpu:8", "--job-name=bad")
        cluster.asked(done)
        cluster.end(done)
        found = re.findall(r"verdict=ERROR errors=(\d+) line=.*concatenate",
                           cluster.output("slurmctld"))
        assert found == [str(number) for number in range(1, times + 1)], found
    assert counted(server, "sextant_hook_errors_total") == 0
    for _ in range(2):
        assert cluster.sbatch(NEVER, "--gres=gpu:8").returncode == 1
        assert counted(server, "sextant_hook_errors_total") == 2
    cluster.write(name, good)
    cluster.write("job_submit.lua", cluster.files["job_submit.lua"])
    before = judged(server, "does_not_fit")
    assert cluster.sbatch(NEVER, "--gres=gpu:8").returncode == 1
    assert judged(server, "does_not_fit") == before + 1


def main():
    with Server("--role=planner") as server, HookedCluster(server.http) as cluster:
        check_refused(cluster)
        check_fits(cluster)
        check_tight_warns(cluster)
        check_doubt_passes(cluster)
        check_no_request(cluster)
        check_time_limit(cluster)
        check_test_only(cluster)
        check_array(cluster, server)
        check_heterogeneous(cluster)
        check_modified(cluster)
        check_other_partition(cluster)
        check_unknown_type(cluster)
        check_modes(cluster)
        check_admin_comment(cluster)
        check_our_own_mistake(cluster, server)


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
