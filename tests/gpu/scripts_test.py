#!/usr/bin/python3
"""What the scripts of a GPU validation work out: statistics, lists of shapes, verdicts, rows."""

import csv
import ctypes
import importlib
import os
import statistics
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SHARED = os.environ.get("SEXTANT_SHARED_DIR", os.path.join(ROOT, "..", "shared"))
sys.path.insert(0, HERE)

import kernel_tests  # noqa: E402
import libraries  # noqa: E402
import made_calibration as made  # noqa: E402
import nvml  # noqa: E402
import probe  # noqa: E402
import results  # noqa: E402
import scores  # noqa: E402
import shapes  # noqa: E402
import targets  # noqa: E402
from training_plan import PLAN, SHAPES  # noqa: E402
from training_rows import COLUMNS, PRECISIONS  # noqa: E402


def raises(call, kind=ValueError):
    try:
        call()
    except kind:
        return True
    return False


def check_statistics():
    assert results.quantile([4, 1, 3, 2], 0.5) == 2.5
    assert results.quantile(range(11), 0.9) == 9 and results.quantile([7], 0.9) == 7
    cells = results.summary_of([3.0, 1.0, 2.0])
    assert cells["seconds"] == 2 and cells["sample_count"] == 3 and cells["p10_seconds"] == 1.2
    for bad in ([], [1.0, float("nan")], [0.0], [-1.0], [float("inf")]):
        assert raises(lambda bad=bad: results.summary_of(bad)), bad
    assert abs(results.range_over_median([99, 100, 103]) - 0.04) < 1e-12
    now = [0.0]
    limit = results.TimeLimit(5, clock=lambda: now[0])
    now[0] = 4
    assert limit.left() == 1 and not limit.over()
    now[0] = 5
    assert limit.over()


def check_files():
    with tempfile.TemporaryDirectory() as folder:
        facts, table = os.path.join(folder, "f"), os.path.join(folder, "t")
        assert results.read_facts(facts) == [] and results.read_table(table) == []
        results.add_fact(facts, "a", x=1)
        results.add_fact(facts, "b", kind="y")
        assert results.read_facts(facts, "b") == [{"fact": "b", "kind": "y"}]
        rows = results.Table(table, ["one", "two", "three"])
        rows.add(one=0.1, three="a, b")
        # On the disk at once, for a step may be killed.
        assert results.read_table(table) == [{"one": "0.1", "two": "", "three": "a, b"}]
        assert raises(lambda: rows.add(four=1))


def check_shapes():
    unseen = shapes.unseen_gemms()
    assert unseen == shapes.unseen_gemms() and len(set(unseen)) == len(unseen) == 200
    for m, n, k in unseen:
        assert 1 <= m <= 8192 and all(1024 <= s <= 16384 and s % 64 == 0 for s in (n, k)), (m, n, k)
    assert statistics.median(m for m, _, _ in unseen) < 300, "rows are spread by their logarithm"
    assert sum((n, k) in shapes.MODEL_WEIGHTS for _, n, k in unseen) >= 40
    assert not set(unseen) & set(made.ANCHORS), "anchors are measured by every calibration"
    found = list(shapes.search_candidates(lambda: (8192, 8192, 8192)))
    assert found[:2] == shapes.SEARCH_STARTS[:2] and len(set(found)) == len(found) > 1000
    assert all(2 * m * n * k <= shapes.MOST_SEARCH_FLOPS for m, n, k in found)
    attention = shapes.attention_shapes()
    assert len({tuple(s.values()) for s in attention}) == len(attention) == 32
    assert all(s["heads"] % s["kv_heads"] == 0 for s in attention)
    one = {"batch": 1, "seq_len": 2, "heads": 1, "kv_heads": 1, "head_dim": 8, "causal": 1}
    assert shapes.attention_flops(one, False) == 4 * 8 * 3
    assert shapes.attention_flops({**one, "causal": 0}, True) == 2.5 * 4 * 8 * 4


