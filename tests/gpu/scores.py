"""How near predictions came, from predictions.csv of predict_kernels."""

from results import quantile
from targets import NOT_MEASURED, Line, share_text, told

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


def scored(name, rows, has_target):
    errors = errors_of(rows)
    if not errors:
        if has_target:
            return [Line(f"{name}, median error", f"<= {share_text(MEDIAN_TARGET)}", NOT_MEASURED,
                         None),
                    Line(f"{name}, p90 error", f"<= {share_text(P90_TARGET)}", NOT_MEASURED, None)]
        return [told(name, None)]
    median, p90 = quantile(errors, 0.5), quantile(errors, 0.9)
    more = f" of {len(errors)}, {share_text(inside_share(rows))} in the 80 % interval"
    if not has_target:
        return [told(name, f"median {share_text(median)}, p90 {share_text(p90)}{more}; stands on "
                           f"{sources_of(rows)}")]
    return [Line(f"{name}, median error", f"<= {share_text(MEDIAN_TARGET)}",
                 share_text(median) + more, median <= MEDIAN_TARGET),
            Line(f"{name}, p90 error", f"<= {share_text(P90_TARGET)}",
                 f"{share_text(p90)}; stands on {sources_of(rows)}", p90 <= P90_TARGET)]


def prediction_lines(rows):
    out = []
    gemms = [r for r in rows if r["kind"] == "gemm"]
    for dtype in ("bf16", "fp8"):
        out += scored(f"prediction, {dtype} multiplications",
                      [r for r in gemms if r["dtype"] == dtype and r["framework"] == "pytorch"],
                      has_target=True)
    out += scored("prediction, bf16 multiplications timed by the probe",
                  [r for r in gemms if r["framework"] == "sextant-probe"], has_target=False)
    attention = [r for r in rows if r["kind"] == "attention"]
    if not attention:
        out.append(told("prediction, attention", None))
    for kernel, direction in sorted({(r["kernel"], r["pass"]) for r in attention}):
        out += scored(f"prediction, attention {direction} by {kernel}",
                      [r for r in attention if (r["kernel"], r["pass"]) == (kernel, direction)],
                      has_target=False)
    return out
