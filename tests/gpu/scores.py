"""How near predictions came, from predictions.csv of predict_kernels.py."""

from results import quantile
from targets import NOT_MEASURED, Line, share_text

MEDIAN_TARGET, P90_TARGET = 0.04, 0.10


def errors_of(rows):
    """|predicted / measured - 1| of those whose shape the calibration does not have."""
    return [abs(float(r["predicted_seconds"]) / float(r["seconds"]) - 1) for r in rows
            if r["seen"] == "0"]


def inside_share(rows):
    held = [float(r["low_seconds"]) <= float(r["seconds"]) <= float(r["high_seconds"])
            for r in rows if r["seen"] == "0"]
    return sum(held) / len(held)


def sources_of(rows):
    """What the predictions stand on: a table that is not the device's own would flatter nobody."""
    return ", ".join(sorted({r["source"] for r in rows}))


def scored(name, rows, limits):
    """Lines of the median error and of the 90th percentile; `limits` are their targets, None where
    there is none."""
    errors = errors_of(rows)
    out = []
    for part, share, limit in (("median", 0.5, limits[0]), ("p90", 0.9, limits[1])):
        target = f"<= {share_text(limit)}" if limit else ""
        if not errors:
            out.append(Line(f"{name}, {part} error", target, NOT_MEASURED, None))
            continue
        error = quantile(errors, share)
        more = (f"of {len(errors)}, {share_text(inside_share(rows))} in the 80 % interval"
                if part == "median" else f"stands on {sources_of(rows)}")
        out.append(Line(f"{name}, {part} error", target, f"{share_text(error)}; {more}",
                        error <= limit if limit else None))
    return out


def prediction_lines(rows):
    out = []
    matmuls = [r for r in rows if r["kind"] == "gemm"]
    for dtype in ("bf16", "fp8"):
        out += scored(f"prediction, {dtype} multiplications",
                      [r for r in matmuls if r["dtype"] == dtype and r["framework"] == "pytorch"],
                      (MEDIAN_TARGET, P90_TARGET))
    out += scored("prediction, bf16 multiplications timed by the probe",
                  [r for r in matmuls if r["framework"] == "sextant-probe"], (None, None))
    attention = [r for r in rows if r["kind"] == "attention"]
    # The kernels that calibrations have are cuDNN's; others are shown.
    cudnn = {("cudnn", direction) for direction in ("forward", "backward")}
    for kernel, direction in sorted({(r["kernel"], r["pass"]) for r in attention} | cudnn):
        out += scored(f"prediction, attention {direction} by {kernel}",
                      [r for r in attention if (r["kernel"], r["pass"]) == (kernel, direction)],
                      (None, P90_TARGET if kernel == "cudnn" else None))
    return out
