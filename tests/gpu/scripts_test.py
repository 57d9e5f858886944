#!/usr/bin/python3
"""What the scripts of a GPU validation compute: statistics, files, lists of shapes, what they read
of NVML, of the loader's folders and of GoogleTest."""

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

import experiments  # noqa: E402
import kernel_tests  # noqa: E402
import libraries  # noqa: E402
import nvml  # noqa: E402
import results  # noqa: E402
import shapes  # noqa: E402
import simulated_calibration as simulated  # noqa: E402
from training_plan import COLUMNS, PLAN, PRECISIONS, SHAPES  # noqa: E402


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
        first = {"one": "0.1", "two": "", "three": "a, b"}
        assert results.read_table(table) == [first]
        assert raises(lambda: rows.add(four=1))
        # A later step adds to it.
        results.Table(table, ["one", "two", "three"]).add(two=2)
        assert results.read_table(table) == [first, {"one": "", "two": "2", "three": ""}]


def check_shapes():
    unseen = shapes.unseen_matmuls()
    assert unseen == shapes.unseen_matmuls() and len(set(unseen)) == len(unseen) == 200
    for m, n, k in unseen:
        assert 1 <= m <= 8192 and all(1024 <= s <= 16384 and s % 64 == 0 for s in (n, k)), (m, n, k)
    assert statistics.median(m for m, _, _ in unseen) < 300, "rows are spread by their logarithm"
    assert sum((n, k) in shapes.MODEL_WEIGHTS for _, n, k in unseen) >= 40
    assert not set(unseen) & set(simulated.ANCHORS), "anchors are measured by every calibration"
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
    assert any(job.compiled for job in PLAN) and any(job.model == "llama-7b" and job.recompute
                                                     for job in PLAN)
    path = os.path.join(SHARED, "data", "measured_runs.csv")
    if os.path.exists(path):
        with open(path, encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == COLUMNS


class FakeNvml:
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


    def nvmlDeviceGetPowerUsage(self, _, milliwatts):
        milliwatts._obj.value = 650_000
        return 0

    def nvmlDeviceGetMigMode(self, _, current, pending):
        current._obj.value, pending._obj.value = 0, 1
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, _, count, entries):
        if not entries:
            count._obj.value = 2
            return nvml.INSUFFICIENT_SIZE
        assert count._obj.value == nvml.MOST_PROCESSES
        entries[0], entries[1] = nvml.Process(pid=7, used=1 << 30), nvml.Process(pid=9, used=5)
        count._obj.value = 2
        return 0


def check_state():
    gpu = nvml.Gpu.__new__(nvml.Gpu)
    gpu._device, gpu._library = None, FakeNvml()
    state = gpu.state()
    assert state["power_milliwatts"] == 650_000 and state["mig_mode"] == [0, 1], state
    assert state["processes"] == [{"pid": 7, "used_bytes": 1 << 30}, {"pid": 9, "used_bytes": 5}]
    assert "nvmlDeviceGetMemoryInfo_v2" in state["untold"]["used_bytes"]
    assert "temperature_celsius" not in state, "what is not told is absent"
    took = gpu.latencies(calls=3)
    assert took["processes"]["count"] == 3 and "untold" in took["energy_millijoules"], took
    assert took["mig_mode"]["maximum_seconds"] >= took["mig_mode"]["median_seconds"] > 0
    assert "| mig_mode | [0, 1] |" in experiments.nvml_tables(
        [{"fact": "nvml", "when": "idle", "readable": True, "state": state, "latencies": took}])
    assert ctypes.sizeof(nvml.Process) == 24  # as a C compiler lays it out on 64 bits


