#!/usr/bin/python3
"""docs/schedulers.md under a real Slurm: its commands lead to a refused job, and a site's own
scripts call ours as it says. Paths of an installed package become those of the cluster."""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import HOOKS, PATH, ROOT, run_or_skip
from hooked import HookedCluster
from sextantd import Server

OWN = """%s
function slurm_job_submit(job_desc, part_list, submit_uid)
  slurm.log_user("our own line")
%s
end
function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
%s
end
return slurm.SUCCESS
"""


def blocks(language):
    with open(os.path.join(ROOT, "docs", "schedulers.md"), encoding="utf-8") as file:
        return re.findall(f"^```{language}\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)


def run(cluster, text):
    """Runs a block of commands as its user would."""
    folder = f"{cluster.folder}/bin"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/sextant-slurm", "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec '{HOOKS}/sextant-slurm' \"$@\" "
                   f"{cluster.folder}/etc/site.lua\n")
    os.chmod(f"{folder}/sextant-slurm", 0o755)
    return cluster.run("sh", "-c", text, env={"PATH": f"{folder}:{PATH}"})


def check_install(cluster):
    """The links, the lines for slurm.conf, the doctor and the job."""
    hooks = f"{cluster.folder}/etc/hooks"
    links = [line for line in blocks("sh")[0].splitlines() if line.startswith(("cd", "ln"))]
    done = run(cluster, "\n".join(links).replace("/usr/share/sextant/slurm", hooks)
               .replace("/etc/slurm", f"{cluster.folder}/etc"))
    assert done.returncode == 0, done
    with open(f"{cluster.folder}/etc/slurm.conf", "a", encoding="utf-8") as file:
        file.write(blocks("text")[0])
    done = run(cluster, blocks("sh")[1])
    assert done.returncode == 1 and "FAIL" not in done.stdout + done.stderr, done
    assert done.stdout.count("ok ") >= 8, done.stdout
    said = done.stderr.splitlines()
    for line in blocks("text")[1].splitlines():  # up to its "..."
        assert any(each.startswith(line.split(" ...")[0]) for each in said), (line, said)


def check_own_script(cluster):
    first, last = (text.replace("/usr/share/sextant/slurm", f"{cluster.folder}/etc/hooks")
                   for text in blocks("lua"))
    modify = last.replace("submit_uid", "modify_uid").replace("job_desc, ", "job_desc, job_rec, ") \
        .replace("sextant_submit", "sextant_modify")
    os.remove(f"{cluster.folder}/etc/job_submit.lua")
    cluster.write("job_submit.lua", OWN % (first, last, modify))
    done = cluster.run("sbatch", "job.sh")
    assert done.returncode == 1 and "DOES NOT FIT" in done.stderr, done
    assert "our own line" in done.stderr, done.stderr
    # Where the package is gone, the site's own goes on.
    os.rename(f"{cluster.folder}/etc/hooks/job_submit.lua", f"{cluster.folder}/etc/hooks/away")
    cluster.write("job_submit.lua", OWN % (first, last, modify))
    done = cluster.run("sbatch", "job.sh")
    assert done.returncode == 0 and "our own line" in done.stderr, done


class UnhookedCluster(HookedCluster):
    """What a package installs, in etc/hooks, and a slurm.conf without it."""

    def _write_files(self):
        self.conf = ""
        super()._write_files()
        for name in [name for name in self.files if name.endswith(".lua")]:
            os.remove(f"{self.folder}/etc/{name}")
            self.write(name if name == "site.lua" else f"hooks/{name}", self.files[name].replace(
                "/usr/share/sextant/slurm", f"{self.folder}/etc/hooks"))


def main():
    with Server("--role=planner") as server, UnhookedCluster(server.http) as cluster:
        check_install(cluster)
        check_own_script(cluster)


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
