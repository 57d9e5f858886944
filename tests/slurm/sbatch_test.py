#!/usr/bin/python3
"""sextant-sbatch: asks as its user, starts sbatch with the layout in its environment, and starts it
as it was asked for where anything is not understood. sbatch is a stand-in here, which says how it
was started."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import HOOKS, SKIPPED
from hooked import ALWAYS, BY_FOUR, NEVER, PATIENT, lua
from sextantd import BIN, Server

PROGRAM = os.path.join(HOOKS, "sextant-sbatch")
SEARCHED = "llama-3.1-8b gbs=64 sequence-length=8192"
SEARCHED_LONG = "deepseek-v3 gbs=2048 sequence-length=4096"  # some 240 ms on 512 GPUs
LUAS = ("lua5.1", "lua5.3", "lua5.4")
STAND_IN = """#!/usr/bin/python3
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "stdin": sys.stdin.read(),
                  "layout": {k: v for k, v in os.environ.items() if k.startswith("SEXTANT_")}}))
"""
# sbatch's arguments, lines of the script, environment: the number of GPUs.
COUNTS = (
    (("--gres=gpu:8",), "", {}, 8),
    (("--gres", "gpu:h100:4", "-N2"), "", {}, 8),
    (("-N", "2", "--gpus-per-node=h100:4"), "", {}, 8),
    (("-G16",), "", {}, 16),
    (("-HG", "12", "-pother"), "", {}, 12),
    (("--gpus-per-task=1", "--ntasks=8"), "", {}, 8),
    (("--exclusive", "--nodes=2"), "", {}, 16),
    (("--requeue", "--exclusive=user", "--gres=gpu:4"), "", {}, 4),
    ((), "#SBATCH -N 2 --gres=gpu:4 # the partition's\n#SBATCH --time=1:00:00", {}, 8),
    ((), '#SBATCH --job-name="a b" -G 4\n\n# more\n#SBATCH -p "train"', {}, 4),
    ((), "echo\n#SBATCH --gres=gpu:4", {"SBATCH_GPUS": "16"}, 16),
    (("--gpus=4",), "#SBATCH --gpus=8", {"SBATCH_GPUS": "16"}, 4),
    (("--", ), "#SBATCH --gpus=8", {"SBATCH_GPUS": "16"}, 16),
)
# The same: why it is not judged.
UNCLEAR = (
    (("--gpu=8",), "", {}, "--gpu is not known"),
    (("-Y", "--gpus=8"), "", {}, "-Y is not known"),
    (("--nodes=1-2", "--gres=gpu:8"), "", {}, "give --nodes"),
    (("--nodes=1k", "--gres=gpu:8"), "", {}, "--nodes=1k"),
    (("--nodelist=a,b", "--gres=gpu:8"), "", {}, "--nodelist is given without --nodes"),
    (("--tres-per-task=gres/gpu:8", "-n1"), "", {}, "--tres-per-task"),
    (("--gres=gpu:a100:8",), "", {}, "a100"),
    ((), "#PBS -l nodes=2\n#SBATCH --gpus=8", {}, "#PBS"),
    ((), "#SBATCH --gpus=8\n#SBATCH hetjob\n#SBATCH --gpus=8", {}, "several parts"),
    ((), "", {}, "no GPU"),
)


class Folder:
    """A user's folder, with a stand-in for sbatch before all else in PATH."""

    def __init__(self, folder, server):
        self.folder = folder
        os.mkdir(f"{folder}/bin")
        self.write("bin/sbatch", STAND_IN)
        os.chmod(f"{folder}/bin/sbatch", 0o755)
        self.environment = {
            "PATH": f"{folder}/bin:{BIN}:/usr/bin:/bin", "HOME": folder, "USER": "someone",
            "SEXTANT_SLURM_FILE": f"{folder}/slurm.lua", "SEXTANT_ADDRESS": server.address}
        self.site(server.http)

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        return f"{self.folder}/{name}"

    def site(self, address, **changes):
        settings = {"mode": "refuse", "address": address, "deadline_ms": PATIENT, "devices": [
            {"gres": "h100", "accelerator": "h100-sxm", "gpus_per_node": 8},
            {"accelerator": "h100-sxm", "gpus_per_node": 8}], **changes}
        return self.write("slurm.lua", "".join(f"{name} = {lua(value)}\n"
                                               for name, value in settings.items()))

    def take(self, interpreter):
        """Has the program take this one, which it looks for by the name `lua` first."""
        path = f"{self.folder}/bin/lua"
        if os.path.lexists(path):
            os.remove(path)
        os.symlink(shutil.which(interpreter), path)

    def script(self, words, lines=""):
        return self.write("job.sh", f"#!/bin/sh\n#SEXTANT {words}\n{lines}\necho\n")

    def submit(self, *arguments, environment=None, stdin="", path=None, folder=None):
        """-> how sbatch was started (None: it was not), the exit code, stderr."""
        done = subprocess.run([PROGRAM, *arguments], input=stdin, capture_output=True, text=True,
                              env={**self.environment, **({"PATH": path} if path else {}),
                                   **(environment or {})}, check=False, timeout=60, cwd=folder)
        started = json.loads(done.stdout) if done.stdout else None
        if started:
            for name in ("SLURM_FILE", "ADDRESS", "PLAN"):
                started["layout"].pop(f"SEXTANT_{name}", None)
        return started, done.returncode, done.stderr


