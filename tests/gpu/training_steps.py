#!/usr/bin/env python3
"""Trains transformers for some steps, and measures the time of a step and its memory.

  training_steps.py --output=FILE.csv [--seconds=200]

Plain PyTorch, eager and by torch.compile: bf16 (autocast over fp32 parameters, or bf16 throughout),
fused AdamW, flash attention through scaled_dot_product_attention, with and without recomputing each
block. A row is one job of training_plan.PLAN; one that does not fit in memory is a row that says
so.
"""

import argparse
import contextlib
import gc
import math
import statistics
import sys

from datasheets import datasheet_of
from gpu_timing import first_line, load_torch
from results import Table, TimeLimit, quantile
from training_plan import (COLUMNS, PLAN, SHAPES, job_cells, result_cells, shape_cells,
                           source_cells)

WARM_UP_STEPS = 3
TIMED_STEPS = 12


class Training:
    """A model, its optimizer and a batch on the device, and one step of them."""

    def __init__(self, torch, job, device="cuda"):
        from transformer import Transformer, parameter_count
        self._torch, self._device, shape = torch, device, SHAPES[job.model]
        with torch.device(device):
            model = Transformer(shape, job.recompute)
        self.parameters = parameter_count(model)
        self._autocast = job.precision == "autocast"
        self._model = model if self._autocast else model.to(torch.bfloat16)
        self._optimizer = torch.optim.AdamW(self._model.parameters(), lr=1e-4, fused=True)
        if job.compiled:
            torch._dynamo.reset()  # else what it kept of other models counts against this one
            self._model = torch.compile(self._model)
        self._batch = [torch.randint(shape.vocab, (job.batch, job.sequence), device=device)
                       for _ in range(2)]
        torch.cuda.empty_cache()  # what was reserved to make the parameters

    def step(self):
        """The loss, still on the device."""
        context = (self._torch.autocast(self._device, dtype=self._torch.bfloat16)
                   if self._autocast else contextlib.nullcontext())
        with context:
            loss = self._model(*self._batch)
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss.detach()


def step_times(torch, training):
    """Seconds of each timed step: from the end of the step before to its own, the host free to run
    ahead as in a training loop."""
    for _ in range(WARM_UP_STEPS):
        loss = training.step()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    ends = [torch.cuda.Event(enable_timing=True) for _ in range(TIMED_STEPS + 1)]
    ends[0].record()
    for end in ends[1:]:
        loss = training.step()
        end.record()
    torch.cuda.synchronize()
    if not math.isfinite(loss.item()):
        raise ValueError("the loss is not finite")
    return [before.elapsed_time(after) / 1e3 for before, after in zip(ends, ends[1:])]


def measured_cells(torch, job):
    training = Training(torch, job)
    times = step_times(torch, training)
    memory = (torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved())
    residual = "fp32" if job.precision == "autocast" else "bf16"
    return {**shape_cells(SHAPES[job.model], training.parameters),
            **result_cells(job, statistics.median(times), memory),
            "notes": f"median of {len(times)} steps after {WARM_UP_STEPS}, p10 "
                     f"{quantile(times, 0.1):.6g} s, p90 {quantile(times, 0.9):.6g} s; no dropout; "
                     f"residual stream {residual}, logits fp32; "
                     + ("output shares the embedding" if SHAPES[job.model].family == "gpt2"
                        else "output not shared")}


def row_of(torch, job):
    """Cells of one job; of one that does not fit, that it does not; None where it failed."""
    try:
        return measured_cells(torch, job)
    except torch.cuda.OutOfMemoryError as fault:
        return {**shape_cells(SHAPES[job.model], None), "oom": True,
                "notes": first_line(fault)}
    except RuntimeError as fault:  # also of the compiler
        print(f"{job}: {first_line(fault)}")
        return None
    finally:
        gc.collect()
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", required=True)
    parser.add_argument("--seconds", type=float, default=200)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    torch = load_torch()
    torch.manual_seed(0)
    table = Table(options.output, COLUMNS)
    datasheet = datasheet_of(torch.cuda.get_device_name())
    left_out = failed = 0
    for number, job in enumerate(PLAN, start=1):
        if limit.left() < job.least_seconds:
            left_out += 1
            continue
        row = row_of(torch, job)
        if row is None:
            failed += 1
            continue
        cells = {**source_cells(number, torch, datasheet, job.compiled), **job_cells(job), **row}
        table.add(**cells)
        print(f"{job}: {cells.get('step_time_s')} s, {cells.get('peak_mem_gib')} GiB", flush=True)
    print(f"{left_out} of {len(PLAN)} jobs left out for want of time")
    return 0 if table.row_count > 0 and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
