"""The figures of a validation run, each beside its target, and how near predictions.csv of
predict_kernels.py came. A figure that was not measured has no verdict: it never counts as met."""

import statistics
from collections import namedtuple

import packed
import probe
from datasheets import datasheet_of
from probe import best_calibration, calibrations_of
from results import quantile, range_over_median

# `target` and `measured` are texts; `met` is True, False, or None: no target, or not measured.
Line = namedtuple("Line", "figure target measured met")

NOT_MEASURED = "not measured"
MEDIAN_TARGET, P90_TARGET = 0.04, 0.10  # of predictions
GIB = 1 << 30


def at_most(figure, limit, values, show, worst=max):
    return judged(figure, f"<= {show(limit)}", values, show, worst, lambda v: v <= limit)


def at_least(figure, limit, values, show, worst=min):
    return judged(figure, f">= {show(limit)}", values, show, worst, lambda v: v >= limit)


def judged(figure, target, values, show, worst, holds):
    values = [v for v in values if v is not None]
    if not values:
        return Line(figure, target, NOT_MEASURED, None)
    value = worst(values)
    count = f" (worst of {len(values)})" if len(values) > 1 else ""
    return Line(figure, target, show(value) + count, holds(value))


def told(figure, text):
    """A figure without a target; `text` None where it was not measured."""
    return Line(figure, "", text or NOT_MEASURED, None)


def seconds_text(value):
    return f"{value:.2f} s"


def share_text(value):
    return f"{100 * value:.1f} %"


def gib_text(value):
    return f"{value / GIB:.2f} GiB"


def size_text(value):
    return f"{value / 1000:.1f} KB"


def rate_text(value):
    return f"{value / 1e12:.1f} TFLOP/s" if value is not None else None


def time_lines(runs):
    for mode, limit in (("quick", 2), ("standard", 5), ("full", 30)):
        walls = [run["wall_seconds"] for run in runs
                 if run["mode"] == mode and "calibration" in run]
        yield at_most(f"wall time, {mode}", limit, walls, seconds_text)


def coverage_lines(runs):
    for mode in ("quick", "standard", "full"):
        worst = min(calibrations_of(runs, mode), key=lambda c: c["coverageRatio"], default=None)
        yield told(f"points measured in time, {mode}",
                   f"{share_text(worst['coverageRatio'])}, missing: "
                   f"{probe.missing_text(worst) or 'nothing'}" if worst else None)


def memory_lines(runs):
    held = [c.get("conditions", {}).get("peakAllocatedBytes")
            for mode in ("quick", "standard", "full") for c in calibrations_of(runs, mode)]
    yield at_most("device memory that the probe held, by its own count", 2 * GIB,
                  [int(b) for b in held if b is not None], gib_text)
    rises = [run["used_rise_bytes"] for run in runs
             if "calibration" in run and run.get("used_rise_bytes") is not None]
    yield told("rise of the GPU's used memory, CUDA's context with it",
               gib_text(max(rises)) if rises else None)


def size_lines(runs):
    for mode in ("standard", "full"):
        calibrations = calibrations_of(runs, mode)
        try:
            sizes = packed.packed_sizes(calibrations) if calibrations else []
            line = at_most(f"calibration, {mode}, packed (protobuf, gzip)", 20_000, sizes,
                           size_text)
        except packed.CannotPack as reason:
            line = Line(f"calibration, {mode}, packed (protobuf, gzip)", "<= 20.0 KB", str(reason),
                        None)
        yield line if mode == "standard" else line._replace(target="", met=None)


def repeat_lines(runs):
    def spread(mode, figure_of):
        values = [figure_of(c) for c in calibrations_of(runs, mode)]
        values = [v for v in values if v is not None]
        return [range_over_median(values)] if len(values) >= 3 else []

    figures = (("best bf16 burst, standard", "standard", 0.02,
                lambda c: probe.best_burst(c, "bf16")),
               ("best bf16 burst, quick", "quick", 0.02, lambda c: probe.best_burst(c, "bf16")),
               ("bf16 sustained, standard", "standard", 0.01,
                lambda c: probe.sustained(c, "bf16")),
               ("copy, standard", "standard", 0.02,
                lambda c: (probe.memory_copy(c) or {}).get("bytesPerSecond")))
    for name, mode, limit, figure_of in figures:
        yield at_most(f"run to run, {name}", limit, spread(mode, figure_of), share_text)


def rate_lines(runs, matmuls, facts):
    calibration = best_calibration(runs) or {}
    for dtype in ("bf16", "fp8"):
        found = [float(r["flops_per_second"]) for r in matmuls
                 if r["dtype"] == dtype and r["kind"] in ("search", "same_shape")]
        best = max(found) if found else None
        any_kernel = probe.best_of_any_kernel(calibration, dtype)
        yield told(f"best {dtype}, PyTorch", rate_text(best))
        yield told(f"best {dtype}, probe: library's own choice",
                   rate_text(probe.best_burst(calibration, dtype)))
        yield told(f"best {dtype}, probe: best kernel tried", rate_text(any_kernel))
        yield search_line(dtype, any_kernel, best, facts)


def search_line(dtype, ours, best, facts):
    """Honest about how long the search was: no search, no verdict."""
    searches = [f for f in facts if f["fact"] == "search" and f["dtype"] == dtype]
    if not searches or not best or not ours:
        return Line(f"best {dtype}, probe over search", ">= 97.0 %", NOT_MEASURED, None)
    seconds, shapes = (sum(f[name] for f in searches) for name in ("seconds", "shape_count"))
    line = at_least(f"best {dtype}, probe over search", 0.97, [ours / best], share_text)
    return line._replace(measured=f"{line.measured} ({seconds:.0f} s searched, {shapes} shapes)")


