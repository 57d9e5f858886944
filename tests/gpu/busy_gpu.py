#!/usr/bin/env python3
"""Does a probe that measures stop when PyTorch comes? Does the probe keep off a GPU on which
PyTorch multiplies, how soon does it say so, and does it take memory of it? What do NVML and GPM
tell of that GPU under load, and after?

  busy_gpu.py --probe=PROGRAM --facts=FILE --probes=FILE [--seconds=70]
"""

import argparse
import json
import subprocess
import sys
import time

import nvml
import probe
from cold import add_state
from results import TimeLimit, add_fact

RUNS = 5
SIZE = 4096
# Beyond the guard's allowance: memory alone shows the work, where no list of processes does.
HELD_BYTES = 4 << 30
# How long a probe that the work disturbs may go on before it is ended: it asks between two phases.
MOST_SECONDS_TO_STOP = 15


def multiply_forever():
    """The background's work: says "ready" once it runs, and then, about once a second, what it
    does: {"time_seconds", "flops_per_second"}."""
    from gpu_timing import load_torch
    torch = load_torch()
    held = torch.empty(HELD_BYTES, device="cuda", dtype=torch.uint8)
    a, b, c = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    torch.mm(a, b, out=c)
    torch.cuda.synchronize()
    print("ready", held.shape, flush=True)
    said, count = time.monotonic(), 0
    while True:
        for _ in range(20):
            torch.mm(a, b, out=c)
        torch.cuda.synchronize()
        count += 20
        now = time.monotonic()
        if now - said >= 1:
            rate = 2 * SIZE**3 * count / (now - said)
            print(json.dumps({"time_seconds": now, "flops_per_second": rate}), flush=True)
            said, count = now, 0


class Background:
    """The process that multiplies, from when it does."""

    def __init__(self):
        self._process = subprocess.Popen([sys.executable, __file__, "--multiply"],
                                         stdout=subprocess.PIPE, universal_newlines=True)
        if not self._process.stdout.readline().startswith("ready"):
            self._process.wait()
            raise SystemExit("the background work did not start: see above")

    def end(self):
        """Its lines; a minute of them fits into a pipe."""
        self._process.kill()
        lines = self._process.stdout.read().splitlines()
        self._process.wait()
        out = []
        for line in lines:
            try:
                out.append(json.loads(line))
            except ValueError:  # cut by its end
                pass
        return out


def tenant_of(disturbed, options):
    """The fact of how a probe ended after the work began; "came" is False where it had ended before
    that."""
    came, start = not disturbed.is_over(), time.monotonic()
    run = disturbed.finish(MOST_SECONDS_TO_STOP)
    probe.keep_run(options.probes, "busy", "full", run, name="disturbed")
    failure = run.get("failure", {})
    return {"came": came, "seconds": time.monotonic() - start, "exit_code": run["exit_code"],
            "reason": failure.get("reason", ""), "message": failure.get("message", ""),
            "stopped": run["exit_code"] == 4 and failure.get("reason") == "busy"}


def refusal_of(options, device, gpu):
    """One run: whether it refused as it should, and what it took."""
    if gpu is None:
        run, rise, readings = probe.run_probe(options.probe, device), None, 0
    else:
        with nvml.MemoryWatch(gpu, period=0.002) as watch:
            run = probe.run_probe(options.probe, device)
        readings = watch.reading_count
        rise = watch.risen_bytes() if readings else None  # over before it was looked at
    probe.keep_run(options.probes, "busy", "standard", run, name="refused")
    failure = run.get("failure", {})
    return {"wall_seconds": run["wall_seconds"], "exit_code": run["exit_code"],
            "reason": failure.get("reason", ""), "message": failure.get("message", ""),
            "used_rise_bytes": rise, "used_readings": readings,
            "refused": run["exit_code"] == 4 and failure.get("reason") == "busy"}


def gpm_fact(gpu):
    """What GPM tells now, with the clock and the time that belong to it."""
    if gpu is None:
        return {"readable": False, "reason": "no NVML"}
    try:
        ratios = gpu.gpm_ratios()
    except nvml.NvmlFault as fault:
        return {"readable": False, "reason": str(fault)}
    out = {"readable": True, "time_seconds": time.monotonic(), **ratios}
    try:
        out["sm_clock_hertz"] = 1e6 * gpu.value("sm_clock_megahertz")
    except nvml.NvmlFault:
        pass
    return out


def rate_at(lines, time_seconds):
    """The rate of the background's line that covers that time; None where none does."""
    rates = [line["flops_per_second"] for line in lines
             if line["time_seconds"] - 1.5 <= time_seconds <= line["time_seconds"] + 1.5]
    return rates[0] if rates else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe")
    parser.add_argument("--facts")
    parser.add_argument("--probes")
    parser.add_argument("--seconds", type=float, default=70)
    parser.add_argument("--multiply", action="store_true", help="be the background work")
    options = parser.parse_args()
    if options.multiply:
        multiply_forever()
    limit = TimeLimit(options.seconds)
    uuid = probe.first_device(options.probe)["uuid"]
    device = f"--device={uuid}"
    gpu = nvml.open_gpu(uuid)
    nvml.wait_until_idle(gpu, most_seconds=3)
    disturbed = probe.ProbeRun(options.probe, device, "--mode=full", "--budget=50s")
    background = Background()
    refused, gpm = [], {"readable": False, "reason": "not reached"}
    try:
        tenant = tenant_of(disturbed, options)
        add_fact(options.facts, "tenant", **tenant)
        print(tenant)
        time.sleep(1.5)  # NVML's load is that of the last second
        while len(refused) < RUNS and (not refused or limit.left() > 20):
            refusal = refusal_of(options, device, gpu)
            add_fact(options.facts, "refusal", **refusal)
            refused.append(refusal["refused"])
            print(refusal)
        gpm = gpm_fact(gpu)
        add_state(options.facts, gpu, "under load")
    finally:
        lines = background.end()
        if gpm["readable"]:
            gpm["work_flops_per_second"] = rate_at(lines, gpm["time_seconds"])
        add_fact(options.facts, "gpm", **gpm)
    nvml.wait_until_idle(gpu, most_seconds=5)
    add_state(options.facts, gpu, "after")
    made_way = tenant["stopped"] or not tenant["came"]
    return 0 if made_way and refused and all(refused) else 1


if __name__ == "__main__":
    sys.exit(main())
