#!/usr/bin/python3
"""Runs a fuzz target of the server for some processor time, and writes down what came of it.

  cmake --preset fuzz && cmake --build --preset fuzz
  tests/fuzz/run_server_fuzz.py requests --cpu_seconds=1800 --out=/tmp/fuzz/requests

FOLDER of --out gets `seeds`, `corpus` (grows from run to run), the inputs at fault (crash-*,
timeout-*, oom-*; slow-unit-* of more than 5 s), a log of each start, and record.json, printed as a
row of a Markdown table: CPU s, inputs, edges covered, corpus, at fault, slowest, peak. A target
that fails is started again on the corpus, up to 20 times. Exits with 1 where any input is at fault.
"""

import argparse
import glob
import json
import os
import re
import signal
import subprocess
import sys
import time

import seeds

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGETS = ("requests", "config", "import", "calibration", "probe_output")
MAX_STARTS = 20
LEAST_SECONDS = 10  # a start that has less left is not worth it
FAULTS = ("crash-*", "timeout-*", "oom-*", "leak-*")


def cpu_seconds_of(pid):
    """What the process has used so far, on all threads."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def command_of(arguments, start):
    name, out = arguments.target, arguments.out
    command = [os.path.join(ROOT, arguments.bin, f"{name}_fuzz"), f"-seed={start}",
               "-max_len=16384", "-timeout=30", "-rss_limit_mb=3000", "-report_slow_units=5",
               # The replays of the sanitizers' preset look for leaks; here each look takes seconds.
               "-detect_leaks=0", "-print_final_stats=1", f"-artifact_prefix={out}/"]
    dictionary = os.path.join(ROOT, "tests/fuzz", f"{name}.dict")
    if os.path.exists(dictionary):
        command.append(f"-dict={dictionary}")
    return command + [os.path.join(out, folder) for folder in ("corpus", "seeds")]


def run_once(arguments, start, left_seconds):
    """Returns the log, and the processor time used."""
    path = os.path.join(arguments.out, f"log-{start}.txt")
    with open(path, "w", encoding="utf-8") as log:
        process = subprocess.Popen(command_of(arguments, start), stdout=log, stderr=log)
    ended = 0
    while ended == 0:
        time.sleep(1)
        if cpu_seconds_of(process.pid) >= left_seconds:
            os.kill(process.pid, signal.SIGUSR1)  # libFuzzer ends after the input it is at
        ended, _, usage = os.wait4(process.pid, os.WNOHANG)
    process.returncode = 0  # reaped here, which subprocess would find strange
    with open(path, encoding="utf-8", errors="replace") as log:
        return log.read(), usage.ru_utime + usage.ru_stime


def statistic(log, name):
    found = re.findall(rf"^stat::{name}: +(\d+)", log, re.MULTILINE)
    return int(found[-1]) if found else 0


def faults_of(out):
    return sorted(os.path.basename(p) for pattern in FAULTS
                  for p in glob.glob(os.path.join(out, pattern)))


def record_of(arguments, logs, used_seconds):
    out = arguments.out
    corpus = glob.glob(os.path.join(out, "corpus", "*"))
    covered = [re.findall(r"cov: (\d+) ft: (\d+)", log) for log in logs]
    edges, features = max((tuple(map(int, pair)) for pairs in covered for pair in pairs),
                          default=(0, 0))
    return {
        "target": arguments.target,
        "cpu_seconds": round(used_seconds),
        "executions": sum(statistic(log, "number_of_executed_units") for log in logs),
        "covered_edges": edges,
        "features": features,
        "corpus_files": len(corpus),
        "corpus_bytes": sum(os.path.getsize(p) for p in corpus),
        "faults": faults_of(out),
        "slow_units": sorted(os.path.basename(p)
                             for p in glob.glob(os.path.join(out, "slow-unit-*"))),
        "slowest_unit_seconds": max(statistic(log, "slowest_unit_time_sec") for log in logs),
        "peak_rss_mb": max(statistic(log, "peak_rss_mb") for log in logs),
        "starts": len(logs),
    }


def row_of(record):
    cells = [record[key] for key in ("target", "cpu_seconds", "executions", "covered_edges",
                                     "corpus_files")]
    cells += [len(record["faults"]), record["slowest_unit_seconds"], record["peak_rss_mb"]]
    return "| " + " | ".join(c if isinstance(c, str) else f"{c:,}" for c in cells) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", choices=sorted(TARGETS))
    parser.add_argument("--cpu_seconds", type=float, default=1800)
    parser.add_argument("--out", required=True, metavar="FOLDER")
    parser.add_argument("--bin", default="build/fuzz/bin", help="the folder of the programs")
    arguments = parser.parse_args()
    arguments.out = os.path.abspath(arguments.out)
    for folder in ("corpus", "seeds"):
        os.makedirs(os.path.join(arguments.out, folder), exist_ok=True)
    seeds.write(arguments.target, os.path.join(arguments.out, "seeds"))
    logs, used_seconds = [], 0
    while len(logs) < MAX_STARTS and arguments.cpu_seconds - used_seconds >= LEAST_SECONDS:
        log, seconds = run_once(arguments, len(logs) + 1, arguments.cpu_seconds - used_seconds)
        logs.append(log)
        used_seconds += seconds
        record = record_of(arguments, logs, used_seconds)
        with open(os.path.join(arguments.out, "record.json"), "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
    print(row_of(record))
    return 1 if record["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
