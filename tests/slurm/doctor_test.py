#!/usr/bin/python3
"""sextant-slurm doctor under a real Slurm: nothing is wrong with what is shipped, and each fault is
found."""

import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import HOOKS, PATH, run_or_skip
from hooked import PATIENT, HookedCluster
from sextantd import Server

DEVICES = [{"gres": "h100", "accelerator": "h100-sxm", "node_type": "dgx-h100", "gpus_per_node": 8}]
FOREIGN = """function slurm_job_submit() return slurm.SUCCESS end
function slurm_job_modify() return slurm.SUCCESS end
return slurm.SUCCESS
"""


def doctor(cluster, environment=None):
    """-> the exit code, the lines that are not ok, all lines."""
    done = cluster.run(os.path.join(HOOKS, "sextant-slurm"), "doctor",
                       f"{cluster.folder}/etc/site.lua", env=environment)
    assert done.stderr == "", done.stderr
    lines = done.stdout.splitlines()
    return done.returncode, [line for line in lines if not line.startswith("ok")], lines


def check_sound(cluster):
    cluster.site(devices=DEVICES)
    code, faults, lines = doctor(cluster)
    assert code == 0 and not faults, lines
    text = "\n".join(lines)
    for expected in ("Lua 5.1 with socket and cjson", "mode refuse", "knows h100-sxm in dgx-h100: ",
                     "gpu:h100 of partition train is h100-sxm", "gpu:h100 of partition debug is",
                     "job_submit.lua loads", "cli_filter.lua loads", "JobSubmitPlugins has lua",
                     "CliFilterPlugins has lua"):
        assert expected in text, (expected, text)


def check_file(cluster):
    """Each change of the site's file, and the fault that is said."""
    for change, state, expected in (
            ({"mode": "of"}, "FAIL", 'mode has to be "off", "observe" or "refuse"'),
            ({"devices": []}, "FAIL", "devices is empty"),
            ({"devices": [{**DEVICES[0], "accelerator": "h1000"}]}, "FAIL", '"h1000" is not known'),
            ({"devices": [{**DEVICES[0], "node_type": "dgx"}]}, "FAIL", '"dgx" is not known'),
            ({"devices": [{**DEVICES[0], "gpus_per_node": 4}]}, "FAIL",
             "a node has 8, gpus_per_node says 4"),
            ({"devices": [{**DEVICES[0], "partition": "train"}]}, "WARN",
             "gpu:h100 of partition debug is not in devices"),
            ({"address": "127.0.0.1:1"}, "FAIL", "the planner at 127.0.0.1:1: ")):
        cluster.site(**change)
        code, faults, lines = doctor(cluster)
        assert code == (1 if state == "FAIL" else 0), (change, lines)
        assert any(line.startswith(state) and expected in line for line in faults), (change, lines)
        cluster.site(mode="refuse", devices=DEVICES, address=cluster.planner)


def check_readers(cluster):
    """Who has to read the site's file: SlurmUser, and each user for cli_filter.lua."""
    path = f"{cluster.folder}/etc/site.lua"
    folder = f"{cluster.folder}/other"
    os.mkdir(folder)
    with open(f"{folder}/scontrol", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nPATH='{PATH}'\nscontrol \"$@\" |\n"
                   "  sed 's/^SlurmUser .*/SlurmUser = nobody(65534)/'\n")
    os.chmod(f"{folder}/scontrol", 0o755)
    other = {"PATH": f"{folder}:{PATH}"}
    code, faults, lines = doctor(cluster, other)
    assert code == 0 and any("nobody, who runs slurmctld, can r" in line for line in lines), lines
    os.chmod(path, 0o600)
    code, faults, lines = doctor(cluster)
    assert code == 0 and any("users can't read" in line for line in faults), lines
    code, faults, lines = doctor(cluster, other)
    assert code == 1 and any("nobody, who runs slurmctld, can't" in line for line in faults), lines
    os.chmod(path, 0o644)


def check_planner(cluster, server):
    cluster.site(deadline_ms=300)
    server.process.send_signal(signal.SIGSTOP)
    code, faults, lines = doctor(cluster)
    assert code == 1 and any("deadline is 300 ms" in line for line in faults), lines
    server.process.send_signal(signal.SIGCONT)
    cluster.site(deadline_ms=PATIENT)


def check_current_folder(cluster):
    """Root's doctor takes no module from where root stands."""
    here = f"{cluster.folder}/run"
    names = [f"{here}/{name}.lua" for name in ("socket", "cjson")]
    for name in names:
        with open(name, "w", encoding="utf-8") as file:
            file.write(f'io.open("{here}/victim", "w"):close()\n')
    code, faults, lines = doctor(cluster)
    assert code == 0 and not faults, lines
    assert not os.path.exists(f"{here}/victim")
    for name in names:
        os.remove(name)


def check_lua(cluster):
    none = {"LUA_PATH": "/nowhere/?.lua", "LUA_CPATH": "/nowhere/?.so"}
    code, faults, lines = doctor(cluster, none)
    assert code == 1 and sum("lacks socket or cjson" in line for line in faults) == 2, lines


def check_hooks(cluster):
    folder = f"{cluster.folder}/etc"
    script = cluster.files["job_submit.lua"]
    for text, expected in ((FOREIGN, "does not call Sextant"), (script + "sextant(", "unexpected")):
        cluster.write("job_submit.lua", text)
        code, faults, lines = doctor(cluster)
        assert code == 1 and any(expected in line or "near" in line for line in faults), lines
    cluster.write("job_submit.lua", script)
    os.rename(f"{folder}/cli_filter.lua", f"{folder}/away")
    code, faults, lines = doctor(cluster)
    assert code == 1 and any("cli_filter.lua is missing: ln -s" in line for line in faults), lines
    os.rename(f"{folder}/away", f"{folder}/cli_filter.lua")
    # The lines for slurm.conf.
    with open(f"{folder}/slurm.conf", encoding="utf-8") as file:
        conf = file.read()
    cluster.write("slurm.conf", conf.replace("CliFilterPlugins=lua\n", "")
                  .replace("JobSubmitPlugins=lua", "JobSubmitPlugins=require_timelimit"))
    assert cluster.run("scontrol", "reconfigure").returncode == 0
    code, faults, lines = doctor(cluster)
    assert code == 1, lines
    assert lines[-2:] == ["  JobSubmitPlugins=require_timelimit,lua",
                          "  CliFilterPlugins=lua"], lines


def main():
    with Server("--role=planner") as server, \
            HookedCluster(server.http, asks_early=True) as cluster:
        cluster.planner = server.http
        check_sound(cluster)
        check_file(cluster)
        check_readers(cluster)
        check_planner(cluster, server)
        check_current_folder(cluster)
        check_lua(cluster)
        check_hooks(cluster)
    usage = subprocess.run([f"{HOOKS}/sextant-slurm"], capture_output=True, check=False)
    assert usage.returncode == 2 and usage.stderr.startswith(b"Usage: "), usage


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
