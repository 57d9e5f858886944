#!/usr/bin/env python3
"""PyTorch's copies, which the probe's are held against: within the device, first of the size that
the probe copied in this run, and from and to pinned memory of the host.

  copies.py --probes=FILE --facts=FILE [--seconds=30]
"""

import argparse
import sys

import probe
from gpu_timing import load_torch, measure
from results import TimeLimit, add_fact

MIB = 1 << 20
DEVICE_SIZES = [1024 * MIB, 512 * MIB, 256 * MIB, 64 * MIB]
HOST_SIZES = [256 * MIB, 16 * MIB, 1 * MIB]


def device_sizes(calibration):
    """DEVICE_SIZES, and before them what the calibration's copy was of."""
    copied = probe.memory_copy(calibration)
    first = [int(copied["arrayBytes"])] if copied else []
    return first + [size for size in DEVICE_SIZES if size not in first]


def add_copy(facts, torch, kind, size_bytes, moved_bytes, pair):
    """`pair` is (to, from); moved_bytes count what is read plus what is written on the device."""
    to, source = pair
    cells = measure(torch, lambda i: to.copy_(source, non_blocking=True), may_record=False)
    rate = moved_bytes / cells["seconds"]
    add_fact(facts, "copy", kind=kind, bytes=size_bytes, bytes_per_second=rate, **cells)
    print(f"{kind} {size_bytes // MIB} MiB: {rate / 1e9:.1f} GB/s")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probes", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    limit = TimeLimit(options.seconds)
    calibration = probe.best_calibration(probe.read_runs(options.probes, "probes")) or {}
    torch = load_torch()
    for size in device_sizes(calibration):
        if limit.over():
            break
        source = torch.randn(size // 4, device="cuda")
        add_copy(options.facts, torch, "device", size, 2 * size, (torch.empty_like(source), source))
    for size in HOST_SIZES:
        if limit.over():
            break
        there = torch.randn(size // 4, device="cuda")
        here = torch.randn(size // 4).pin_memory()
        add_copy(options.facts, torch, "host_to_device", size, size, (there, here))
        add_copy(options.facts, torch, "device_to_host", size, size, (here, there))
    return 0


if __name__ == "__main__":
    sys.exit(main())
