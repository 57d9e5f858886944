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
                           "--sequence-length=8192", "--max-duration=90d"],
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


def counted(words, talk=None):
    """Instructions of a program, to which `talk` may talk before it is told to end."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        process = subprocess.Popen(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *words],
            env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        if talk is not None:
            talk(folder, process)
        _, said = process.communicate()
    return int(re.search(r"Collected : (\d+)", said).group(1))


def server_instructions(folder, plans):
    """Of a planner that starts, answers `plans` times and ends."""
    def talk(home, process):
        while '"event":"serving"' not in process.stderr.readline():
            pass
        for _ in range(plans):
            subprocess.run([os.path.join(folder, "sextant"), f"--address=unix:{home}/socket",
                            "--timeout=600", *LAYOUT], stdout=subprocess.DEVNULL, check=False)
    with tempfile.TemporaryDirectory() as home:
        return counted([os.path.join(folder, "sextantd"), f"--listen=unix:{home}/socket",
                        "--http_listen=none", "--role=planner", "--log_calls=none",
                        "--drain_announce_seconds=0", "--stop_with_stdin"],
                       lambda _, process: talk(home, process))


def instructions(folders):
    print("\n| instructions of a plan of a layout | millions, by build |\n| --- | ---: |")
    request = [*LAYOUT, "--print-request"]
    rows = {"its flags, by the client": [], "a server's start": [], "its first plan": [],
            "its second plan": []}
    for folder in folders:
        client = os.path.join(folder, "sextant")
        rows["its flags, by the client"].append(counted([client, *request]))
        none, one, two = (server_instructions(folder, count) for count in range(3))
        rows["a server's start"].append(none)
        rows["its first plan"].append(one - none)
        rows["its second plan"].append(two - one)
    for name, figures in rows.items():
        print(f"| {name} | {'; '.join(f'{each / 1e6:,.1f}' for each in figures)} |", flush=True)


def processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def mistakes(folders):
    """A server's time for a misspelled model, in plans of one that is spelled right."""
    sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
    from python_client_test import plan_run  # noqa: E402  (needs the path)
    import sextantd
    import grpc
    from sextant.v1 import planning_service_pb2 as api
    figures = []
    for folder in folders:
        sextantd.BIN = folder
        with sextantd.Server("--role=planner", "--log_calls=none") as server, \
                grpc.insecure_channel(server.address) as channel:
            used = []
            for model in ("llama-3.1-70b", "llama-3.1-70x"):
                request = api.PlanRunRequest()
                request.model.preset = model
                request.training.token_count = 10**12
                request.cluster.device_count = 1024
                request.cluster.device.accelerator = "h100-sxm"
                for calls in (20, CALLS):
                    before = processor_seconds(server.process.pid)
                    for _ in range(calls):
                        try:
                            plan_run(channel, request)
                        except grpc.RpcError as error:
                            assert error.code() == grpc.StatusCode.NOT_FOUND, error
                used.append((processor_seconds(server.process.pid) - before) / CALLS)
            figures.append(f"{1e6 * used[1]:.0f} us, {used[1] / used[0]:.1f} plans")
    print(f"\na misspelled model: {'; '.join(figures)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default="", help="commands whose name has this word")
    options = parser.parse_args()
    commands(options.folders, options.runs, options.only)
    if not options.only:
        instructions(options.folders)
        mistakes(options.folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
