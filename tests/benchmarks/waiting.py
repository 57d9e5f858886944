#!/usr/bin/python3
"""What people wait for: commands without a server, mistakes, searches of mixtures.

  tests/benchmarks/waiting.py [--runs=20] [--only=WORD] FOLDER...

Each FOLDER has the programs of one build, e.g. of the commit before and of this one; they take
turns. Milliseconds are the least of all runs, of the processor those of client and server together.
Instructions are callgrind's, which repeat.
"""

import argparse
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
H100S = ["--accelerator=h100-sxm", "--node-type=dgx-h100"]
LAYOUT = ["plan", "llama-3.1-70b", "--tokens=15T", "--sequence-length=8192", "--gbs=1024", "--tp=8",
          "--pp=4", "--devices=1024", *H100S]
COMMANDS = {
    "version": ["--version"],
    "plan of a layout": LAYOUT,
    "search of 8B on 64": ["search", "llama-3.1-8b", "--tokens=1T", "--sequence-length=8192",
                           "--gbs=128", "--devices=64", *H100S],
    "sizes of a cluster": ["size-cluster", "llama-3.1-70b", "--tokens=1T", "--gbs=1024",
                           "--sequence-length=8192", "--max-duration=90d",
                           "--products=h100-sxm,h200-sxm"],
    "search of Llama 4 Maverick on 1,024": [
        "search", "llama-4-maverick", "--tokens=1T", "--sequence-length=4096", "--gbs=1024",
        "--devices=1024", *H100S],
    "search of Kimi K2 on 98,304": [
        "search", "kimi-k2", "--tokens=1T", "--sequence-length=4096", "--gbs=12288",
        "--devices=98304", *H100S],
}
SLOW = ("search of Llama", "search of Kimi", "sizes")
CALLS = 2000


def environment(folder):
    return {**os.environ, "XDG_RUNTIME_DIR": folder, "HOME": folder, "XDG_STATE_HOME": folder}


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def timed(words):
    """Seconds of wall time, and of the processor, of a command with a server of its own."""
    with tempfile.TemporaryDirectory() as folder:
        before, start = children_seconds(), time.perf_counter()
        ran = subprocess.run([words[0], "--local", "--timeout=600", *words[1:]],
                             env=environment(folder), capture_output=True, text=True, check=False)
        wall, used = time.perf_counter() - start, children_seconds() - before
    if ran.stderr:
        sys.exit(f"{' '.join(words)}: {ran.stderr}")
    return wall, used


def commands(folders, runs, only):
    print("| command | least ms, by build | of the processor |\n| --- | ---: | ---: |")
    for name, words in COMMANDS.items():
        if only not in name:
            continue
        figures = {folder: [] for folder in folders}
        for _ in range(3 if name.startswith(SLOW) else runs):
            for folder in folders:
                figures[folder].append(timed([os.path.join(folder, "sextant"), *words]))
        least = [[f"{1000 * min(each):,.0f}" for each in zip(*figures[folder])]
                 for folder in folders]
        print(f"| {name} | {'; '.join(each[0] for each in least)} | "
              f"{'; '.join(each[1] for each in least)} |", flush=True)


def client_instructions(folders):
    figures = []
    for folder in folders:
        ran = subprocess.run(
            ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
             os.path.join(folder, "sextant"), *LAYOUT, "--print-request"],
            capture_output=True, text=True, check=True)
        figures.append(int(re.search(r"Collected : (\d+)", ran.stderr).group(1)))
    print(f"\ninstructions of the client until its request is made: "
          f"{'; '.join(f'{each / 1e6:.1f} million' for each in figures)}", flush=True)


def processor_seconds(pid):
    """Of all threads of a process that there are now."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="utf-8") as file:
            total += int(file.read().split()[0])
    return total / 1e9


def request_for(api, model, has_layout):
    request = api.PlanRunRequest()
    request.model.preset = model
    request.training.token_count = 10**12
    request.cluster.device_count = 1024
    request.cluster.device.accelerator = "h100-sxm"
    if has_layout:
        request.training.sequence_length = 8192
        request.cluster.node_type = "dgx-h100"
        request.layout.global_batch_size = 1024
        request.layout.parallel.tensor_parallel_size = 8
        request.layout.parallel.pipeline_parallel_size = 4
    return request


def seconds_of(server, call, count=1):
    before = processor_seconds(server.process.pid)
    for _ in range(count):
        call()
    return (processor_seconds(server.process.pid) - before) / count


def calls(folders):
    """A new server's first plan of a layout and its second, and a misspelled model in plans."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    from python_client_test import plan_run  # noqa: E402  (needs the path)
    import sextantd
    import grpc
    from sextant.v1 import planning_service_pb2 as api
    for folder in folders:
        sextantd.BIN = folder
        with sextantd.Server("--role=planner", "--log_calls=none") as server, \
                grpc.insecure_channel(server.address) as channel:
            def plan(model, has_layout=False):
                try:
                    plan_run(channel, request_for(api, model, has_layout))
                except grpc.RpcError as error:
                    assert error.code() == grpc.StatusCode.NOT_FOUND, error
            plan("llama-3.1-70b")
            plan("llama-3.1-70x")
            first, second = (seconds_of(server, lambda: plan("llama-3.1-70b", True))
                             for _ in range(2))
            right, wrong = (seconds_of(server, lambda: plan(model), CALLS)
                            for model in ("llama-3.1-70b", "llama-3.1-70x"))
        print(f"{folder}: a server's first plan of a layout {1e3 * first:.1f} ms of the processor, "
              f"its second {1e3 * second:.1f}; a misspelled model {1e6 * wrong:.0f} us, "
              f"{wrong / right:.1f} plans", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default="", help="commands whose name has this word")
    options = parser.parse_args()
    commands(options.folders, options.runs, options.only)
    if not options.only:
        client_instructions(options.folders)
        calls(options.folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
