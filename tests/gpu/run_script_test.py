#!/usr/bin/python3
"""tests/gpu/run.sh where there is no GPU: with a PyTorch and a probe of a simulated GPU, and with
the real probe on a fake driver."""

import os
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
FAKE_DRIVER = os.path.join(BIN, "fake_cuda_driver")
sys.path.insert(0, HERE)

from probe import read_runs  # noqa: E402
from results import read_facts, read_table  # noqa: E402
from training_plan import COLUMNS, PLAN  # noqa: E402

FILES = {"facts.jsonl", "log.txt", "probes.jsonl", "matmul.csv", "unseen_gemms.csv",
         "attention.csv", "training_steps.csv", "summary.md"}
STEPS = ["cold", "kernel_tests", "probes", "back_to_back", "busy", "kernel_times", "cudnn",
         "copies", "matmul", "unseen", "training", "search"]
PASSING = "echo '[  PASSED  ] 5 tests.'"
FAILING = ("echo '[  PASSED  ] 4 tests.'; echo '[  FAILED  ] 1 test, listed below:';"
           "echo '[  FAILED  ] MatmulGpuTest.Bf16'; exit 1")
SKIPPING = ("echo '[ RUN      ] A.B'; echo 'a.cc:1: Skipped'; echo 'no GPU is free';"
            "echo '[  SKIPPED ] A.B (0 ms)'; echo '[  PASSED  ] 2 tests.';"
            "echo '[  SKIPPED ] 3 tests, listed below:'")


def write_program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


class Machine:
    """A folder with programs, and runs of the script with them."""

    def __init__(self, folder, gpu_tests=PASSING):
        self.bin, self.out = os.path.join(folder, "bin"), os.path.join(folder, "out")
        self.busy, self.calls = os.path.join(folder, "busy"), os.path.join(folder, "calls")
        # Where the loader looks: something under the name of cuBLASLt.
        self.libraries = os.path.join(folder, "libraries")
        os.mkdir(self.bin)
        os.mkdir(self.libraries)
        for name in ("libcublasLt.so.13", "libcudnn.so.9"):
            write_program(os.path.join(self.libraries, name), "")
        write_program(os.path.join(self.bin, "sextant-probe"),
                      f"#!/bin/sh\nexec {sys.executable} {HERE}/fake_probe.py \"$@\"\n")
        write_program(os.path.join(self.bin, "gpu_tests"), f"#!/bin/sh\n{gpu_tests}\n")

    def run(self, *arguments, **environment):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("OUT", "SEXTANT_BIN", "CUDA_CACHE_PATH")}
        return subprocess.run(
            [os.path.join(HERE, "run.sh"), *arguments], capture_output=True, text=True,
            env={**kept, "SEXTANT_BIN": self.bin, "PYTHON": sys.executable,
                 "PYTHONPATH": os.path.join(HERE, "fake_torch"), "SEXTANT_FAKE_BUSY": self.busy,
                 "SEXTANT_FAKE_CALLS": self.calls, "LD_LIBRARY_PATH": self.libraries,
                 **environment}, timeout=200, check=False)

    def facts(self, name):
        return read_facts(os.path.join(self.out, "facts.jsonl"), name)

    def runs(self, step):
        return read_runs(os.path.join(self.out, "probes.jsonl"), step)

    def steps(self):
        return {fact["name"]: fact for fact in self.facts("step")}

    def table(self, name):
        return read_table(os.path.join(self.out, name))

    def log(self):
        with open(os.path.join(self.out, "log.txt"), encoding="utf-8") as file:
            return file.read()


