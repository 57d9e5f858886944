#!/usr/bin/env python3
"""Measures kernels that no calibration has, for predictions to be held against.

  unseen_kernels.py --probe=PROGRAM --probes=FILE --gemms=FILE.csv --attention=FILE.csv
                     [--seconds=90]

Multiplications of shapes.unseen_matmuls(), in bf16 and fp8, by PyTorch, and some in bf16 by
the probe itself (--matmul), which calls the library as it does for the calibration: what errors of
both have in common is the prediction's. Attention of shapes.attention_shapes() by PyTorch's
scaled_dot_product_attention, by each of its kernels, forward and backward. The predictions are made
elsewhere: by predict_kernels.py (docs/gpu_validation.md).
"""

import argparse
import contextlib
import importlib
import sys

import nvml
import probe
from gpu_timing import first_line, load_torch, measure
from matmuls import data_types, library_of, multiplication
from results import Table, TimeLimit
from shapes import attention_flops, attention_shapes, unseen_matmuls

TIMES = ["seconds", "p10_seconds", "p90_seconds", "sample_count", "flops_per_second"]
MATMUL_COLUMNS = ["dtype", "framework", "framework_version", "m", "n", "k"] + TIMES
ATTENTION_COLUMNS = ["dtype", "framework", "framework_version", "kernel", "pass", "batch",
                     "seq_len", "heads", "kv_heads", "head_dim", "causal"] + TIMES
SHAPES_A_PROBE = 16
PROBE_RUNS = 3
PROBE_SECONDS = 8  # a run, and more than it should take
MATMUL_SHARE = 0.55  # of the step's time


def torch_matmuls(torch, table, limit):
    """False where a multiplication failed."""
    framework, version = library_of(torch)
    all_ran = True
    # Both types of a shape in turn: a step that is cut has as many of each.
    for m, n, k in unseen_matmuls():
        for dtype in data_types(torch):
            if limit.over():
                return all_ran
            try:
                cells = measure(torch, multiplication(torch, dtype, m, n, k))
            except RuntimeError as fault:
                print(f"{dtype} {m}x{n}x{k}: {first_line(fault)}")
                all_ran = False
                continue
            table.add(dtype=dtype, framework=framework, framework_version=version, m=m, n=n, k=k,
                      flops_per_second=2 * m * n * k / cells["seconds"], **cells)
    return all_ran


def probe_matmuls(options, table, limit):
    """False where a run failed."""
    gpu = nvml.open_gpu(probe.first_device(options.probe)["uuid"])
    shapes = unseen_matmuls()
    for first in range(0, PROBE_RUNS * SHAPES_A_PROBE, SHAPES_A_PROBE):
        if limit.left() < PROBE_SECONDS:
            return True
        asked = [f"--matmul={m}x{n}x{k}" for m, n, k in shapes[first:first + SHAPES_A_PROBE]]
        nvml.wait_until_idle(gpu)
        run = probe.run_probe(options.probe, "--dtype=bf16", "--mode=quick", *asked)
        probe.keep_run(options.probes, "unseen", "quick", run)
        if "failure" in run:
            print(f"--matmul: {probe.failure_text(run)}")
            return False
        for matmul in probe.matmuls_of(run["calibration"], None, "requested"):
            m, n, k = probe.shape_of(matmul)
            times = matmul["time"]
            table.add(dtype="bf16", framework="sextant-probe",
                      framework_version=matmul["engine"], m=m, n=n, k=k,
                      seconds=times["medianSeconds"], p10_seconds=times["p10Seconds"],
                      p90_seconds=times["p90Seconds"], sample_count=times["sampleCount"],
                      flops_per_second=matmul["flopsPerSecond"])
    return True


def attention_kernels(torch):
    """{name: what to be within} of the kernels that this PyTorch can be told to take."""
    try:
        chooser = importlib.import_module(f"{torch.__name__}.nn.attention")
    except ImportError:  # before PyTorch 2.3
        return {"default": contextlib.nullcontext}
    names = {"cudnn": "CUDNN_ATTENTION", "flash": "FLASH_ATTENTION"}
    return {name: lambda backend=getattr(chooser.SDPBackend, word): chooser.sdpa_kernel(backend)
            for name, word in names.items() if hasattr(chooser.SDPBackend, word)}


def attention_tensors(torch, shape):
    """Queries, keys and values as a training framework has them: heads side by side in a token's
    row (batch, sequence, heads, head size), seen as batch, heads, sequence, head size."""
    def tensor(heads):
        values = torch.randn(shape["batch"], shape["seq_len"], heads, shape["head_dim"],
                             device="cuda", dtype=torch.bfloat16, requires_grad=True)
        return values.transpose(1, 2)
    return [tensor(heads) for heads in (shape["heads"], shape["kv_heads"], shape["kv_heads"])]


def attention_runs(torch, shape):
    """{"forward": run, "backward": run}; the backward pass alone, on what one forward pass kept."""
    q, k, v = attention_tensors(torch, shape)
    grouped = {"enable_gqa": True} if shape["heads"] != shape["kv_heads"] else {}

    def forward(_=0):
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=bool(shape["causal"]), **grouped)

    out = forward()
    gradient = torch.randn_like(out)
    return {"forward": forward,
            "backward": lambda _: torch.autograd.grad(out, (q, k, v), gradient,
                                                      retain_graph=True)}


def add_attention(torch, table, kernel, shape):
    framework, version = library_of(torch)
    for direction, run in attention_runs(torch, shape).items():
        cells = measure(torch, run, may_record=False)
        flops = attention_flops(shape, direction == "backward")
        table.add(dtype="bf16", framework=framework, framework_version=version, kernel=kernel,
                  flops_per_second=flops / cells["seconds"], **{"pass": direction}, **shape,
                  **cells)


def torch_attention(torch, table, limit):
    for shape in attention_shapes():
        for kernel, chosen in attention_kernels(torch).items():
            if limit.over():
                return
            try:
                with chosen():
                    add_attention(torch, table, kernel, shape)
            except (RuntimeError, TypeError) as fault:  # a kernel that lacks this shape
                print(f"{kernel} {shape}: {first_line(fault)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", required=True)
    parser.add_argument("--probes", required=True)
    parser.add_argument("--gemms", required=True)
    parser.add_argument("--attention", required=True)
    parser.add_argument("--seconds", type=float, default=90)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    matmuls = Table(options.gemms, MATMUL_COLUMNS)
    attention = Table(options.attention, ATTENTION_COLUMNS)
    # Before PyTorch is loaded: the guard refuses a GPU on which another process has a context.
    probed = probe_matmuls(options, matmuls, limit)
    torch = load_torch()
    multiplied = torch_matmuls(torch, matmuls, TimeLimit(MATMUL_SHARE * limit.left()))
    torch_attention(torch, attention, limit)
    print(f"{matmuls.row_count} multiplications, {attention.row_count} passes of attention")
    return 0 if probed and multiplied and attention.row_count > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
