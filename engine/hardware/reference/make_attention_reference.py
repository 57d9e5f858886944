#!/usr/bin/python3
"""Makes the reference calibrations of attention and of layers of experts from published tables.

    make_attention_reference.py TABLES OUTPUT

TABLES is a folder with attention_forward_dev.csv, mla_context_forward_dev.csv and
moe_grouped_gemm_dev.csv, or tables of the same columns; OUTPUT is engine/hardware/reference. Which
points are taken depends on their shapes alone; tests/validation/kernel_reference_test.py holds the
files against the tables."""

import csv
import math
import os
import sys

SOURCE = ("ai-dynamo/aiconfigurator @095f58a51c4ca8e61b66ec108d86f223f8d559ce,\n"
          "// licence Apache-2.0.")
DEVICES = {"A100": "a100-sxm-80", "B200": "b200-sxm", "H100": "h100-sxm", "H200": "h200-sxm"}
# The kernels nearest to a training FlashAttention: no rotary embedding, no quantisation inside.
ATTENTION = {("A100", "bf16"): ("flash_attention",),
             ("B200", "bf16"): ("trtllm_mha", "flash_attention_v4"),
             ("B200", "fp8"): ("trtllm_mha",),
             ("H100", "bf16"): ("fa3", "flash_attention_v3"), ("H100", "fp8"): ("fa3",),
             ("H200", "bf16"): ("fa3", "flash_attention_v3"), ("H200", "fp8"): ("fa3",)}
DATA_TYPES = {"bf16": "kBf16", "fp8": "kFp8E4m3", "fp8_block": "kFp8E4m3", "nvfp4": "kNvfp4"}
MOST_FLOPS = 6e12
LEAST_GROUPED_POINTS = 16
COLUMNS = 100


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for column in row:
            if column not in ("gpu", "dtype", "framework", "framework_version", "kernel",
                              "seconds"):
                row[column] = int(row[column])
    return rows


def spread(positions, centre, count):
    """Indices of `count` positions (fewer where there are fewer) that fill the space they lie in.

    The one nearest to `centre`, then always the one farthest from all that were taken; of equals
    the first. Times play no part.
    """
    def apart(a, b):
        return sum((x - y) * (x - y) for x, y in zip(a, b))
    distances = [-apart(position, centre) for position in positions]
    taken = []
    while len(taken) < min(count, len(positions)):
        chosen = distances.index(max(distances))
        taken.append(chosen)
        for i, position in enumerate(positions):
            distance = apart(position, positions[chosen])
            distances[i] = distance if len(taken) == 1 else min(distances[i], distance)
        for i in taken:
            distances[i] = -1
    return taken


def attention_class(row):
    if "head_dim" not in row:
        return (192, 128, 1, 0)
    return (row["head_dim"], row["head_dim"], row["causal"], row["window"])


def attention_shape(row):
    return (row["batch"], row["seq_len"], row["heads"], row.get("kv_heads", row["heads"]))


def attention_flops(row):
    query_key, value, causal, window = attention_class(row)
    batch, sequence, heads, _ = attention_shape(row)
    window = window if 0 < window < sequence else sequence
    pairs = window * (window + 1) / 2 + (sequence - window) * window if causal else (
        sequence * window)
    return 2 * (query_key + value) * batch * heads * pairs


def attention_position(row):
    batch, sequence, heads, key_value_heads = attention_shape(row)
    group = -1 if heads == key_value_heads else math.log2(heads / key_value_heads) / 2
    return (math.log2(sequence), math.log2(batch * heads) / 2, group)