def check_everything(folder):
    machine = Machine(folder)
    done = machine.run(machine.out)
    assert done.returncode == 0, done.stdout + done.stderr + machine.log()
    assert set(os.listdir(machine.out)) == FILES
    assert all(step["outcome"] == "ok" for step in machine.steps().values()), machine.steps()
    assert list(machine.steps()) == STEPS
    matmuls = machine.table("unseen_gemms.csv")
    for dtype, framework, count in (("bf16", "pytorch", 200), ("fp8", "pytorch", 200),
                                    ("bf16", "sextant-probe", 48)):
        rows = [r for r in matmuls if (r["dtype"], r["framework"]) == (dtype, framework)]
        assert len(rows) == count, (dtype, framework, len(rows))
    passes = {(r["kernel"], r["pass"]) for r in machine.table("attention.csv")}
    assert passes == {(k, p) for k in ("cudnn", "flash") for p in ("forward", "backward")}
    kinds = {(r["kind"], r["dtype"]) for r in machine.table("matmul.csv")}
    assert kinds == {(k, d) for k in ("same_shape", "search", "sustained")
                     for d in ("bf16", "fp8")}, kinds
    rows = machine.table("training_steps.csv")
    assert len(rows) == len(PLAN) and list(rows[0]) == COLUMNS
    assert abs(float(rows[0]["step_time_s"]) - 0.035) < 1e-6 and rows[0]["gpu_key"] == "h200-sxm"
    assert "allocated 3221225472 bytes, reserved 4294967296" in rows[0]["peak_mem_as_published"]
    assert {r["oom"] for r in rows} == {"True", "False"}
    assert {r["framework"].rpartition(", ")[2] for r in rows} == {"eager", "torch.compile"}
    with open(os.path.join(machine.out, "summary.md"), encoding="utf-8") as file:
        assert done.stdout.endswith(file.read()), done.stdout
    check_runs(machine)
    for line in ("| wall time, standard | <= 5.00 s |",
                 "| a busy GPU refused | every time | 5 of 5",
                 "| work that comes while it measures | the probe stops | stopped after",
                 "| prediction, bf16 multiplications, median error | <= 4.0 % | not measured: "
                 "predicted at home",
                 "| kernels that the driver compiles from PTX at the first start | <= 0 | 1 | "
                 "OTHERWISE |", "both measure | exit codes 0 and 0",
                 "| +3.0 to +3.0 %; off the profiler", "GPM under load",
                 "| matmul bf16 | 1.25 |", "NVML told nothing.", "\nCommit "):
        assert line in done.stdout, (line, done.stdout)
    return machine


def check_runs(machine):
    """All runs of the probe are kept, with all their events; nothing asks it anything before the
    cold one."""
    with open(machine.calls, encoding="utf-8") as file:
        first, second = file.read().splitlines()[:2]
    assert "--mode=standard" in first and "--list" in second, (first, second)
    runs = machine.runs(None)
    assert [run["step"] for run in runs[:2]] == ["cold", "cold"], runs[:2]
    counts = {step: len(machine.runs(step)) for step in STEPS}
    assert counts == {**dict.fromkeys(STEPS, 0), "cold": 2, "probes": 11, "back_to_back": 2,
                      "busy": 6, "kernel_times": 4, "cudnn": 2, "unseen": 3}, counts
    for run in runs:
        seen = [event["phase"] for event in run["progress"]]
        assert seen[0] == "load" and all(e["arrived_seconds"] > 0 for e in run["progress"])
        assert ("calibration" not in run or
                seen == ["load", "start", "matmul bf16", "matmul bf16", "memory", "matmul bf16"])
    lost = machine.facts("cudnn")[0]
    assert "attentions bf16" in lost["with"]["counts"], lost
    assert "attentions bf16" not in lost["without"]["counts"], lost
    sources = {(f["source"], f.get("hold")) for f in machine.facts("kernel_time")}
    assert sources == {("probe", "auto"), ("probe", "never"), ("probe", None), ("events", None),
                       ("profiler", None)}, sources
    assert len({f["kernel"] for f in machine.facts("kernel_time")}) == 6
    assert all(f["work_flops_per_second"] > 0 for f in machine.facts("gpm") if f["readable"])
    assert {f["dtype"]: f["shape_count"] > 100 for f in machine.facts("search")} == {
        "bf16": True, "fp8": True}


