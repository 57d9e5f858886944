#!/usr/bin/env python3
"""Runs the probe in all modes and repeats some: time, memory, size, and how well it repeats.

  probe_runs.py --probe=PROGRAM --facts=FILE --probes=FILE [--seconds=126]
"""

import argparse
import sys

import nvml
import probe
from results import TimeLimit, add_fact

# Full last: what comes before it is worth more where time is short.
PLAN = ["standard", "quick"] * 5 + ["full"]
LONGEST_SECONDS = {"quick": 6, "standard": 12, "full": 62}


def watched_run(program, device, mode, gpu):
    arguments = [f"--mode={mode}", f"--device={device['uuid']}"]
    if gpu is None:
        return probe.run_probe(program, *arguments)
    idle = nvml.wait_until_idle(gpu)
    with nvml.MemoryWatch(gpu) as watch:
        run = probe.run_probe(program, *arguments)
    run.update(idle_before=idle, used_before_bytes=watch.before_bytes,
               used_rise_bytes=watch.risen_bytes(), used_readings=watch.reading_count)
    return run


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--probes", required=True)
    parser.add_argument("--seconds", type=float, default=126)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    device = probe.first_device(options.probe)
    add_fact(options.facts, "device", **device)
    gpu = nvml.open_gpu(device["uuid"])
    failures, left_out = [], []
    for mode in PLAN:
        if limit.left() < LONGEST_SECONDS[mode]:
            left_out.append(mode)
            continue
        run = watched_run(options.probe, device, mode, gpu)
        probe.keep_run(options.probes, "probes", mode, run)
        if "failure" in run:
            failures.append(f"{mode}: {probe.failure_text(run)}")
        print(f"{mode}: {run['wall_seconds']:.2f} s, exit code {run['exit_code']}")
    if left_out:
        add_fact(options.facts, "left_out", step="probes", what=left_out)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
