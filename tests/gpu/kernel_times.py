#!/usr/bin/env python3
"""Times of six kernels from three sources: the probe, PyTorch by events, and PyTorch's profiler
(CUPTI), which reads the GPU's own time stamps of each kernel and is the arbiter. The probe times
the multiplications with its hold of the stream before a sample and without.

  kernel_times.py --probe=PROGRAM --facts=FILE --probes=FILE [--seconds=70]

Operands are rotated alike in all three (matmuls.py), so that weights come from memory. Facts:
kernel_time (kernel, source, seconds), profiler, hold.
"""

import argparse
import contextlib
import json
import os
import statistics
import sys
import tempfile

import nvml
import probe
from gpu_timing import first_line, load_torch, measure
from matmuls import data_types, multiplication
from results import TimeLimit, add_fact
from unseen_kernels import attention_kernels, attention_runs

# (type, m, n, k); the probe is asked for these with --matmul.
MATMULS = [("bf16", 4096, 4096, 4096), ("bf16", 256, 4096, 14336), ("bf16", 16, 1024, 1024),
           ("fp8", 4096, 4096, 4096)]
# One that a full calibration has.
ATTENTION = {"batch": 4, "seq_len": 2048, "heads": 32, "kv_heads": 32, "head_dim": 128, "causal": 1}
ATTENTION_NAME = "attention forward 4x2048 32 heads of 128 causal"
COPY_BYTES = 1 << 30  # where no calibration tells what the probe copied
HOLDS = ("auto", "never", "auto", "never")
PROBE_SECONDS = 10
USAGE = 2  # sextant-probe's exit code for an option that it does not know
PROFILED_RUNS = 30
GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def matmul_name(dtype, m, n, k):
    return f"{dtype} {m}x{n}x{k}"


class Probed:
    """The probe's own times, as facts."""

    def __init__(self, options, gpu):
        self._options, self._gpu, self.failed = options, gpu, False

    def multiplications(self, types, limit):
        shapes = [f"--matmul={m}x{n}x{k}:{dtype}" for dtype, m, n, k in MATMULS if dtype in types]
        for hold in HOLDS:
            if limit.left() < PROBE_SECONDS:
                add_fact(self._options.facts, "hold", supported=True, cut="time was up")
                return
            if self._run(hold, [f"--hold={hold}"], shapes) == USAGE:
                add_fact(self._options.facts, "hold", supported=False,
                         reason="this sextant-probe has no --hold")
                self._run(None, [], shapes)
                return

    def _run(self, hold, options, shapes):
        """The exit code."""
        nvml.wait_until_idle(self._gpu)
        run = probe.run_probe(self._options.probe, "--mode=quick", *options, *shapes)
        probe.keep_run(self._options.probes, "kernel_times", "quick", run, hold=hold)
        for matmul in probe.matmuls_of(run.get("calibration", {}), None, "requested"):
            self._add(matmul_name(probe.type_of(matmul), *probe.shape_of(matmul)), hold,
                      matmul["time"]["medianSeconds"], matmul.get("kernel", ""))
        unknown = hold is not None and run["exit_code"] == USAGE
        if "failure" in run and not unknown:
            print(f"--matmul: {probe.failure_text(run)}")
            self.failed = True
        return run["exit_code"]

    def others(self, calibration):
        """Attention and the copy, from the last full calibration, or that of the fullest mode;
        returns the bytes that the copy was of."""
        for measured in calibration.get("attentions", []):
            if is_that_attention(measured):
                self._add(ATTENTION_NAME, None, measured["time"]["medianSeconds"],
                          measured["engine"])
        copied = probe.memory_copy(calibration)
        if copied is None:
            return COPY_BYTES
        size = int(copied["arrayBytes"])
        self._add(copy_name(size), None, copied["time"]["medianSeconds"], "the probe's own")
        return size

    def _add(self, kernel, hold, seconds, text):
        add_fact(self._options.facts, "kernel_time", kernel=kernel, source="probe", hold=hold,
                 seconds=seconds, by=text)


def is_that_attention(measured):
    names = {"batch": "batch", "seq_len": "sequenceLength", "heads": "heads",
             "kv_heads": "kvHeads", "head_dim": "headSize"}
    return (measured["trainingPass"] == "PASS_FORWARD" and bool(measured.get("causal"))
            and all(int(measured[theirs]) == ATTENTION[ours] for ours, theirs in names.items())
            and int(measured["valueHeadSize"]) == ATTENTION["head_dim"])


