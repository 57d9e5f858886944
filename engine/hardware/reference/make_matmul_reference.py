#!/usr/bin/python3
"""Writes the C++ tables of measured multiplications from a CSV file of published times.

  make_matmul_reference.py GEMM.csv OUTPUT_FOLDER

Takes any table with the columns gpu, dtype, framework, framework_version, m, n, k, seconds. Of each
GPU and type it keeps 200 shapes, by the rule of engine/base/matmul_grid.h, which a test holds it
to. One file a GPU; reference_matmuls.cc lists them.
"""

import csv
import math
import os
import re
import sys
from collections import defaultdict

SOURCE = "ai-dynamo/aiconfigurator @095f58a51c4c, <system>/gemm/.../gemm_perf.parquet (Apache-2.0)"
TYPES = ["bf16", "fp8", "fp8_block", "nvfp4", "int8"]
POINTS, CHECKS = 160, 40
ANCHOR_ROWS = [1, 16, 64, 256, 1024, 4096, 8192]
ANCHOR_SIZES = [1024, 4096, 16384]
SCATTER_ROWS = [128, 192, 224, 256, 257, 512, 513, 1024, 1025, 2048, 2049, 4096, 4352]
SCATTER_SIZES = [1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384]
CHECK_ROWS = [32, 96, 97, 160, 193, 225, 768, 769, 1280, 1792, 2304, 2561, 3329, 3584]
CHECK_SIZES = [1536, 2560, 3584, 5120, 7168, 10240, 12288]
GOLDEN_RATIO = (math.sqrt(5) - 1) / 2


def product(rows, sizes):
    return [(m, n, k) for m in rows for n in sizes for k in sizes]


def walked(shapes):
    step = round(GOLDEN_RATIO * len(shapes))
    while math.gcd(step, len(shapes)) != 1:
        step += 1
    return [shapes[i * step % len(shapes)] for i in range(len(shapes))]


def point_shapes():
    anchors = product(ANCHOR_ROWS, ANCHOR_SIZES)
    scatter = [shape for shape in product(SCATTER_ROWS, SCATTER_SIZES) if shape not in anchors]
    return anchors + walked(scatter)


def read(path):
    """{gpu: {type: {shape: seconds}}} and {(gpu, type): library}; the first library of each."""
    times, libraries = defaultdict(lambda: defaultdict(dict)), {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = row["gpu"], row["dtype"]
            library = f"{row['framework']} {row['framework_version']}"
            if row["dtype"] in TYPES and libraries.setdefault(key, library) == library:
                shape = int(row["m"]), int(row["n"]), int(row["k"])
                times[row["gpu"]][row["dtype"]].setdefault(shape, float(row["seconds"]))
    return times, libraries


def rows_of(by_type, types, shapes, most):
    """Of each type the first `most` of `shapes` that it has; 0 is not one of them."""
    kept = {name: [s for s in shapes if s in by_type[name]][:most] for name in types}
    kept = {name: set(of) for name, of in kept.items()}
    union = set().union(*kept.values())
    for shape in sorted(union, key=lambda s: (s[1], s[2], s[0])):
        values = [f"{by_type[name][shape] * 1e6:.4g}" if shape in kept[name] else "0"
                  for name in types]
        m, n, k = shape
        yield f"    {{{m}, {n}, {k}, {{{', '.join(values)}}}}},"


def identifier(gpu):
    return "".join(part.capitalize() for part in re.split(r"[^a-z0-9]+", gpu))


def table_file(gpu, by_type, libraries):
    namespace = f"{gpu.replace('-', '_')}_matmuls"
    types = [name for name in TYPES if name in by_type]
    columns = [f'    {{"{name}", "{libraries[gpu, name]}"}},' for name in types]
    lines = [
        f"// Measured multiplications of {gpu}: made by make_matmul_reference.py, not by hand.",
        "//",
        f"// Source: {SOURCE}.",
        "// Bursts on random data: docs/kernels_matmul.md. Microseconds by m, n, k, for each of",
        "// kColumns; 0: not in its calibration.",
        '#include "engine/hardware/reference/reference_matmuls.h"',
        "",
        "namespace sextant {",
        f"namespace {namespace} {{",
        "",
        "// clang-format off",
        "constexpr ReferenceMatmulColumn kColumns[] = {",
        *columns,
        "};",
        "",
        "constexpr ReferenceMatmulRow kPoints[] = {",
        *rows_of(by_type, types, point_shapes(), POINTS),
        "};",
        "",
        "constexpr ReferenceMatmulRow kChecks[] = {",
        *rows_of(by_type, types, walked(product(CHECK_ROWS, CHECK_SIZES)), CHECKS),
        "};",
        "// clang-format on",
        "",
        f"}}  // namespace {namespace}",
        "",
        f"ReferenceMatmulTable {identifier(gpu)}Matmuls() {{",
        f'  return {{"{gpu}", {namespace}::kColumns, {namespace}::kPoints,',
        f"          {namespace}::kChecks}};",
        "}",
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
    files = {f"{gpu.replace('-', '_')}_matmuls.cc": table_file(gpu, by_type, libraries)
             for gpu, by_type in times.items()}
    for name, text in files.items():
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as file:
            file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
