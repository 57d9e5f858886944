#!/usr/bin/python3
"""connect-node, a client of the Connect protocol that others keep, calls a planner.

Unary calls by POST and GET, streams, errors with details, deadlines and callers that leave, in
protobuf and JSON. The planner's log says how each call ended.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(FOLDER))
from sextantd import ROOT, SKIPPED, Server  # noqa: E402

TOOLS = os.path.join(ROOT, "build", "tools", "connect")
PROTO = os.path.join(ROOT, "proto")


def generate(folder):
    """What protoc-gen-es makes of the .proto files, below a folder that finds its library."""
    names = [os.path.join(path, name) for path in ("google/rpc", "sextant/v1")
             for name in sorted(os.listdir(os.path.join(PROTO, path))) if name.endswith(".proto")]
    plugin = os.path.join(TOOLS, "node_modules", ".bin", "protoc-gen-es")
    subprocess.run(["protoc", "-I", PROTO, f"--plugin=protoc-gen-es={plugin}",
                    f"--es_out={folder}", "--es_opt=target=js,import_extension=js", *names],
                   check=True)
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
        json.dump({"type": "module"}, file)
    os.symlink(os.path.join(TOOLS, "node_modules"), os.path.join(folder, "node_modules"))


def main():
    if shutil.which("node") is None or not os.path.exists(os.path.join(TOOLS, "installed.json")):
        print("skipped: no connect-node (deploy/install-deps.sh tests)")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder, Server() as server:
        generate(folder)
        subprocess.run(["node", os.path.join(FOLDER, "client.mjs"), TOOLS, folder,
                        f"http://{server.http}"], check=True, timeout=300)
        server.terminate()
        calls = [line for line in map(json.loads, server.process.stderr)
                 if line.get("protocol") == "connect"]
    ends = [(call["method"].rpartition("/")[2], call["code"]) for call in calls]
    # Of both forms. A caller whose deadline passes leaves, which the server may see a moment before
    # its own clock says so.
    for method in ("PlanRun", "WatchPlanRun"):
        left, late = (ends.count((method, code)) for code in ("CANCELLED", "DEADLINE_EXCEEDED"))
        assert left >= 2 and left + late == 4, (method, ends)
    print(f"{len(calls)} calls ended as their caller saw them end")
    return 0


if __name__ == "__main__":
    sys.exit(main())