def check_untouched(user):
    arguments = ["--comment=it's \"mine\" $HOME", "--wrap", "echo 'a  b'; *", "*"]
    started, code, errors = user.submit(*arguments, stdin="a script\n")
    assert started == {"arguments": arguments, "stdin": "a script\n", "layout": {}}, started
    assert code == 0 and errors == "", errors


def check_verdicts(user):
    started, code, errors = user.submit("--gpus=16", user.script(NEVER))
    assert started is None and code == 1, (started, errors)
    assert "DOES NOT FIT: llama-3.1-8b, 16 x h100-sxm" in errors and "--zero=" in errors, errors
    script = user.script(BY_FOUR)
    started, code, errors = user.submit("--gpus=16", script, "an argument")
    assert code == 0 and started["arguments"] == ["--gpus=16", script, "an argument"], started
    assert started["layout"] == {"SEXTANT_TP": "4", "SEXTANT_GBS": "240", "SEXTANT_DEVICES": "16"}
    started, code, errors = user.submit("--gpus=16", user.script("llama-3.1-8b --svg=/tmp/x"))
    assert started is None and code == 1 and "svg" in errors, errors
    for place in ({"environment": {"SEXTANT_PLAN": NEVER}}, {}):
        extra = () if place else (f"--comment=sextant: {NEVER}",)
        started, code, errors = user.submit("--gpus=16", *extra, stdin="#!/bin/sh\n", **place)
        assert started is None and code == 1 and "DOES NOT FIT" in errors, errors
    started, code, errors = user.submit("--gpus=8", "--export=NONE", user.script(BY_FOUR))
    assert code == 0 and "--export=NONE keeps the layout from the job" in errors, errors


def check_counts(user):
    for arguments, lines, environment, count in COUNTS:
        started, code, errors = user.submit(*arguments, user.script(ALWAYS, lines),
                                            environment=environment)
        assert code == 0 and started["layout"]["SEXTANT_DEVICES"] == str(count), (
            arguments, lines, environment, started, errors)
    for arguments, lines, environment, why in UNCLEAR:
        started, code, errors = user.submit(*arguments, user.script(NEVER, lines),
                                            environment=environment)
        assert code == 0 and started["layout"] == {}, (arguments, lines, started, errors)
        assert "not judged" in errors and why in errors, (arguments, lines, errors)


def check_partitions(user, server):
    """Only the controller knows the default partition: without one all rows have to agree."""
    rows = [{"gres": "h100", "partition": name, "accelerator": "h100-sxm"} for name in "ab"]
    for flags, accelerator, judged in (((), "h100-sxm", True), ((), "a100-sxm-80gb", False),
                                       (("--partition=a",), "a100-sxm-80gb", True),
                                       (("--partition=c",), "h100-sxm", False)):
        rows[1]["accelerator"] = accelerator
        user.site(server.http, devices=rows)
        started, _, errors = user.submit("--gpus=h100:8", *flags, user.script(ALWAYS))
        assert ("SEXTANT_TP" in started["layout"]) == judged, (flags, accelerator, errors)
        assert ("not judged" in errors) != judged, errors
    user.site(server.http)


def check_search(user, server):
    """A search that ends at once, and one that takes longer than the deadline."""
    for words, arguments, count in ((SEARCHED, ("--gpus=16",), 16),
                                    (SEARCHED_LONG, ("-N64", "--gres=gpu:8"), 512)):
        user.site(server.http, deadline_ms=300, search_s=10)
        started, code, errors = user.submit(*arguments, user.script(words))
        assert code == 0 and "layout found: " in errors, errors
        text = errors.split("layout found: ")[1].splitlines()[0]
        found = dict(word.split("=") for word in text.split())
        assert "tp" in found and not {"gbs", "devices"} & set(found), found
        as_variables = {f"SEXTANT_{name.upper().replace('-', '_')}": value
                        for name, value in found.items()}
        gbs = words.split("gbs=")[1].split()[0]
        assert started["layout"] == {**as_variables, "SEXTANT_GBS": gbs,
                                     "SEXTANT_DEVICES": str(count)}, (found, started)
    user.site(server.http, deadline_ms=40, search_s=0)
    started, code, errors = user.submit("-N64", "--gres=gpu:8", user.script(SEARCHED_LONG))
    assert code == 0 and started["layout"] == {}, (started, errors)
    user.site(server.http)


