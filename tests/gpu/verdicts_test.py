#!/usr/bin/python3
"""Verdicts of a GPU validation: each target and each experiment on results that meet it, that miss
it, and that lack it."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import experiments  # noqa: E402
import packed  # noqa: E402
import probe  # noqa: E402
import simulated_calibration as simulated  # noqa: E402
import summarise  # noqa: E402
import targets  # noqa: E402


def raises(call, kind=ValueError):
    try:
        call()
    except kind:
        return True
    return False


def run_of(mode, wall=1.0, **changes):
    return {"mode": mode, "wall_seconds": wall, "used_rise_bytes": 3 << 30,
            "calibration": simulated.calibration(mode, **changes)}


def by_figure(lines):
    return {line.figure: line for line in lines}


def check_verdicts():
    runs = [run_of("standard", 4.0), run_of("standard", 5.5, slowness=1.04),
            run_of("standard", 4.1), {"mode": "standard", "wall_seconds": 9, "failure": {}}]
    runs[1]["calibration"].update(coverageRatio=0.9, missing=[
        {"phase": "attention forward", "missingCount": 7, "plannedCount": 8}])
    assert by_figure(targets.coverage_lines(runs))["points measured in time, standard"
                                                   ].measured == (
        "90.0 %, missing: attention forward 7 of 8")
    times = by_figure(targets.time_lines(runs))
    assert times["wall time, standard"].met is False
    assert times["wall time, standard"].measured == "5.50 s (worst of 3)"
    assert times["wall time, full"] == targets.Line("wall time, full", "<= 30.00 s",
                                                    targets.NOT_MEASURED, None)
    repeats = by_figure(targets.repeat_lines(runs))
    assert repeats["run to run, bf16 sustained, standard"].met is False
    assert repeats["run to run, copy, standard"].met is True
    assert repeats["run to run, best bf16 burst, quick"].met is None
    memory = by_figure(targets.memory_lines(runs))
    assert memory["device memory that the probe held, by its own count"].met is True
    runs[0]["calibration"]["conditions"]["peakAllocatedBytes"] = str(3 << 30)
    memory = by_figure(targets.memory_lines(runs))
    assert memory["device memory that the probe held, by its own count"].met is False


def check_copies():
    runs, same = [run_of("standard")], "copy in the GPU's memory, probe over PyTorch, same size"
    # 4.2 of 4.8 TB/s.
    lines = by_figure(targets.copy_lines(runs, []))
    assert lines["copy in the GPU's memory, over the datasheet (90 % is usual)"
                 ].measured == "87.5 %"
    assert lines[same].met is None
    for rate, size, met in ((4.25e12, 2 << 30, True), (4.3e12, 2 << 30, False),
                            (4.3e12, 1 << 30, None)):
        fact = {"fact": "copy", "kind": "device", "bytes": size, "bytes_per_second": rate}
        assert by_figure(targets.copy_lines(runs, [fact]))[same].met is met, (rate, size)


def check_packed_sizes():
    """Of the binary message: numbers in JSON are longer, and their text would not be what travels.
    A name that the message lacks is not a calibration of ours."""
    try:
        sizes = packed.packed_sizes([simulated.calibration("quick"), simulated.calibration("full")])
    except packed.CannotPack as reason:
        print(f"without packed sizes: {reason}")
        return
    assert 200 < sizes[0] < sizes[1] < 20_000, sizes
    assert raises(lambda: packed.packed_sizes([{"no_such_field": 1}]), packed.CannotPack)
    line = by_figure(targets.size_lines([run_of("standard")]))[
        "calibration, standard, packed (protobuf, gzip)"]
    assert line.met is True, line


def check_phases():
    """By hand: memory from 2 to 2.5, and bf16 before and after it."""
    events = [{"phase": phase, "elapsedSeconds": at} for phase, at in
              (("start", 0.5), ("matmul bf16", 1), ("matmul bf16", 1.5), ("memory", 2),
               ("matmul bf16", 2.5))]
    found = summarise.phases_of({"progress": events, "wall_seconds": 4})
    assert found == [("start", 0.5, 0.5, 1), ("matmul bf16", 1, 2.5, 2), ("memory", 2, 0.5, 1)]
    assert summarise.phases_of({"wall_seconds": 1}) == []
    table = summarise.phase_table({"a": {"progress": events, "wall_seconds": 4},
                                   "b": {"progress": events[:1], "wall_seconds": 1}})
    assert "| memory | 2.00 | 0.50 |  |  |" in table and "| start | 0.50 | 0.50 | 0.50 | 0.50 |" \
        in table, table


def check_rates():
    burst = probe.best_burst(simulated.calibration("full"), "bf16")
    assert burst == max(2 * m * n * k / simulated.matmul_law("DATA_TYPE_BF16", m, n, k)
                        for m, n, k in simulated.ANCHORS + [(8192, 8192, 8192)])
    calibration = simulated.calibration("full")
    asked = simulated.matmul("DATA_TYPE_BF16", 64, 64, 64, 1e-3, purpose="REQUESTED")
    calibration["matmuls"].append(asked)
    assert probe.best_burst(calibration, "bf16") == burst, "what was asked for is not a search"
    calibration["matmuls"][0]["bestFlopsPerSecond"] = 2 * burst
    assert probe.best_of_any_kernel(calibration, "bf16") == 2 * burst
    for share, met in ((0.96, False), (0.98, True)):
        rows = [{"kind": "search", "dtype": "bf16", "flops_per_second": str(burst / share)}]
        search = [{"fact": "search", "dtype": "bf16", "seconds": 61.7, "shape_count": 240}]
        line = by_figure(targets.rate_lines([run_of("full")], rows, search))[
            "best bf16, probe over search"]
        assert line.met is met and "62 s searched, 240 shapes" in line.measured, line
        # Without a search the shapes that the probe has prove nothing.
        assert by_figure(targets.rate_lines([run_of("full")], rows, []))[
            "best bf16, probe over search"].met is None
    limited = {"dataType": "DATA_TYPE_BF16", "clockLimitRatio": 0.875, "powerWatts": 690.2,
               "countedSmClockHertz": 1.4e9}
    assert targets.clock_limit_text(limited) == "bf16 87.5 %, 1400 MHz counted, 690 W"
    assert targets.clock_limit_text({"dataType": "DATA_TYPE_BF16"}) == "bf16 no clock told"


def check_refusals():
    good = {"fact": "refusal", "refused": True, "wall_seconds": 0.3, "used_rise_bytes": 0}
    for change, figure in (({"refused": False}, "a busy GPU refused"),
                           ({"wall_seconds": 0.6}, "time to refuse"),
                           ({"used_rise_bytes": 1 << 20}, "memory taken by a refusal")):
        assert not any(line.met is False for line in targets.refusal_lines([good]))
        assert by_figure(targets.refusal_lines([good, {**good, **change}]))[figure].met is False
    assert all(line.met is None for line in targets.refusal_lines([]))
    tenant = {"fact": "tenant", "came": True, "seconds": 1.2, "exit_code": 4, "reason": "busy",
              "stopped": True}
    assert targets.tenant_line([tenant]).met is True
    assert targets.tenant_line([{**tenant, "stopped": False, "exit_code": 0}]).met is False
    assert targets.tenant_line([{**tenant, "came": False}]).met is None


def check_pairs():
    ends = {"fact": "back_to_back", "first_exit_code": 0, "second_exit_code": 0,
            "pause_seconds": 0.01, "second_seconds": 4.5, "reason": ""}
    assert experiments.back_to_back_line([ends]).met is True
    refused = experiments.back_to_back_line([{**ends, "second_exit_code": 4, "reason": "busy"}])
    assert refused.met is False and "0 and 4 busy" in refused.measured, refused
    assert experiments.back_to_back_line([]).met is None
    run = {"seconds": 4, "exit_code": 0, "coverage_ratio": 1, "counts": {"matmuls bf16": 92},
           "missing": ""}
    both = {"fact": "cudnn", "with": {**run, "counts": {"attentions": 8, "matmuls bf16": 92}},
            "without": run}
    assert experiments.cudnn_line([both]).met is True
    starved = {**both, "with": {**run, "counts": {"attentions": 8, "matmuls bf16": 40}}}
    line = experiments.cudnn_line([starved])
    assert line.met is False and "lost: matmuls bf16: 40 of 92" in line.measured, line
    assert experiments.cudnn_line([{**both, "with": {"seconds": 1, "exit_code": 4}}]).met is False
    assert experiments.cudnn_line([{"fact": "cudnn", "skipped": "none"}]).met is None


def check_cold_runs():
    run = {"step": "cold", "cache": "empty", "wall_seconds": 4, "cache_files_before": 0,
           "cache_files_after": 0, "calibration": {}}
    figure = "kernels that the driver compiles from PTX at the first start"
    assert by_figure(experiments.cold_lines([run]))[figure].met is True
    assert by_figure(experiments.cold_lines([{**run, "cache_files_after": 2}]))[figure].met is False
    assert all(line.met is None for line in experiments.cold_lines([]))


def times_of(kernel, profiler, events, held, free):
    facts = [{"source": "profiler", "seconds": profiler}, {"source": "events", "seconds": events},
             {"source": "probe", "hold": "auto", "seconds": held},
             {"source": "probe", "hold": "never", "seconds": free}]
    return [{"fact": "kernel_time", "kernel": kernel, **fact} for fact in facts]


def check_kernel_times():
    def lines(facts):
        return list(experiments.kernel_lines(facts))
    good = times_of("bf16 1x1x1", 1e-4, 1.01e-4, 0.99e-4, 1.03e-4)
    assert [line.met for line in lines(good)] == [True, True, True], lines(good)
    assert "+4.0 to +4.0 %" in lines(good)[2].measured and "1.0 % with, 3.0 % without" \
        in lines(good)[2].measured, lines(good)[2]
    bad = times_of("fp8 1x1x1", 1e-4, 1.03e-4, 0.97e-4, 0.99e-4)
    assert [line.met for line in lines(bad)] == [False, False, False], lines(bad)
    assert "-3.0 % at fp8 1x1x1 (worst of 2)" in lines(good + bad)[0].measured
    useless = times_of("bf16 1x1x1", 1e-4, 1e-4, 1e-4, 1e-4)
    assert lines(useless)[2].met is False, "a hold that changes nothing"
    # Attention and copies are other kernels than the probe's, short ones have pauses in them.
    others = times_of("copy 1 MiB", 1e-4, 1e-4, 2e-4, 2e-4) + \
        times_of("bf16 2x2x2", 1e-5, 2e-5, 2e-5, 2e-5)
    assert [line.met for line in lines(good + others)] == [True, True, True]
    without = [{"fact": "hold", "supported": False, "reason": "no --hold"}]
    assert lines(good + without)[2].measured == "not measured: no --hold"
    assert [line.met for line in lines([])] == [None, None, None]


def check_gpm_line():
    device = simulated.calibration("quick")["device"]
    gpm = {"fact": "gpm", "readable": True, "tensor": 0.5, "sm": 1, "memory": 0.2,
           "sm_clock_hertz": 1e9, "work_flops_per_second": 4096 * 132 * 0.5e9}
    assert "by the work's own rate 50.0 %" in experiments.gpm_line([gpm], device).measured
    assert "own rate" not in experiments.gpm_line([gpm], {}).measured
    assert "no NVML" in experiments.gpm_line(
        [{"fact": "gpm", "readable": False, "reason": "no NVML"}], device).measured


def check_scores():
    def row(predicted, seen="0"):
        return {"kind": "gemm", "dtype": "bf16", "framework": "pytorch", "seconds": "1",
                "predicted_seconds": str(predicted), "low_seconds": "0.9", "high_seconds": "1.2",
                "source": "reference grid", "seen": seen}
    rows = [row(1.03)] * 9 + [row(0.5)] + [row(9, seen="1")] * 20
    lines = by_figure(targets.prediction_lines(rows))
    median = lines["prediction, bf16 multiplications, median error"]
    assert median.met is True and "3.0 %; of 10, 100.0 %" in median.measured, median
    assert lines["prediction, bf16 multiplications, p90 error"].met is True
    assert "reference" in lines["prediction, bf16 multiplications, p90 error"].measured
    lines = by_figure(targets.prediction_lines([row(1.05)] * 8 + [row(0.5)] * 2))
    assert not any(lines[f"prediction, bf16 multiplications, {which} error"].met
                   for which in ("median", "p90"))
    assert lines["prediction, fp8 multiplications, p90 error"].met is None
    attention = {**row(1.2), "kind": "attention", "kernel": "cudnn", "pass": "forward"}
    lines = by_figure(targets.prediction_lines([attention, {**attention, "kernel": "flash"}]))
    assert lines["prediction, attention forward by cudnn, p90 error"].met is False
    assert lines["prediction, attention forward by flash, p90 error"].met is None


def main():
    for check in (check_verdicts, check_copies, check_packed_sizes, check_phases, check_rates,
                  check_refusals, check_pairs, check_cold_runs, check_kernel_times,
                  check_gpm_line, check_scores):
        check()
    print("verdicts are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
