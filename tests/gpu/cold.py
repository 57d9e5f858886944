#!/usr/bin/env python3
"""The first run of the probe on a machine that nothing has used yet: how long it takes from a cold
start, and which kernels the driver compiles for the GPU meanwhile; then what NVML tells of the GPU.

  cold.py --probe=PROGRAM --facts=FILE --probes=FILE [--seconds=40]

Nothing asks the GPU anything before the first run, not even its name. The second run has an empty
cache of compiled kernels (CUDA_CACHE_PATH): files in it afterwards are of PTX that the driver
compiled.
"""

import argparse
import os
import sys
import tempfile

import libraries
import nvml
import probe
from results import TimeLimit, add_fact

LONGEST_SECONDS = 12  # of a standard run


def cache_content(folder):
    """(files, bytes) of a cache of compiled kernels."""
    sizes = [os.path.getsize(os.path.join(where, name))
             for where, _, names in os.walk(folder) for name in names]
    return len(sizes), sum(sizes)


def driver_cache():
    """Where the driver keeps compiled kernels by itself."""
    return os.environ.get("CUDA_CACHE_PATH") or os.path.expanduser("~/.nv/ComputeCache")


def cold_run(options, name, folder, environment):
    """A standard run; whether it measured."""
    before = cache_content(folder)
    run = probe.run_probe(options.probe, "--mode=standard", environment=environment)
    after = cache_content(folder)
    probe.keep_run(options.probes, "cold", "standard", run, cache=name,
                   cache_files_before=before[0], cache_bytes_before=before[1],
                   cache_files_after=after[0], cache_bytes_after=after[1])
    print(f"cold, cache {name}: {run['wall_seconds']:.2f} s, exit code {run['exit_code']}, "
          f"{after[0] - before[0]} kernels compiled")
    if "failure" in run:
        print(probe.failure_text(run))
    return "calibration" in run


def add_state(facts, gpu, when):
    """What NVML tells of the GPU, as a fact."""
    if gpu is None:
        add_fact(facts, "nvml", when=when, readable=False)
        return
    add_fact(facts, "nvml", when=when, readable=True, state=gpu.state(), latencies=gpu.latencies())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--probes", required=True)
    parser.add_argument("--seconds", type=float, default=40)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    measured = [cold_run(options, "as it is", driver_cache(), None)]
    device = probe.first_device(options.probe)
    add_fact(options.facts, "device", **device)
    gpu = nvml.open_gpu(device["uuid"])
    nvml.wait_until_idle(gpu)
    if limit.left() > LONGEST_SECONDS:
        with tempfile.TemporaryDirectory() as folder:
            environment = libraries.environment(CUDA_CACHE_PATH=folder)
            measured.append(cold_run(options, "empty", folder, environment))
    nvml.wait_until_idle(gpu)
    add_state(options.facts, gpu, "idle")
    return 0 if all(measured) else 1


if __name__ == "__main__":
    sys.exit(main())