def check_without_modules(user, server):
    """The program asks where Lua has no socket; where there is no Lua nobody does."""
    bare = {"LUA_PATH": "", "LUA_CPATH": "", "LUA_PATH_5_4": "", "LUA_CPATH_5_4": ""}
    user.site("127.0.0.1:1")
    started, code, errors = user.submit("--gpus=16", user.script(NEVER), environment=bare)
    assert started is None and code == 1 and "16 x h100-sxm" in errors, (started, errors)
    started, code, errors = user.submit("--gpus=16", user.script(BY_FOUR), environment=bare)
    assert code == 0 and started["layout"]["SEXTANT_TP"] == "4", (started, errors)
    victim = os.path.join(user.folder, "victim")
    started, code, errors = user.submit("--gpus=16", user.script(f"'; touch {victim}; '"),
                                        environment=bare)
    assert code == 1 and not os.path.exists(victim), errors
    started, code, errors = user.submit("--gpus=16", user.script(NEVER), environment={
        **bare, "SEXTANT_ADDRESS": "127.0.0.1:1"})
    assert code == 0 and started and "not planned" in errors, (started, errors)
    os.remove(f"{user.folder}/bin/lua")
    few = os.path.join(user.folder, "few")
    os.mkdir(few)
    for name in ("sh", "dirname", "readlink", "env", "python3"):
        os.symlink(shutil.which(name), f"{few}/{name}")
    started, code, errors = user.submit("--gpus=16", user.script(NEVER),
                                        path=f"{user.folder}/bin:{few}")
    assert code == 0 and started and "Lua is not installed" in errors, (started, errors)
    user.site(server.http)


def check_current_folder(user, server):
    """No module comes from where the user stands, neither of ours nor of Lua's."""
    stranger = os.path.join(user.folder, "stranger")
    os.makedirs(f"{stranger}/sextant")
    for name in ("socket", "cjson", "sextant/sbatch", "sextant/words"):
        with open(f"{stranger}/{name}.lua", "w", encoding="utf-8") as file:
            file.write('io.open("victim", "w"):close()\n')
    mine = {"LUA_PATH": "./?.lua;;", "LUA_CPATH": "./?.so;;"}
    started, code, errors = user.submit("--gpus=16", user.script(NEVER), environment=mine,
                                        folder=stranger)
    assert started is None and code == 1 and "16 x h100-sxm" in errors, (started, errors)
    subprocess.run([f"{HOOKS}/sextant-slurm", "doctor", user.site(server.http)], cwd=stranger,
                   env={**user.environment, **mine}, capture_output=True, check=False)
    assert not os.path.exists(f"{stranger}/victim"), os.listdir(stranger)


def check_trouble(user, server):
    """Nothing that fails keeps a job from sbatch."""
    script = user.script(NEVER)
    for change in ({"address": "127.0.0.1:1"}, {"mode": "of"}, {"deadline_ms": "soon"}):
        user.site(**{"address": server.http, **change})
        started, code, errors = user.submit("--gpus=16", script)
        assert code == 0 and started and "not planned" in errors, (change, started, errors)
    user.site(server.http, mode="off")
    started, code, errors = user.submit("--gpus=16", script)
    assert code == 0 and started and errors == "", errors
    user.site(server.http, mode="observe")
    started, code, errors = user.submit("--gpus=16", script)
    assert code == 0 and started and "DOES NOT FIT" in errors, errors
    os.remove(f"{user.folder}/slurm.lua")
    started, code, errors = user.submit("--gpus=16", script)
    assert code == 0 and started and "not planned" in errors, errors


def main():
    if not any(map(shutil.which, LUAS)):
        print("skipped: lua is not installed (deploy/install-deps.sh tests)")
        return SKIPPED
    with Server("--role=planner") as server, tempfile.TemporaryDirectory() as folder:
        user = Folder(folder, server)
        check_untouched(user)
        for interpreter in filter(shutil.which, LUAS):
            user.take(interpreter)
            check_verdicts(user)
            check_counts(user)
        check_partitions(user, server)
        check_current_folder(user, server)
        check_search(user, server)
        check_without_modules(user, server)
        check_trouble(user, server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
