#!/usr/bin/env python3
"""Whether the probe keeps off a GPU on which PyTorch multiplies, how soon it says so, and whether
it takes memory of it; before that, whether a probe that measures stops when PyTorch comes; and what
GPM tells of that GPU meanwhile.

  busy_gpu.py --probe=PROGRAM --facts=FILE [--seconds=60]
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
# Beyond the guard's allowance: memory alone shows the work, where no list of processes does.
HELD_BYTES = 4 << 30
# How long a probe that the work disturbs may go on before it is ended: it asks between two phases.
MOST_SECONDS_TO_STOP = 15


def multiply_forever():
    """The background's work; says "ready" once it runs."""
    from gpu_timing import load_torch
    torch = load_torch()
    held = torch.empty(HELD_BYTES, device="cuda", dtype=torch.uint8)
    a, b, c = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    torch.mm(a, b, out=c)
    torch.cuda.synchronize()
    print("ready", held.shape, flush=True)
    while True:
        for _ in range(20):
            torch.mm(a, b, out=c)
        torch.cuda.synchronize()


def start_background():
    """The process that multiplies, as soon as it does."""
    process = subprocess.Popen([sys.executable, __file__, "--multiply"], stdout=subprocess.PIPE,
                               universal_newlines=True)
    if not process.stdout.readline().startswith("ready"):
        process.wait()
        raise SystemExit("the background work did not start: see above")
    return process


class LongProbe:
    """A probe that measures for long, to be disturbed."""

    def __init__(self, program, device):
        self._process = probe.start_probe(program, f"--device={device['uuid']}", "--mode=full",
                                          "--budget=50s")

    def is_over(self):
        return self._process.poll() is not None

    def end(self):
        """The fact of how it ended after the work began; "came" is False where it had ended before
        that."""
        came, start = not self.is_over(), time.monotonic()
        try:
            output = self._process.communicate(timeout=MOST_SECONDS_TO_STOP)[0]
        except subprocess.TimeoutExpired:
            self._process.kill()
            output = self._process.communicate()[0]
        failure = probe.last_event(output).get("failure", {})
        code = self._process.returncode
        return {"came": came, "seconds": time.monotonic() - start, "exit_code": code,
                "reason": failure.get("reason", ""), "message": failure.get("message", ""),
                "stopped": code == 4 and failure.get("reason") == "busy"}


def refusal_of(program, device, gpu):
    """One run: whether it refused as it should, and what it took."""
    if gpu is None:
        run, rise, readings = probe.run_probe(program, f"--device={device['uuid']}"), None, 0
    else:
        with nvml.MemoryWatch(gpu, period=0.002) as watch:
            run = probe.run_probe(program, f"--device={device['uuid']}")
        readings = watch.reading_count
        rise = watch.risen_bytes() if readings else None  # over before it was looked at
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
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--multiply", action="store_true", help="be the background work")
    options = parser.parse_args()
    if options.multiply:
        multiply_forever()
    limit = TimeLimit(options.seconds)
    device = probe.first_device(options.probe)
    gpu = nvml.open_gpu(device["uuid"])
    if gpu is not None:
        nvml.wait_until_idle(gpu, most_seconds=3)
    disturbed = LongProbe(options.probe, device)
    background = start_background()
    refused = []
    try:
        tenant = disturbed.end()
        add_fact(options.facts, "tenant", **tenant)
        print(tenant)
        time.sleep(1.5)  # NVML's load is that of the last second
        while len(refused) < RUNS and (not refused or limit.left() > 10):
            refusal = refusal_of(options.probe, device, gpu)
            add_fact(options.facts, "refusal", **refusal)
            refused.append(refusal["refused"])
            print(refusal)
        add_gpm(options.facts, gpu)
    finally:
        background.kill()
        background.wait()
    made_way = tenant["stopped"] or not tenant["came"]
    return 0 if made_way and refused and all(refused) else 1


if __name__ == "__main__":
    sys.exit(main())