def check_gpm():
    nvml.GPM_PAUSE_SECONDS = 0
    # As a C compiler lays them out on 64 bits.
    assert ctypes.sizeof(nvml.Memory2) == 40 and ctypes.sizeof(nvml.GpmMetric) == 40
    assert nvml.GpmQuery.metrics.offset == 24
    gpu = nvml.Gpu.__new__(nvml.Gpu)
    gpu._device = None
    gpu._library = fake = FakeNvml()
    assert gpu.gpm_ratios() == {"sm": 0.97, "tensor": 0.83, "memory": 0.41}
    assert fake.live == 0
    for faulty in (FakeNvml(tensor=float("nan")), FakeNvml(status=3), FakeNvml(supported=0)):
        gpu._library = faulty
        assert raises(gpu.gpm_ratios, nvml.NvmlFault) and faulty.live == 0
    assert raises(gpu.busy_percent, nvml.NvmlFault), "an NVML that lacks a function"


def check_library_folders():
    with tempfile.TemporaryDirectory() as folder:
        for path in ("nvidia/cublas/lib", "nvidia/cu13/lib", "nvidia/cudnn/include", "torch/lib"):
            os.makedirs(os.path.join(folder, path))
        # That folder alone: the host may have PyTorch, or packages of NVIDIA's.
        installed, sys.path[:] = list(sys.path), [folder]
        importlib.invalidate_caches()
        try:
            found = libraries.library_folders()
            path = libraries.environment()["LD_LIBRARY_PATH"]
        finally:
            sys.path[:] = installed
        assert found[:3] == [os.path.join(folder, p) for p in
                             ("nvidia/cu13/lib", "nvidia/cublas/lib", "torch/lib")], found
        told = os.environ.get("LD_LIBRARY_PATH", "")
        assert path.startswith(told) and path.endswith(os.pathsep.join(found)), path
        check_links(os.path.join(folder, "there"), os.path.join(folder, "links"))


def check_links(there, links):
    """cuBLASLt alone is linked to, from where it is found."""
    os.mkdir(there)
    os.mkdir(links)
    for name in ("libcublasLt.so.13", "libcudnn.so.9"):
        with open(os.path.join(there, name), "w", encoding="utf-8"):
            pass
    before = os.environ.get("LD_LIBRARY_PATH")
    os.environ["LD_LIBRARY_PATH"] = there
    try:
        assert libraries.link_cublaslt(links) >= 1
    finally:
        del os.environ["LD_LIBRARY_PATH"]
        if before is not None:
            os.environ["LD_LIBRARY_PATH"] = before
    assert os.path.samefile(os.path.join(links, "libcublasLt.so.13"),
                            os.path.join(there, "libcublasLt.so.13"))
    assert not any("cudnn" in name for name in os.listdir(links)), os.listdir(links)


def check_test_counts():
    output = ("[  PASSED  ] 11 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.B\n"
              "[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.C\n"
              "[  FAILED  ] D/E.F/0, where GetParam() = 3\n")
    counts = kernel_tests.counts_of(output)
    assert (counts["passed"], counts["skipped"], counts["failed"]) == (11, 1, 2), counts
    assert counts["failed_tests"] == ["A.C", "D/E.F/0"], counts
    assert kernel_tests.counts_of("")["passed"] == 0
    skipping = ("[ RUN      ] A.A\n[       OK ] A.A (1 ms)\n[ RUN      ] A.B\n"
                "a/b.cc:7: Skipped\none GPU is not\ntwo\n\n[  SKIPPED ] A.B (0 ms)\n")
    assert kernel_tests.counts_of(skipping)["skipped_tests"] == {"A.B": "one GPU is not\ntwo"}
    for passed, skipped, met in ((5, 5, True), (4, 5, False), (0, 0, False)):
        counts = {"passed": passed, "skipped": skipped}
        assert kernel_tests.is_success(0, counts) is met, counts
        assert not kernel_tests.is_success(1, counts)


def main():
    for check in (check_statistics, check_files, check_shapes, check_training_plan, check_state,
                  check_gpm, check_library_folders, check_test_counts):
        check()
    print("statistics, files, shapes and readings are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