def check_training_plan():
    assert len(set(PLAN)) == len(PLAN)
    for job in PLAN:
        shape = SHAPES[job.model]
        assert job.precision in PRECISIONS and job.sequence <= shape.most_positions
        assert shape.hidden % shape.heads == 0 and shape.heads % shape.kv_heads == 0
    for size in ("125m", "350m", "1.3b"):
        for family in ("gpt2", "llama"):
            assert any(job.model == f"{family}-{size}" for job in PLAN), (family, size)
    path = os.path.join(SHARED, "data", "measured_runs.csv")
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == COLUMNS


def run_of(mode, wall=1.0, **changes):
    return {"mode": mode, "wall_seconds": wall, "calibration": made.calibration(mode, **changes),
            "json_bytes": 30_000, "gzip_bytes": 9_000, "used_rise_bytes": 3 << 30}


def by_figure(lines):
    return {line.figure: line for line in lines}


def check_verdicts():
    runs = [run_of("standard", 4.0), run_of("standard", 5.5, slowness=1.04),
            run_of("standard", 4.1), {"mode": "standard", "wall_seconds": 9, "failure": {}}]
    times = by_figure(targets.time_lines(runs))
    assert times["wall time, standard"].met is False
    assert times["wall time, standard"].measured == "5.50 s (worst of 3)"
    assert times["wall time, full"] == targets.Line("wall time, full", "<= 30.00 s",
                                                    targets.NOT_MEASURED, None)
    repeats = by_figure(targets.repeat_lines(runs))
    assert repeats["run to run, bf16 sustained, standard"].met is False
    assert repeats["run to run, copy, standard"].met is True
    assert repeats["run to run, best bf16 burst, quick"].met is None
    sizes = by_figure(targets.size_lines(runs))
    assert sizes["calibration, standard, JSON"].met is False
    assert sizes["calibration, standard, JSON packed by gzip"].met is True
    memory = by_figure(targets.memory_lines(runs))
    assert memory["device memory that the probe held, by its own count"].met is True
    runs[0]["calibration"]["conditions"]["peak_allocated_bytes"] = str(3 << 30)
    memory = by_figure(targets.memory_lines(runs))
    assert memory["device memory that the probe held, by its own count"].met is False
    # 4.2 of 4.8 TB/s.
    copies = by_figure(targets.copy_lines(runs, []))
    assert copies["copy in the GPU's memory, over the datasheet"].measured == "87.5 %"
    assert copies["copy in the GPU's memory, over the datasheet"].met is False


def check_rates():
    burst = probe.best_burst(made.calibration("full"), "bf16")
    assert burst == max(2 * m * n * k / made.matmul_law("DATA_TYPE_BF16", m, n, k)
                        for m, n, k in made.ANCHORS + [(8192, 8192, 8192)])
    calibration = made.calibration("full")
    calibration["matmuls"].append(made.matmul("DATA_TYPE_BF16", 64, 64, 64, 1e-3, requested=True))
    assert probe.best_burst(calibration, "bf16") == burst, "what was asked for is no search"
    calibration["matmuls"][0]["best_flops_per_second"] = 2 * burst
    assert probe.best_of_any_kernel(calibration, "bf16") == 2 * burst
    for share, met in ((0.96, False), (0.98, True)):
        rows = [{"kind": "search", "dtype": "bf16", "flops_per_second": str(burst / share)}]
        lines = by_figure(targets.rate_lines([run_of("full")], rows))
        assert lines["best bf16, probe over search"].met is met
    assert by_figure(targets.rate_lines([], []))["best bf16, probe over search"].met is None


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


def check_scores():
    def row(predicted, seen="0"):
        return {"kind": "gemm", "dtype": "bf16", "framework": "pytorch", "seconds": "1",
                "predicted_seconds": str(predicted), "low_seconds": "0.9", "high_seconds": "1.2",
                "source": "reference grid", "seen": seen}
    rows = [row(1.03)] * 9 + [row(0.5)] + [row(9, seen="1")] * 20
    lines = by_figure(scores.prediction_lines(rows))
    median = lines["prediction, bf16 multiplications, median error"]
    assert median.met is True and "3.0 % of 10, 100.0 %" in median.measured, median
    assert lines["prediction, bf16 multiplications, p90 error"].met is True
    assert "reference" in lines["prediction, bf16 multiplications, p90 error"].measured
    lines = by_figure(scores.prediction_lines([row(1.05)] * 8 + [row(0.5)] * 2))
    assert not any(lines[f"prediction, bf16 multiplications, {which} error"].met
                   for which in ("median", "p90"))
    assert lines["prediction, fp8 multiplications, p90 error"].met is None


