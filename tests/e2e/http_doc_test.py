#!/usr/bin/python3
"""Runs what docs/http.md shows: curl, Python's standard library, Lua."""

import json
import os
import re
import subprocess
import sys

from sextantd import ROOT, SKIPPED, Server

PROGRAMS = {"sh": ["bash", "-euo", "pipefail", "-c"], "python": ["/usr/bin/python3", "-c"],
            "lua": ["lua5.1", "-e"]}
ADDRESS = "127.0.0.1:9464"


def examples():
    """Language and text of each block of code in the document."""
    with open(os.path.join(ROOT, "docs", "http.md"), encoding="utf-8") as file:
        return re.findall(r"^```(\w+)\n(.*?)^```", file.read(), re.S | re.M)


def main():
    try:
        for program in ("curl --version", "lua5.1 -v"):
            subprocess.run(program.split(), capture_output=True, check=True)
        subprocess.run(["lua5.1", "-e", 'require "socket" require "cjson"'], check=True,
                       capture_output=True)
    except (OSError, subprocess.CalledProcessError) as missing:
        print(f"skipped: {missing} (deploy/install-deps.sh tests)")
        return SKIPPED
    outputs = []
    with Server() as server:
        port = server.http.rpartition(":")[2]
        for language, text in examples():
            assert ADDRESS in text or '"127.0.0.1", 9464' in text, text
            run = subprocess.run([*PROGRAMS[language], text.replace("9464", port)],
                                 capture_output=True, text=True, timeout=60, check=False)
            print(f"{language}: {run.stdout[:300]}{run.stderr}", flush=True)
            assert run.returncode == 0, run
            outputs.append(run.stdout)
    plan, python, lua, link, error, stream = outputs
    fits = json.loads(plan)["plan"]
    assert fits["verdict"] == "VERDICT_FITS", fits["verdict"]
    assert re.fullmatch(r"VERDICT_\w+ \d+\.\d+\n", python), python
    assert lua.split() == python.split()[:1], (lua, python)
    assert int(json.loads(link)["parameters"]["total"]) == 8_030_261_248
    refused = json.loads(error)
    assert refused["code"] == "invalid_argument", refused
    faults = [fault for detail in refused["details"]
              for fault in detail["debug"].get("fieldViolations", [])]
    assert [fault["field"] for fault in faults] == ["modle"] and "model" in str(faults), faults
    assert stream.endswith("{}"), stream
    return 0


if __name__ == "__main__":
    sys.exit(main())