def copy_name(size_bytes):
    return f"copy {size_bytes >> 20} MiB"


def torch_kernels(torch, copy_bytes):
    """(name, what makes run(i), whether runs may be recorded), made one after the other."""
    for dtype, m, n, k in MATMULS:
        if dtype in data_types(torch):
            yield (matmul_name(dtype, m, n, k),
                   lambda d=dtype, s=(m, n, k): multiplication(torch, d, *s), True)
    yield ATTENTION_NAME, lambda: cudnn_attention(torch), False

    def copy():
        source = torch.randn(copy_bytes // 4, device="cuda")
        to = torch.empty_like(source)
        return lambda i: to.copy_(source, non_blocking=True)

    yield copy_name(copy_bytes), copy, False


def cudnn_attention(torch):
    """By cuDNN, as the probe has it."""
    chosen = attention_kernels(torch).get("cudnn", contextlib.nullcontext)
    with chosen():
        forward = attention_runs(torch, ATTENTION)["forward"]

    def run(i):
        with chosen():
            forward(i)

    return run


def profile(torch, run, runs):
    """What the GPU did in that many runs: [(start, seconds, name)], in the order of their start."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        for i in range(runs):
            run(i)
        torch.cuda.synchronize()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    return sorted((float(e["ts"]), float(e["dur"]) / 1e6, e["name"]) for e in events
                  if e.get("ph") == "X" and e.get("cat") in GPU_WORK)


def profiled_cells(torch, run, runs=PROFILED_RUNS):
    """Seconds of one run: the durations of all that the GPU did for it, the median over the
    runs."""
    done = profile(torch, run, runs)
    if not done or len(done) % runs != 0:
        done = profile(torch, run, runs)  # the first one also starts CUPTI
    if not done or len(done) % runs != 0:
        raise ValueError(f"the profiler shows {len(done)} kernels of {runs} runs")
    each = len(done) // runs
    totals = [sum(seconds for _, seconds, _ in done[first:first + each])
              for first in range(0, len(done), each)]
    return {"seconds": statistics.median(totals), "kernel_count": each,
            "by": ", ".join(sorted({name[:120] for _, _, name in done}))}


def clock_of(gpu):
    """The clock that the last work ended with; None where it is not told."""
    try:
        return gpu.value("sm_clock_megahertz") if gpu is not None else None
    except nvml.NvmlFault:
        return None


def add_torch_times(torch, options, gpu, copy_bytes, limit):
    """False where PyTorch failed at one."""
    all_ran = True
    for name, make, may_record in torch_kernels(torch, copy_bytes):
        if limit.over():
            add_fact(options.facts, "left_out", step="kernel_times", what=[name])
            continue
        try:
            run = make()
            cells = measure(torch, run, may_record=may_record)
            add_fact(options.facts, "kernel_time", kernel=name, source="events", **cells)
        except RuntimeError as fault:
            print(f"{name}: {first_line(fault)}")
            all_ran = False
            continue
        try:
            cells = profiled_cells(torch, run)
            add_fact(options.facts, "kernel_time", kernel=name, source="profiler",
                     sm_clock_megahertz=clock_of(gpu), **cells)
            print(f"{name}: {1e6 * cells['seconds']:.2f} us by the profiler")
        except (RuntimeError, ValueError, KeyError) as fault:
            add_fact(options.facts, "profiler", kernel=name, readable=False,
                     reason=first_line(fault))
            all_ran = False
    return all_ran


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--probes", required=True)
    parser.add_argument("--seconds", type=float, default=70)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    device = probe.first_device(options.probe)
    gpu = nvml.open_gpu(device["uuid"])
    # Before PyTorch is loaded: the guard refuses a GPU on which another process has a context.
    probed = Probed(options, gpu)
    types = ["bf16"] + (["fp8"] if float(device.get("computeCapability", "0")) >= 8.9 else [])
    probed.multiplications(types, TimeLimit(0.6 * limit.left()))
    calibration = probe.best_calibration(probe.read_runs(options.probes, "probes")) or {}
    copy_bytes = probed.others(calibration)
    torch = load_torch()
    all_ran = add_torch_times(torch, options, gpu, copy_bytes, limit)
    return 0 if all_ran and not probed.failed else 1


if __name__ == "__main__":
    sys.exit(main())
