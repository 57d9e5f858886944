#!/usr/bin/python3
"""Writes the C++ tables of measured collectives from a CSV file of published times.

  make_collectives_reference.py COLLECTIVES.csv OUTPUT_FOLDER

Takes any table with the columns gpu, library, library_version, table_version, op, dtype, gpus,
message_bytes, repeat, seconds. Of each GPU: the rows of `nccl` in fp16 of the newest
table_version, the median of repeats, and of the sizes those of SIZES alone, which are
kReferenceCollectiveSizes. One file of the GPUs that NVLink joins and one of those on PCIe.
"""

import csv
import os
import re
import statistics
import sys
from collections import defaultdict

# Chosen once for all GPUs. From 1 to 32 MiB, where NCCL changes its protocol and its channels,
# every power of 2; outside, where time is a latency or a rate, some.
SIZES = [1 << e for e in (9, 12, 15, 18, 20, 21, 22, 23, 24, 25, 27, 29)]

PCIE = {"l40s", "rtx-pro-6000"}
OPERATIONS = {"all_reduce": "kAllReduce", "all_gather": "kAllGather",
              "reduce_scatter": "kReduceScatter", "alltoall": "kAllToAll"}
SOURCE = "ai-dynamo/aiconfigurator @095f58a51c4c, comm/nccl/.../nccl_perf.parquet (Apache-2.0)"


def version_key(text):
    return [int(part) for part in re.findall(r"\d+", text)]


def read(path):
    """{gpu: {table_version: {op: {ranks: {bytes: [seconds]}}}}} and {(gpu, version): libraries}."""
    times = defaultdict(lambda: defaultdict(lambda: defaultdict(
        lambda: defaultdict(lambda: defaultdict(list)))))
    libraries = defaultdict(set)
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["library"] != "nccl" or row["dtype"] != "fp16" or row["op"] not in OPERATIONS:
                continue
            by_op = times[row["gpu"]][row["table_version"]][row["op"]]
            by_op[int(row["gpus"])][int(row["message_bytes"])].append(float(row["seconds"]))
            libraries[row["gpu"], row["table_version"]].add(row["library_version"])
    return times, libraries


def identifier(gpu):
    return "".join(part.capitalize() for part in re.split(r"[^a-z0-9]+", gpu))


def microseconds(samples):
    return f"{statistics.median(samples) * 1e6:.4g}"


def rows_of(by_op):
    for op, name in OPERATIONS.items():
        for ranks, by_size in sorted(by_op.get(op, {}).items()):
            values = [microseconds(by_size[size]) for size in SIZES if size in by_size]
            if len(values) == len(SIZES):
                half = len(values) // 2
                yield f"    {{CollectiveOp::{name}, {ranks},"
                yield f"     {{{', '.join(values[:half])},"
                yield f"      {', '.join(values[half:])}}}}},"


def table_file(link, gpus, times, libraries):
    """The tables of the GPUs whose ranks `link` joins."""
    namespace = f"{link.lower()}_collectives"
    rows, tables = [], []
    for gpu in gpus:
        version = max(times[gpu], key=version_key)
        measured = ", ".join(sorted(libraries[gpu, version]))
        rows += [f"// Table {version}, NCCL {measured} as its rows say.",
                 f"constexpr ReferenceCollectiveRow k{identifier(gpu)}[] = {{",
                 *rows_of(times[gpu][version]), "};", ""]
        tables.append(f'    {{"{gpu}", "{version}", k{identifier(gpu)}}},')
    lines = [
        f"// Measured collectives of GPUs that {link} joins.",
        "// Made by make_collectives_reference.py, not by hand.",
        "//",
        f"// Source: {SOURCE}.",
        "// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.",
        "// Microseconds, by kReferenceCollectiveSizes.",
        '#include "engine/hardware/reference/reference_collectives.h"',
        "",
        "namespace sextant {",
        f"namespace {namespace} {{",
        "",
        "// clang-format off",
        *rows,
        "constexpr ReferenceCollectiveTable kTables[] = {",
        *tables,
        "};",
        "",
        f"}}  // namespace {namespace}",
        "",
        f"absl::Span<const ReferenceCollectiveTable> {link}Collectives() {{",
        f"  return {namespace}::kTables;",
        "}",
        "// clang-format on",
        "",
        "}  // namespace sextant",
        "",
    ]
    return "\n".join(lines)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    times, libraries = read(sys.argv[1])
    by_link = {"NVLink": sorted(set(times) - PCIE), "PCIe": sorted(set(times) & PCIE)}
    files = {f"{link.lower()}_collectives.cc": table_file(link, gpus, times, libraries)
             for link, gpus in by_link.items()}
    for name, text in files.items():
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
