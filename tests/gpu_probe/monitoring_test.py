#!/usr/bin/python3
"""deploy/monitoring: what Slurm and node-problem-detector are told of a verdict.

The probe and scontrol are stand-ins that say what the test wants; the scripts are the real ones.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPTS = os.path.join(ROOT, "deploy", "monitoring")
HELD = tempfile.TemporaryDirectory()  # until this script ends
FOLDER = HELD.name
LINES = {0: "SEXTANT OK - fine", 1: "SEXTANT WARNING - old",
         2: "SEXTANT CRITICAL - GPU-1 copy: slow", 3: "SEXTANT UNKNOWN - torn"}


def stand_in(name, text):
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, 0o755)


def run(script, code, *arguments, node_state="IDLE", **environment):
    """The script's exit code and output, and how the stand-ins were called."""
    log = os.path.join(FOLDER, "log")
    with open(log, "w", encoding="utf-8"):
        pass
    stand_in("sextant-probe", f'echo "probe $*" >> {log}\n'
                              f"echo \"{LINES[code]} | 'copy'=1\"\necho more\nexit {code}")
    stand_in("scontrol", f'echo "scontrol $*" >> {log}\n'
                         f'[ "$2" = show ] && echo "State={node_state}"\nexit 0')
    stand_in("logger", f'echo "logger $*" >> {log}')
    done = subprocess.run([os.path.join(SCRIPTS, script), *arguments], capture_output=True,
                          text=True, timeout=60, check=False,
                          env={"PATH": f"{FOLDER}:/usr/bin:/bin", **environment})
    with open(log, encoding="utf-8") as file:
        return done.returncode, done.stdout, file.read()


def check_slurm():
    script = "slurm-health-check.sh"
    code, _, log = run(script, 2, SLURMD_NODENAME="n7")
    assert code == 0 and "probe check /var/lib/sextant-probe\n" in log, log
    assert "scontrol update NodeName=n7 State=DRAIN Reason=SEXTANT CRITICAL - GPU-1 copy: slow\n" \
        in log, log
    _, _, log = run(script, 2, node_state="IDLE+DRAIN", SLURMD_NODENAME="n7")
    assert "update" not in log, "a node that is drained keeps its reason"
    for code in (0, 1, 3):
        ended, _, log = run(script, code)
        assert ended == 0 and "scontrol" not in log, log
        assert (LINES[code] in log) == (code != 0), log
    _, _, log = run(script, 0, SEXTANT_MEASURE="1", SEXTANT_CALIBRATIONS="/c")
    assert "probe check --measure --keep=/c /c\n" in log, log


def check_node_problem_detector():
    script = "node-problem-detector.sh"
    # A warning is no condition of the node, by which it may be drained, but an event.
    for arguments, by_code in (((), (0, 0, 1, 2)), (("warning",), (0, 1, 0, 2))):
        for code, expected in enumerate(by_code):
            ended, shown, _ = run(script, code, *arguments)
            assert (ended, shown) == (expected, LINES[code] + "\n"), (arguments, code, ended)
    with open(os.path.join(SCRIPTS, "node-problem-detector.json"), encoding="utf-8") as file:
        rules = json.load(file)
    assert rules["rules"][0]["condition"] == rules["conditions"][0]["type"]
    assert [(rule["type"], rule.get("args", [])) for rule in rules["rules"]] == \
        [("permanent", []), ("temporary", ["warning"])], rules
    assert all(os.path.basename(rule["path"]) == script for rule in rules["rules"]), rules


def check_options_exist():
    """Each option that a configuration names is one of check's."""
    program = os.path.join(os.environ.get("SEXTANT_BIN", "build/release/bin"), "sextant-probe")
    text = subprocess.run([program, "check", "--help"], capture_output=True, text=True,
                          timeout=60, check=False).stdout
    for name in os.listdir(SCRIPTS):
        # Prometheus' files and Grafana's do not start the probe.
        if name.endswith(".yml") or os.path.isdir(os.path.join(SCRIPTS, name)):
            continue
        with open(os.path.join(SCRIPTS, name), encoding="utf-8") as file:
            for option in re.findall(r"(?<![-\w])--[a-z_]{2,}", file.read()):
                assert re.search(rf"{option}\b", text), f"{name}: {option}"


def main():
    check_slurm()
    check_node_problem_detector()
    check_options_exist()
    print("Slurm and node-problem-detector are told what was found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
