#!/usr/bin/python3
"""Writes the C++ tables of measured collectives from a CSV file of published times.

  make_collectives_reference.py COLLECTIVES.csv OUTPUT_FOLDER

Takes any table with the columns gpu, library, library_version, table_version, op, dtype, gpus,
message_bytes, repeat, seconds. Of each GPU: the rows of `nccl` in fp16 of the newest
table_version, the median of repeats, and of the sizes those of SIZES alone. One file a GPU, and
one that lists them.
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


def table_file(gpu, version, libraries, by_op):
    namespace = f"{gpu.replace('-', '_')}_collectives"
    lines = [
        f"// Measured collectives of {gpu}: made by make_collectives_reference.py, not by hand.",
        "//",
        f"// Source: {SOURCE},",
        f"// table {version}, NCCL {', '.join(sorted(libraries))} as its rows say.",
        "// nccl-tests in one node, fp16, out of place, no CUDA graph; medians of repeats.",
        "// Microseconds, by kReferenceCollectiveSizes.",
        '#include "engine/hardware/reference/reference_collectives_table.h"',
        "",
        "namespace sextant {",
        f"namespace {namespace} {{",
        "",
        "// clang-format off",
        "constexpr ReferenceCollectiveRow kRows[] = {",
        *rows_of(by_op),
        "};",
        "// clang-format on",
        "",
        f"}}  // namespace {namespace}",
        "",
        f"absl::Span<const ReferenceCollectiveRow> {identifier(gpu)}Collectives() "
        f"{{ return {namespace}::kRows; }}",
        "",
        "}  // namespace sextant",
        "",
    ]
    return "\n".join(lines)


def list_file(versions):
    gpus = sorted(versions)
    declared = [f"absl::Span<const ReferenceCollectiveRow> {identifier(g)}Collectives();"
                for g in gpus]
    listed = [f'      {{"{g}", "{versions[g]}", {identifier(g)}Collectives()}},' for g in gpus]
    sizes = [", ".join(str(size) for size in SIZES[i:i + 6]) + "," for i in range(0, len(SIZES), 6)]
    lines = [
        "// The list of reference tables: made by make_collectives_reference.py, not by hand.",
        "#ifndef SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_LIST_H_",
        "#define SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_LIST_H_",
        "",
        "#include <array>",
        "#include <cstdint>",
        "",
        '#include "engine/hardware/reference/reference_collectives_table.h"',
        "",
        "namespace sextant {",
        "",
        *declared,
        "",
        "// clang-format off",
        f"inline constexpr std::array<int64_t, {len(SIZES)}> kReferenceCollectiveSizes = {{",
        *(f"    {line}" for line in sizes),
        "};",
        "",
        f"inline std::array<ReferenceCollectiveTable, {len(gpus)}> ReferenceCollectiveTables() {{",
        "  return {{",
        *listed,
        "  }};",
        "}",
        "// clang-format on",
        "",
        "}  // namespace sextant",
        "",
        "#endif  // SEXTANT_ENGINE_HARDWARE_REFERENCE_REFERENCE_COLLECTIVES_LIST_H_",
        "",
    ]
    return "\n".join(lines)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    times, libraries = read(sys.argv[1])
    versions = {gpu: max(times[gpu], key=version_key) for gpu in times}
    files = {"reference_collectives_list.h": list_file(versions)}
    for gpu, version in versions.items():
        files[f"{gpu.replace('-', '_')}_collectives.cc"] = table_file(
            gpu, version, libraries[gpu, version], times[gpu][version])
    for name, text in files.items():
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