def pick_attention(rows):
    rows = sorted(rows, key=attention_shape)
    query_key, value, _, window = attention_class(rows[0])
    count = 40 if query_key != value else 16 if window else 30
    small = [row for row in rows if attention_flops(row) <= MOST_FLOPS]
    positions = [attention_position(row) for row in small]
    return [small[i] for i in spread(positions, (12, 3, 1), min(count, len(rows) // 2))]


def grouped_shape(row):
    return tuple(row[column] for column in ("tokens", "hidden", "intermediate", "top_k", "experts",
                                            "expert_parallel"))


def pick_grouped(rows):
    rows = sorted(rows, key=grouped_shape)
    positions = []
    for row in rows:
        tokens, hidden, intermediate, top_k, experts, parallel = grouped_shape(row)
        expert_rows = tokens * top_k / parallel
        local = experts / parallel
        positions.append((math.log2(expert_rows / local) / 2, math.log2(local) / 2,
                          math.log2(hidden * intermediate) / 2))
    return [rows[i] for i in spread(positions, (4, 2, 11.5), min(60, len(rows) // 2))]


def wrapped(cells):
    """Cells of an initialiser, as many a line as fit."""
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) + 2 > COLUMNS:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    return "\n".join(lines + [line])


def table_of(kind, name, cells):
    return f"constexpr {kind} {name}[] = {{\n{wrapped(cells)}\n}};\n"


def cell_of(shape, row):
    return "{" + ", ".join(map(str, shape)) + f", {float(row['seconds']) * 1e6:.5g}}}"


def file_of(topic, header, namespace, functions, body, reference, count):
    return (f"// {topic}\n"
            f"// Published in {SOURCE}\n"
            "// Made by make_attention_reference.py: docs/kernels_attention.md says how it was "
            "measured.\n"
            f'#include "engine/hardware/reference/{header}"\n\n'
            f"namespace sextant {{\nnamespace {namespace} {{\n\n// clang-format off\n\n" + body +
            f"\nconstexpr {reference[0]} kReferences[] = {{\n{reference[1]}}};\n\n"
            f"// clang-format on\n\n}}  // namespace {namespace}\n\n"
            f"absl::Span<const {reference[0]}> {functions}() {{\n"
            f"  return absl::Span<const {reference[0]}>({namespace}::kReferences, "
            f"{count});\n}}\n\n"
            "}  // namespace sextant\n")


def kernel_of(row):
    kernel = f" {row['kernel']}" if row.get("kernel") else ""
    return f"{row['framework']} {row['framework_version']}{kernel}"


def attention_file(device, rows, latent_rows):
    """The tables of one device: each data type, then latent attention."""
    sets = []
    for (name, data_type), kernels in ATTENTION.items():
        if name == device:
            chosen = [row for row in rows if row["dtype"] == data_type
                      and row["framework"] == "sglang" and row["kernel"] in kernels]
            sets.append((data_type, "false", chosen))
    sets.append(("bf16", "true", latent_rows))
    body, references = "", ""
    for data_type, latent, chosen in sets:
        prefix = ("Latent" if latent == "true" else "") + data_type.capitalize()
        classes = ""
        for key in sorted({attention_class(row) for row in chosen}):
            like = [row for row in chosen if attention_class(row) == key]
            name = f"k{prefix}Head{key[0]}" + ("" if key[2] else "Full") + (
                f"Window{key[3]}" if key[3] else "")
            picked = pick_attention(like)
            body += table_of("AttentionReferenceRow", name,
                             [cell_of(attention_shape(row), row) for row in picked])
            mask = "true" if key[2] else "false"
            classes += f"    {{{key[0]}, {key[1]}, {mask}, {key[3]}, {name}}},\n"
        body += f"constexpr AttentionReferenceClass k{prefix}[] = {{\n{classes}}};\n\n"
        # "sglang 0.5.14 fa3, flash_attention_v3"
        kernels = sorted({row.get("kernel", "") for row in chosen})
        names = (f"{chosen[0]['framework']} {chosen[0]['framework_version']} "
                 f"{', '.join(kernels)}").strip()
        references += (f'    {{"{DEVICES[device]}", DataType::{DATA_TYPES[data_type]}, {latent},\n'
                       f'     "{names}", k{prefix}}},\n')
    return file_of(f"Times of attention on one {device}: batch, sequence, heads, key and value "
                   "heads, microseconds.", "reference_kernels.h",
                   f"attention_{device.lower()}", f"AttentionReferencesOf{device}", body,
                   ("AttentionReference", references), len(sets))


def grouped_file(device, rows):
    body, references, count = "", "", 0
    for key in sorted({(row["dtype"], row["gated"], kernel_of(row)) for row in rows}):
        data_type, gated, kernel = key
        picked = pick_grouped([row for row in rows
                               if (row["dtype"], row["gated"], kernel_of(row)) == key])
        if len(picked) < LEAST_GROUPED_POINTS:
            continue
        count += 1
        name = "k" + "".join(part.capitalize() for part in data_type.split("_")) + (
            "" if gated else "NotGated")
        body += table_of("GroupedMatmulReferenceRow", name,
                         [cell_of(grouped_shape(row), row) for row in picked])
        block = "true" if data_type == "fp8_block" else "false"
        references += (f'    {{"{DEVICES[device]}", DataType::{DATA_TYPES[data_type]}, {block}, '
                       f'{"true" if gated else "false"}, "{kernel}", {name}}},\n')
    return file_of(f"Times of a layer of experts on one {device}: tokens, hidden, intermediate, "
                   "experts a token,\n// experts, expert parallel, microseconds.",
                   "reference_kernels.h", f"grouped_matmul_{device.lower()}",
                   f"GroupedMatmulReferencesOf{device}", body,
                   ("GroupedMatmulReference", references), count)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    attention, latent, grouped = (
        read(sys.argv[1], name) for name in ("attention_forward_dev.csv",
                                             "mla_context_forward_dev.csv",
                                             "moe_grouped_gemm_dev.csv"))
    for device, gpu in DEVICES.items():
        def of_device(rows, wanted=gpu):
            return [row for row in rows if row["gpu"] == wanted]
        files = {"attention": attention_file(device, of_device(attention), of_device(latent)),
                 "grouped_matmul": grouped_file(device, of_device(grouped))}
        for topic, text in files.items():
            path = os.path.join(sys.argv[2], f"{topic}_{device.lower()}.cc")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