def check_predictions(machine):
    program = os.path.join(ROOT, "tests", "validation", "predict_kernels.py")
    if not os.path.exists(os.path.join(BIN, "sextantd")):
        print("without predictions: there is no sextantd")
        return
    done = subprocess.run([sys.executable, os.path.join(HERE, "summarise.py"), machine.out,
                           f"--predict={program}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| prediction, bf16 multiplications timed by the probe, median error |  | 0." \
        in done.stdout, done.stdout
    assert "| prediction, attention backward by cudnn, p90 error | <= 10.0 % |" in done.stdout
    with open(os.path.join(machine.out, "probes.jsonl"), "w", encoding="utf-8"):
        pass
    done = subprocess.run([sys.executable, os.path.join(HERE, "summarise.py"), machine.out,
                           f"--predict={program}", "--mode=standard"], capture_output=True,
                          text=True, check=False)
    assert done.returncode == 1 and "no standard run" in done.stderr, done.stderr


def check_failures(folder):
    """A failing step does not keep the others from being done."""
    machine = Machine(folder, FAILING)
    done = machine.run("--steps=kernel_tests,probes,copies", machine.out,
                       SEXTANT_FAKE_FAILS="quick")
    assert done.returncode == 1, done.stdout
    outcomes = {name: step["outcome"] for name, step in machine.steps().items()}
    assert outcomes == {"kernel_tests": "failed", "probes": "failed", "copies": "ok"}, outcomes
    assert "4 passed, 1 failed" in done.stdout and "| kernel_tests | failed |" in done.stdout
    assert "not measured: busy was not among the steps" in done.stdout, done.stdout
    assert "quick: exit code 5, KIND_MISMATCH matmul: wrong results" in done.stdout, done.stdout
    assert machine.facts("kernel_tests")[0]["failed_tests"] == ["MatmulGpuTest.Bf16"]


def check_more_skipped_than_passed_is_no_success(folder):
    machine = Machine(folder, SKIPPING)
    done = machine.run("--steps=kernel_tests", machine.out)
    assert done.returncode == 1, done.stdout
    assert "| skipped: A.B |  | no GPU is free |" in done.stdout, done.stdout


def check_a_probe_without_hold(folder):
    machine = Machine(folder)
    done = machine.run("--steps=kernel_times", machine.out, SEXTANT_FAKE_OLD="1")
    assert done.returncode == 0, done.stdout
    assert "not measured: this sextant-probe has no --hold" in done.stdout, done.stdout
    assert "kernel times of multiplications, probe against the profiler | within" in done.stdout
    assert len(machine.runs("kernel_times")) == 2


def check_a_gpu_that_is_not_refused(folder):
    machine = Machine(folder)
    done = machine.run("--steps=busy", machine.out, SEXTANT_FAKE_BLIND="1")
    assert done.returncode == 1 and "0 of 5" in done.stdout, done.stdout
    assert "the probe stops | exit code 0" in done.stdout, done.stdout


def check_tests_that_hang(folder):
    """What hangs is ended, what then does not fit is skipped, and both are told."""
    machine = Machine(folder, "exec sleep 100")
    done = machine.run("--steps=kernel_tests,copies", machine.out, SEXTANT_GPU_BUDGET="15")
    outcomes = {name: step["outcome"] for name, step in machine.steps().items()}
    assert done.returncode == 1, done.stdout
    # By itself, or on a slow host by the script.
    assert outcomes.pop("kernel_tests") in ("failed", "timed out"), done.stdout
    assert outcomes == {"copies": "skipped"}, outcomes


def check_a_step_that_hangs(folder):
    machine = Machine(folder)
    with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
        file.write("import time\ntime.sleep(100)\n")
    done = machine.run("--steps=copies", machine.out, SEXTANT_GPU_BUDGET="15", PYTHONPATH=folder)
    assert done.returncode == 1 and "copies: timed out" in done.stdout, done.stdout
    done = machine.run("--steps=training", machine.out, SEXTANT_GPU_BUDGET="20")
    assert done.returncode == 3 and "left of 20, and it needs 40" in done.stdout, done.stdout


def check_usage(folder):
    machine = Machine(folder)
    for arguments, environment in (((), {}), (("--steps=other", machine.out), {}),
                                   (("--what", machine.out), {}),
                                   ((machine.out,), {"SEXTANT_GPU_BUDGET": "soon"}),
                                   ((machine.out,), {"PYTHON": "/no/python"}),
                                   ((machine.out,), {"SEXTANT_BIN": folder})):
        done = machine.run(*arguments, **environment)
        assert done.returncode == 2 and "usage" in done.stderr, (arguments, done.stderr)
    assert not os.path.exists(machine.out)


def check_carrying(folder):
    """Both programs travel, without what they don't need to run."""
    carry, there = os.path.join(HERE, "carry.sh"), os.path.join(folder, "there")
    done = subprocess.run([carry, BIN, there], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    commit = os.path.join(there, "commit.jsonl")
    if os.path.exists(os.path.join(ROOT, ".git")):
        assert len(read_facts(commit, "commit")[0]["commit"]) == 40, done.stderr
    assert set(os.listdir(there)) - {"commit.jsonl"} == {"gpu_tests", "sextant-probe"}
    for program in ("gpu_tests", "sextant-probe"):
        sizes = [os.path.getsize(os.path.join(f, program)) for f in (there, BIN)]
        assert 0 < sizes[0] <= sizes[1] and sizes[0] < 32 << 20, (program, sizes)
    done = subprocess.run([carry, folder, there], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "cmake --build" in done.stderr, done.stderr


def check_no_torch(folder):
    machine = Machine(folder)
    with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
        file.write("raise ImportError('none here')\n")
    done = machine.run("--steps=copies", machine.out, PYTHONPATH=folder)
    assert done.returncode == 1 and "no PyTorch: none here" in done.stdout, done.stdout


def fake_driver_loads():
    """Python can't load it where it is built with a sanitizer."""
    load = "import ctypes; ctypes.CDLL('libnvidia-ml.so.1')"
    return subprocess.run([sys.executable, "-c", load], capture_output=True, check=False,
                          env={**os.environ, "LD_LIBRARY_PATH": FAKE_DRIVER}).returncode == 0


def check_the_real_probe(folder):
    """On a fake driver whose first GPU is busy: refused, and its memory watched through NVML."""
    if os.path.exists("/proc/driver/nvidia/version") or not fake_driver_loads():
        print("without the real probe: there is a real driver, or no fake one that can be loaded")
        return
    machine = Machine(folder)
    os.remove(os.path.join(machine.bin, "sextant-probe"))
    os.symlink(os.path.join(BIN, "sextant-probe"), os.path.join(machine.bin, "sextant-probe"))
    fake = {"LD_LIBRARY_PATH": FAKE_DRIVER, "SEXTANT_LOCK_FOLDER": folder}
    done = machine.run("--steps=busy", machine.out, SEXTANT_FAKE_GPU="busy", **fake)
    assert done.returncode == 0, done.stdout + machine.log()
    refusals = machine.facts("refusal")
    assert len(refusals) == 5 and all(r["reason"] == "busy" for r in refusals), refusals
    assert any(r["used_readings"] > 0 for r in refusals), refusals
    assert all(r["used_rise_bytes"] == (0 if r["used_readings"] else None) for r in refusals)
    gpm = machine.facts("gpm")[0]
    assert gpm["readable"] and (gpm["sm"], gpm["tensor"], gpm["memory"]) == (0.75, 0.5, 0.25), gpm
    states = {fact["when"]: fact for fact in machine.facts("nvml")}
    assert set(states) == {"under load", "after"} and all(f["readable"] for f in states.values())
    assert states["under load"]["latencies"]["memory"]["median_seconds"] > 0, states
    assert "| NVML | under load | after |" in done.stdout, done.stdout
    output = os.path.join(machine.out, "probes.jsonl")
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "probe_runs.py"), "--seconds=8", f"--probes={output}",
         f"--probe={machine.bin}/sextant-probe", f"--facts={machine.out}/facts.jsonl"],
        env={**os.environ, **fake, "SEXTANT_FAKE_GPU": ""}, capture_output=True, text=True,
        check=False)
    runs = machine.runs("probes")
    assert runs and all(run["idle_before"] and run["used_readings"] > 0 for run in runs), runs
    assert done.returncode == (1 if any("failure" in run for run in runs) else 0), done.stdout


def check_all_steps(folder):
    check_predictions(check_everything(folder))


CHECKS = (check_all_steps, check_the_real_probe, check_a_gpu_that_is_not_refused,
          check_tests_that_hang, check_a_step_that_hangs, check_failures,
          check_more_skipped_than_passed_is_no_success, check_a_probe_without_hold, check_usage,
          check_carrying, check_no_torch)


def in_a_folder(check):
    with tempfile.TemporaryDirectory() as folder:
        check(folder)


def main():
    # They wait most of the time.
    with ThreadPoolExecutor(max_workers=4) as pool:
        for done in [pool.submit(in_a_folder, check) for check in CHECKS]:
            done.result()
    print("the script does its steps, and tells which failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
