#!/usr/bin/python3
"""The examples of every --help run, as they stand there.

They run in a folder of their own, which has the files that they name. Those that need a probe are
left out: e2e.probe does that.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

from sextantd import BIN, GOOD_REQUEST, ROOT, Server

# What only a probe or a cluster can answer, or a probe has written.
NEEDS_A_PROBE = re.compile(
    r"sextant (--output=json )?(probe|calibration|devices|kubernetes-\w+)\b|"
    r"(--device=|rates )host\b|"
    r"--calibration=")
# Their examples probe, are for a shell's start (tests/client/completion_test.cc), or for a cluster
# (tests/kubernetes).
WITHOUT_EXAMPLES = {"probe", "calibration", "devices", "completion", "kubernetes-controller",
                    "kubernetes-certificate"}
# It asks why not.
REFUSED = 'sextant tensor 4x8 --dtype=fp32 "transpose 0 1" "view 32"'


def help_of(*command):
    return subprocess.run([os.path.join(BIN, "sextant"), *command, "--help"], check=True,
                          timeout=60, capture_output=True, text=True).stdout


def subcommands(text):
    """The names that a --help lists."""
    block = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
    return re.findall(r"^  (\S+)", block[1], re.MULTILINE) if block else []


def is_whole(command):
    """Whether the shell would run it rather than ask for another line, or for a text's end."""
    read = subprocess.run(["bash", "-n", "-c", command], stderr=subprocess.PIPE, text=True,
                          check=False)
    return not command.endswith("\\") and read.returncode == 0 and not read.stderr


def examples(text):
    """The commands of a --help, without the words beside them."""
    lines = iter(re.split(r"^Examples?:\n", text, maxsplit=1, flags=re.MULTILINE)[-1].splitlines())
    for line in lines:
        if not line.lstrip().startswith("sextant "):
            continue
        margin = len(line) - len(line.lstrip())
        command = re.sub(r"(?<=\S) {3,}\S.*", "", line[margin:])
        while not is_whole(command):
            command += "\n" + next(lines)[margin:]
        yield command


def write_files(folder):
    """What the examples name."""
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        # With activations, so that it fits as a whole.
        training = {**GOOD_REQUEST["training"], "activationBytes": 10**12}
        json.dump({**GOOD_REQUEST, "training": training}, file)
    with open(os.path.join(folder, "budget.json"), "w", encoding="utf-8") as file:
        json.dump({"cluster": {"device": {"accelerator": "h100-sxm"}, "deviceCount": 8},
                   "duration": "604800s"}, file)
    with open(os.path.join(ROOT, "tests", "golden", "config_json.jsonl"), encoding="utf-8") as file:
        config = next(row["config"] for row in map(json.loads, file) if row["name"] == "gpt2")
    with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file)
    os.symlink(os.path.join(ROOT, "docs"), os.path.join(folder, "docs"))


def failure_of(command, folder, server):
    """What is wrong with an example, or ""."""
    environment = dict(os.environ, SEXTANT_ADDRESS=server.address,
                       PATH=BIN + os.pathsep + os.environ["PATH"])
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, timeout=60,
                          capture_output=True, text=True, check=False)
    if command == REFUSED and done.returncode == 3:
        return ""
    # An emitted file's part that is not a setting is said.
    said = [line for line in done.stderr.splitlines() if not line.startswith("left to your script")]
    # 8: a plan without a layout, whose model state fits.
    if done.returncode in (0, 8) and done.stdout and not said:
        return ""
    return f"{command}\n  exits with {done.returncode}: {done.stderr}"


def check_itself(folder, server):
    text = "Words\n\nExamples:\n  sextant a      its words\n  Why?\n    sextant b \\\n        -c\n"
    assert list(examples(text)) == ["sextant a", "sextant b \\\n    -c"], list(examples(text))
    heredoc = "\nExamples:\n    sextant graph - <<'END'\n    {}\n    END\n"
    assert list(examples(heredoc)) == ["sextant graph - <<'END'\n{}\nEND"]
    assert subcommands("Subcommands:\n  a    b\n  c    d\n\nExamples:\n  e\n") == ["a", "c"]
    assert "exits with 3" in failure_of("sextant count gpt-9", folder, server)


def main():
    commands = [[], *([name] for name in subcommands(help_of())),
                *(["op", kind] for kind in subcommands(help_of("op")))]
    assert ["op", "matmul"] in commands, commands
    problems, count = [], 0
    # Nobody is at the fleet's Prometheus: its examples get what is published.
    fleet = "--fleet_prometheus_url=http://127.0.0.1:1"
    with tempfile.TemporaryDirectory() as folder, Server("--log_calls=none", fleet) as server:
        write_files(folder)
        check_itself(folder, server)
        for command in commands:
            own = [e for e in examples(help_of(*command)) if not NEEDS_A_PROBE.search(e)]
            if not own and not WITHOUT_EXAMPLES.intersection(command):
                problems.append(f"sextant {' '.join(command)}: no example that could be run")
            problems += filter(None, (failure_of(e, folder, server) for e in own))
            count += len(own)
    print("\n".join(problems) or f"{count} examples of --help do what they say")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
