#!/usr/bin/python3
"""tests/gpu/run.sh where there is no GPU: with a PyTorch and a probe that pretend to have one, and
with the real probe on a fake driver."""

import json
import os
import stat
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
FAKE_DRIVER = os.path.join(BIN, "fake_cuda_driver")
sys.path.insert(0, HERE)

from results import read_facts, read_table  # noqa: E402
from training_plan import PLAN  # noqa: E402
from training_rows import COLUMNS  # noqa: E402

FILES = {"facts.jsonl", "log.txt", "probes.jsonl", "matmul.csv", "unseen_gemms.csv",
         "attention.csv", "training_steps.csv", "summary.md"}
PASSING = "echo '[  PASSED  ] 5 tests.'"
FAILING = ("echo '[  PASSED  ] 4 tests.'; echo '[  FAILED  ] 1 test, listed below:';"
           "echo '[  FAILED  ] MatmulGpuTest.Bf16'; exit 1")
SKIPPING = "echo '[  PASSED  ] 0 tests.'; echo '[  SKIPPED ] 5 tests, listed below:'"


def write_program(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


class Machine:
    """A folder with programs, and runs of the script with them."""

    def __init__(self, folder, gpu_tests=PASSING):
        self.bin, self.out = os.path.join(folder, "bin"), os.path.join(folder, "out")
        self.busy = os.path.join(folder, "busy")
        os.mkdir(self.bin)
        write_program(os.path.join(self.bin, "sextant-probe"),
                      f"#!/bin/sh\nexec {sys.executable} {HERE}/fake_probe.py \"$@\"\n")
        write_program(os.path.join(self.bin, "gpu_tests"), f"#!/bin/sh\n{gpu_tests}\n")

    def run(self, *arguments, **environment):
        kept = {name: value for name, value in os.environ.items()
                if name not in ("OUT", "SEXTANT_BIN", "LD_LIBRARY_PATH")}
        return subprocess.run(
            [os.path.join(HERE, "run.sh"), *arguments], capture_output=True, text=True,
            env={**kept, "SEXTANT_BIN": self.bin, "PYTHON": sys.executable,
                 "PYTHONPATH": os.path.join(HERE, "fake_torch"), "SEXTANT_FAKE_BUSY": self.busy,
                 **environment}, timeout=200, check=False)

    def steps(self):
        return {fact["name"]: fact for fact in read_facts(os.path.join(self.out, "facts.jsonl"),
                                                          "step")}

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
    assert len(machine.steps()) == 7
    gemms = machine.table("unseen_gemms.csv")
    for dtype, framework, count in (("bf16", "pytorch", 200), ("fp8", "pytorch", 200),
                                    ("bf16", "sextant-probe", 48)):
        rows = [r for r in gemms if (r["dtype"], r["framework"]) == (dtype, framework)]
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
    with open(os.path.join(machine.out, "summary.md"), encoding="utf-8") as file:
        assert done.stdout.endswith(file.read()), done.stdout
    for line in ("| wall time, standard | <= 5.00 s |",
                 "| a busy GPU refused | every time | 5 of 5",
                 "| work that comes while it measures | the probe stops | stopped after",
                 "| prediction, bf16 multiplications, median error | <= 4.0 % | not measured |"):
        assert line in done.stdout, done.stdout
    return machine


def check_predictions(machine):
    program = os.path.join(BIN, "predict_kernels")
    if not os.path.exists(program):
        print(f"without predictions: there is no {program}")
        return
    done = subprocess.run([sys.executable, os.path.join(HERE, "summarise.py"), machine.out,
                           f"--predict={program}"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "| prediction, bf16 multiplications timed by the probe |  | median 0." in done.stdout
    assert "| prediction, attention backward by cudnn |" in done.stdout, done.stdout
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
    assert "quick: exit code 5, KIND_MISMATCH matmul: wrong results" in done.stdout, done.stdout
    counts = read_facts(os.path.join(machine.out, "facts.jsonl"), "kernel_tests")[0]
    assert counts["failed_tests"] == ["MatmulGpuTest.Bf16"], counts


def check_skipped_tests_are_no_success(folder):
    machine = Machine(folder, SKIPPING)
    assert machine.run("--steps=kernel_tests", machine.out).returncode == 1


def check_a_gpu_that_is_not_refused(folder):
    machine = Machine(folder)
    done = machine.run("--steps=busy", machine.out, SEXTANT_FAKE_BLIND="1")
    assert done.returncode == 1 and "0 of 5" in done.stdout, done.stdout
    assert "the probe stops | exit code 0" in done.stdout, done.stdout


def check_time(folder):
    """Little time: what does not fit is skipped, what hangs is ended, and both are told."""
    machine = Machine(folder, "exec sleep 60")
    done = machine.run("--steps=kernel_tests,copies", machine.out, SEXTANT_GPU_BUDGET="11")
    outcomes = {name: step["outcome"] for name, step in machine.steps().items()}
    assert done.returncode == 1, done.stdout
    assert outcomes == {"kernel_tests": "failed", "copies": "skipped"}, outcomes
    with open(os.path.join(folder, "torch.py"), "w", encoding="utf-8") as file:
        file.write("import time\ntime.sleep(100)\n")
    done = machine.run("--steps=copies", machine.out, SEXTANT_GPU_BUDGET="16", PYTHONPATH=folder)
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
    assert sorted(os.listdir(there)) == ["gpu_tests", "sextant-probe"]
    for program in os.listdir(there):
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
    refusals = read_facts(os.path.join(machine.out, "facts.jsonl"), "refusal")
    assert len(refusals) == 5 and all(r["reason"] == "busy" for r in refusals), refusals
    assert any(r["used_readings"] > 0 for r in refusals), refusals
    assert all(r["used_rise_bytes"] == (0 if r["used_readings"] else None) for r in refusals)
    gpm = read_facts(os.path.join(machine.out, "facts.jsonl"), "gpm")[0]
    assert gpm["readable"] and (gpm["sm"], gpm["tensor"], gpm["memory"]) == (0.75, 0.5, 0.25), gpm
    output = os.path.join(machine.out, "probes.jsonl")
    done = subprocess.run(
        [sys.executable, os.path.join(HERE, "probe_runs.py"), "--seconds=8", f"--output={output}",
         f"--probe={machine.bin}/sextant-probe", f"--facts={machine.out}/facts.jsonl"],
        env={**os.environ, **fake, "SEXTANT_FAKE_GPU": ""}, capture_output=True, text=True,
        check=False)
    with open(output, encoding="utf-8") as file:
        runs = [json.loads(line) for line in file]
    assert runs and all(run["idle_before"] and run["used_readings"] > 0 for run in runs), runs
    assert done.returncode == (1 if any("failure" in run for run in runs) else 0), done.stdout


CHECKS = (check_failures, check_skipped_tests_are_no_success, check_a_gpu_that_is_not_refused,
          check_time, check_usage, check_carrying, check_no_torch, check_the_real_probe)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_predictions(check_everything(folder))
    for check in CHECKS:
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
    print("the script does its steps, and tells which failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
