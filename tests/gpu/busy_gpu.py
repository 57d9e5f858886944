#!/usr/bin/env python3
"""Whether the probe keeps off a GPU on which PyTorch multiplies, how soon it says so, and whether
it takes memory of it; and what GPM tells of that GPU meanwhile.

  busy_gpu.py --probe=PROGRAM --facts=FILE [--seconds=40]
"""

import argparse
import subprocess
import sys
import time

import nvml
import probe
from results import TimeLimit, add_fact

RUNS = 5
SIZE = 4096


def multiply_forever():
    """The background's work; says "ready" once it runs."""
    from gpu_timing import load_torch
    torch = load_torch()
    a, b, c = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    torch.mm(a, b, out=c)
    torch.cuda.synchronize()
    print("ready", flush=True)
    while True:
        for _ in range(20):
            torch.mm(a, b, out=c)
        torch.cuda.synchronize()


def start_background():
    """The process that multiplies, once it does."""
    process = subprocess.Popen([sys.executable, __file__, "--multiply"], stdout=subprocess.PIPE,
                               universal_newlines=True)
    if process.stdout.readline().strip() != "ready":
        process.wait()
        raise SystemExit("the background work did not start: see above")
    time.sleep(1.5)  # NVML's load is that of the last second
    return process


def refusal_of(program, device, gpu):
    """One run: whether it refused as it should, and what it took."""
    if gpu is None:
        run, rise, readings = probe.run_probe(program, f"--device={device['uuid']}"), None, 0
    else:
        with nvml.MemoryWatch(gpu, period=0.002) as watch:
            run = probe.run_probe(program, f"--device={device['uuid']}")
        rise, readings = watch.risen_bytes(), watch.reading_count
    failure = run.get("failure", {})
    return {"wall_seconds": run["wall_seconds"], "exit_code": run["exit_code"],
            "reason": failure.get("reason", ""), "message": failure.get("message", ""),
            "used_rise_bytes": rise, "used_readings": readings,
            "refused": run["exit_code"] == 4 and failure.get("reason") == "busy"}


def add_gpm(facts, gpu):
    if gpu is None:
        add_fact(facts, "gpm", readable=False, reason="no NVML")
        return
    try:
        add_fact(facts, "gpm", readable=True, **gpu.gpm_ratios())
    except nvml.NvmlFault as fault:
        add_fact(facts, "gpm", readable=False, reason=str(fault))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe")
    parser.add_argument("--facts")
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--multiply", action="store_true", help="be the background work")
    options = parser.parse_args()
    if options.multiply:
        multiply_forever()
    limit = TimeLimit(options.seconds)
    device = probe.first_device(options.probe)
    gpu = nvml.open_gpu(device["uuid"])
    background = start_background()
    refused = []
    try:
        while len(refused) < RUNS and (not refused or limit.left() > 10):
            refusal = refusal_of(options.probe, device, gpu)
            add_fact(options.facts, "refusal", **refusal)
            refused.append(refusal["refused"])
            print(refusal)
        add_gpm(options.facts, gpu)
    finally:
        background.kill()
        background.wait()
    return 0 if refused and all(refused) else 1


if __name__ == "__main__":
    sys.exit(main())