def same_shape_lines(matmuls):
    for dtype in ("bf16", "fp8"):
        ratios = [float(r["flops_per_second"]) / float(r["probe_flops_per_second"])
                  for r in matmuls if r["dtype"] == dtype and r["kind"] == "same_shape"]
        yield told(f"{dtype}, PyTorch over probe, same shapes",
                   f"median {statistics.median(ratios):.3f}, p10 {quantile(ratios, 0.1):.3f}, p90 "
                   f"{quantile(ratios, 0.9):.3f} of {len(ratios)}" if ratios else None)


def copy_lines(runs, facts):
    calibration = best_calibration(runs) or {}
    copied = probe.memory_copy(calibration)
    ours = copied["bytesPerSecond"] if copied else None
    theirs = [f["bytes_per_second"] for f in facts if f["fact"] == "copy" and copied
              and f["kind"] == "device" and f["bytes"] == int(copied["arrayBytes"])]
    yield at_least("copy in the GPU's memory, probe over PyTorch, same size", 0.98,
                   [ours / theirs[-1]] if theirs else [], share_text)
    sheet = datasheet_of(calibration.get("device", {}).get("productName", ""))
    yield told("copy in the GPU's memory, over the datasheet (90 % is usual)",
               share_text(ours / sheet.memory_bytes_per_second) if ours and sheet else None)
    for kind, direction in (("host_to_device", "DIRECTION_HOST_TO_DEVICE"),
                            ("device_to_host", "DIRECTION_DEVICE_TO_HOST")):
        probed = [(int(h["sizeBytes"]), h["bytesPerSecond"])
                  for h in calibration.get("hostCopies", [])
                  if h["direction"] == direction and not h.get("pageable")]
        torch = [(f["bytes"], f["bytes_per_second"]) for f in facts
                 if f["fact"] == "copy" and f["kind"] == kind]
        yield told(f"pinned {kind.replace('_', ' ')}, probe over PyTorch",
                   share_text(max(probed)[1] / max(torch)[1]) if probed and torch else None)


def tenant_line(facts):
    tenants = [f for f in facts if f["fact"] == "tenant" and f["came"]]
    target = "the probe stops"
    if not tenants:
        return Line("work that comes while it measures", target, NOT_MEASURED, None)
    last = tenants[-1]
    how = (f"stopped after {seconds_text(last['seconds'])}" if last["stopped"] else
           f"exit code {last['exit_code']} {last['reason']} after {seconds_text(last['seconds'])}")
    return Line("work that comes while it measures", target, how, last["stopped"])


def refusal_lines(facts):
    refusals = [f for f in facts if f["fact"] == "refusal"]
    kept_off = all(r["refused"] for r in refusals) if refusals else None
    yield Line("a busy GPU refused", "every time",
               f"{sum(r['refused'] for r in refusals)} of {len(refusals)}" if refusals
               else NOT_MEASURED, kept_off)
    yield at_most("time to refuse", 0.5, [r["wall_seconds"] for r in refusals], seconds_text)
    yield at_most("memory taken by a refusal", 0, [r["used_rise_bytes"] for r in refusals],
                  gib_text)
    yield tenant_line(facts)


def condition_lines(runs):
    calibration = best_calibration(runs) or {}
    burst, kept = (f(calibration, "bf16") for f in (probe.best_burst, probe.sustained))
    sheet = datasheet_of(calibration.get("device", {}).get("productName", ""))
    for name, rate in (("best burst", burst), ("sustained", kept)):
        yield told(f"bf16 {name} over the datasheet's peak",
                   share_text(rate / sheet.bf16_flops_per_second) if rate and sheet else None)
    yield told("bf16 sustained over best burst",
               share_text(kept / burst) if burst and kept else None)
    yield told("sustained, over the limit at the clock that was counted", ", ".join(
        map(clock_limit_text, probe.matmuls_of(calibration, None, "sustained"))) or None)
    conditions = calibration.get("conditions", {})
    shown = {"smClockHertz": lambda v: f"{v / 1e6:.0f} MHz",
             "maximumSmClockHertz": lambda v: f"{v / 1e6:.0f} MHz at most",
             "powerWatts": lambda v: f"{v:.0f} W",
             "maximumTemperatureCelsius": lambda v: f"{v:.0f} degrees",
             "powerThrottleRatio": lambda v: f"power throttle {share_text(v)}",
             "thermalThrottleRatio": lambda v: f"thermal throttle {share_text(v)}",
             "hardwareThrottleRatio": lambda v: f"hardware throttle {share_text(v)}"}
    yield told("clock, power, heat while it multiplied",
               ", ".join(show(conditions[name]) for name, show in shown.items()
                         if name in conditions) or None)


def clock_limit_text(matmul):
    """What a sustained multiplication tells of its clock and its power."""
    shown = {"clockLimitRatio": share_text,
             "countedSmClockHertz": lambda v: f"{v / 1e6:.0f} MHz counted",
             "smClockHertz": lambda v: f"{v / 1e6:.0f} MHz by the driver",
             "powerWatts": lambda v: f"{v:.0f} W"}
    told_of = [show(matmul[name]) for name, show in shown.items() if name in matmul]
    return f"{probe.type_of(matmul)} {', '.join(told_of) or 'no clock told'}"


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