class MadeNvml:
    """NVML's functions as ctypes would call them."""

    def __init__(self, tensor=83.0, status=0, supported=1):
        self.tensor, self.status, self.supported, self.live = tensor, status, supported, 0

    def nvmlGpmQueryDeviceSupport(self, _, support):
        support._obj.supported = self.supported
        return 0

    def nvmlGpmSampleAlloc(self, sample):
        self.live += 1
        sample._obj.value = 4096 + self.live
        return 0

    def nvmlGpmSampleGet(self, _, sample):
        return 0 if sample.value else 2

    def nvmlGpmSampleFree(self, _):
        self.live -= 1
        return 0

    def nvmlGpmMetricsGet(self, query):
        asked = query._obj
        assert (asked.version, asked.count, asked.second - asked.first) == (1, 3, 1)
        values = {nvml.GPM_SM: 97.0, nvml.GPM_TENSOR: self.tensor, nvml.GPM_DRAM: 41.0}
        for at in range(asked.count):
            metric = asked.metrics[at]
            metric.value, metric.status = values[metric.metric], self.status
        return 0


def check_gpm():
    nvml.GPM_PAUSE_SECONDS = 0
    # As a C compiler lays them out on 64 bits.
    assert ctypes.sizeof(nvml.Memory2) == 40 and ctypes.sizeof(nvml.GpmMetric) == 40
    assert nvml.GpmQuery.metrics.offset == 24
    gpu = nvml.Gpu.__new__(nvml.Gpu)
    gpu._device = None
    gpu._library = made_nvml = MadeNvml()
    assert gpu.gpm_ratios() == {"sm": 0.97, "tensor": 0.83, "memory": 0.41}
    assert made_nvml.live == 0
    for faulty in (MadeNvml(tensor=float("nan")), MadeNvml(status=3), MadeNvml(supported=0)):
        gpu._library = faulty
        assert raises(gpu.gpm_ratios, nvml.NvmlFault) and faulty.live == 0
    assert raises(gpu.busy_percent, nvml.NvmlFault), "an NVML that lacks a function"


def check_library_folders():
    with tempfile.TemporaryDirectory() as folder:
        for path in ("nvidia/cublas/lib", "nvidia/cu13/lib", "nvidia/cudnn/include", "torch/lib"):
            os.makedirs(os.path.join(folder, path))
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            found = libraries.library_folders()
            path = libraries.environment()["LD_LIBRARY_PATH"]
        finally:
            sys.path.remove(folder)
        assert found[:3] == [os.path.join(folder, p) for p in
                             ("nvidia/cu13/lib", "nvidia/cublas/lib", "torch/lib")], found
        told = os.environ.get("LD_LIBRARY_PATH", "")
        assert path.startswith(told) and path.endswith(os.pathsep.join(found)), path


def check_test_counts():
    output = ("[  PASSED  ] 11 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.B\n"
              "[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.C\n"
              "[  FAILED  ] D/E.F/0, where GetParam() = 3\n")
    counts = kernel_tests.counts_of(output)
    assert (counts["passed"], counts["skipped"], counts["failed"]) == (11, 1, 2), counts
    assert counts["failed_tests"] == ["A.C", "D/E.F/0"], counts
    assert kernel_tests.counts_of("")["passed"] == 0


def main():
    for check in (check_statistics, check_files, check_shapes, check_training_plan, check_verdicts,
                  check_rates, check_refusals, check_scores, check_gpm, check_library_folders,
                  check_test_counts):
        check()
    print("statistics, shapes, rows and verdicts are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
