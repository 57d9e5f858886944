"""How the answers of tests/golden/textbook_answers.jsonl read as the command line prints them."""

import re

# Where an answer is rounded, parted among several lines, or in words. Regular expressions over
# all that the commands of one block print.
IN_OTHER_WORDS = {
    "two-layer-loss-elementwise": r"134,217,728 FLOP.*134,217,729 FLOP",
    "largest-model-8xh100-adamw": r"40,000,000,000  parameters",
    "week-8xh100-flops": r"2\.3938e\+21 FLOP.*7\.00 days",
    "gpt3-total-flops": r"3\.1429e\+23 FLOP",
    "budget-7b-weights-bf16": r"^  weight  .*13\.04 GiB$",
    "budget-7b-gradients-bf16": r"^  gradient  .*13\.04 GiB$",
    "budget-7b-master-fp32": r"^  master weight  .*26\.08 GiB$",
    "budget-7b-adam-m-fp32": r"^  first moment  .*26\.08 GiB$",
    "budget-7b-adam-v-fp32": r"^  second moment  .*26\.08 GiB$",
    "budget-7b-gpus-80": r"fewest devices that hold it +2  devices",
    "fp16-1e-8": r"1e-08 -> 0 \(underflowed",
    "bf16-1e-8-nonzero": r"1e-08 -> 1\.0011717677116394e-08 \(rounded",
    "stride-index": r"index 1 2: element 6 of the storage",
    "slice-row-is-view": r"select +view +0 bytes",
    "transpose-is-view": r"transpose +view +0 bytes  \[3, 2\]  \[1, 3\]",
    "transpose-contiguous-copies": r"contiguous +copy +24 bytes.*Allocated: 24 bytes",
    "elementwise-allocates": r"Allocated: 128 bytes",
    "triu-allocates": r"Allocated: 36 bytes",
    "optimizer-buffers-adam": r"read state 2 (?!.*read state 3)",
    "optimizer-buffers-muon":
        r"^  non-embedding +243,269,632$.*muon_momentum[^\n]*\n    = 243269632 \* 4",
    # The former of two counts less the latter: 18,432.
    "optimizer-state-adafactor-matrix": r"= 352768 \* 4.*= 334336 \* 4",
    "optimizer-state-adam8bit": r"first_moment.*= 1,075,838,976.*second_moment.*= 1,075,838,976",
    # Within the rows' tolerances: the catalogue has more digits than they do.
    "a100-bf16-dense-peak": r"^a100-sxm-80 +(\S+ +){3}312\.0 ",
    "h100-bf16-dense-peak": r"^h100-sxm +(\S+ +){3}989\.4 ",
    "h100-fp32-peak": r"^h100-sxm +(\S+ +){6}66\.9 ",
    "init-unscaled-output-std": r"^  1 +128  sqrt\(fan-in\)$",
    "init-scaled-output-std": r"^  0\.0078125 +1  1 / sqrt\(fan-in\)$",
    "fusion-3-unary-bf16": r"Unfused.*: 3\.00 x the bytes",
    "check-shape-rank-mismatch": r"MISMATCH.*3 axes declared, the tensor has 4",
    "check-shape-repeated-axis": r"MISMATCH.*'seq' is bound to 3 and to 4",
    "kaplan-gpt3-embed-flops": r"^  embed +49,152 ",
    "token-read-rate": r"2\.00 MB/s",
    "checkpoint-70b-mixed-adamw": r"^  checkpoint +980\.00 GB ",
    "checkpoint-70b-weights-only": r"weight 140\.00 GB,",
    "checkpoint-70b-write": r"a write takes 49\.0 s",
    "checkpoint-interval-young": r"Young\s+28\.0 minutes",
}

# Parameters stand in a column of their own.
WRITTEN_UNITS = {"bytes": " byte", "FLOP": " FLOP", "FLOP/token": " FLOP", "elements": " element"}


def format_row(row):
    """A figure in its format's row of the table that `sextant dtype` prints."""
    value = row["expected"]
    name = row["inputs"]["dtype"]
    if row["unit"] == "bits":
        return rf"^{name} " + "".join(rf" +{bits}" for bits in value)
    if row["id"].endswith("-min-subnormal"):
        return rf"{value:.10g} subnormal"
    figure = f"{value:,.0f}" if value >= 1 and value < 1e6 else f"{value:.10g}"
    return rf"^{name} .* {re.escape(figure)}( |$)"


def reading(row):
    """A figure with its unit as the command line writes it."""
    value, unit = row["expected"], row["unit"]
    if unit == "shape":
        return f"[{', '.join(map(str, value))}]"
    if unit == "axis sizes":
        return ", ".join(f"{name} = {size}" for name, size in value.items())
    if unit in ("GiB", "days"):
        return f"{value:,.2f} {unit}"
    if unit == "seconds":
        return f"{1e3 * value:.2f} ms"
    if unit == "ratio":
        return f"{100 * value:.2f} %"
    if unit == "FLOP/byte":
        return f"{value:,.2f} {unit}" if value > 1 else f"{value:.4g} {unit}"
    if unit == "tensors per parameter":
        return f"{row['inputs']['optimizer'].replace('_', '-')}: {value}"
    if unit == "FLOP" and value >= 1e21:
        return f"{value:.4e} FLOP"
    if unit == "positions":
        return f"{value:.10g} a query"
    if unit == "value":
        return f"{value:.10g}"
    return f"{int(value):,}{WRITTEN_UNITS.get(unit, '')}"


def pattern_of(row):
    """A regular expression that finds the answer of `row` in what its commands print."""
    if row["id"] in IN_OTHER_WORDS:
        return IN_OTHER_WORDS[row["id"]]
    if "dtype" in row["inputs"] and row["unit"] in ("bits", "value"):
        return format_row(row)
    return rf"(?<![\d.,]){re.escape(reading(row))}(?!\d|[.,]\d)"
