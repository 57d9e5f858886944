#!/usr/bin/python3
"""sextant-probe --backend=cuda on hosts with GPUs, which libraries under the driver's names fake.

Without them, on a host that has no driver, it says so.
"""

import json
import os
import subprocess
import sys
import tempfile

BIN = os.environ.get("SEXTANT_BIN", "build/release/bin")
PROGRAM = os.path.join(BIN, "sextant-probe")
FAKE_DRIVER = os.path.join(BIN, "fake_cuda_driver")
SKIPPED = 77


def run(*flags, libraries=FAKE_DRIVER, script="", **variables):
    """Exit code and events of a run with the driver's libraries in folder `libraries`."""
    with tempfile.TemporaryDirectory() as locks:
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("CUDA_", "LD_LIBRARY_PATH"))}
        done = subprocess.run(
            [PROGRAM, "--backend=cuda", "--format=json", *flags], capture_output=True, text=True,
            env={**kept, "SEXTANT_LOCK_FOLDER": locks, "LD_LIBRARY_PATH": libraries,
                 "SEXTANT_FAKE_GPU": script, **variables}, timeout=250, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def failure(*flags, **how):
    code, events = run(*flags, **how)
    assert "failure" in events[-1], events
    return code, events[-1]["failure"]


def check_a_list():
    code, events = run("--list")
    assert code == 0 and len(events) == 8, (code, events)
    devices = [event["device"] for event in events]
    assert devices[0]["uuid"] == "GPU-01010101-0101-0101-0101-010101010101", devices[0]
    assert len({device["uuid"] for device in devices}) == 8
    assert devices[7]["computeCapability"] == "9.0" and devices[7]["cudaVersion"] == "13.0"
    assert devices[7]["driverVersion"] == "580.65.06" and devices[7]["powerLimitWatts"] == 700
    assert "eccEnabled" not in devices[7], "this NVML does not tell"


def check_refusals():
    for script, word in (("busy", "busy"), ("hot", "hot")):
        code, refusal = failure("--mode=quick", script=script)
        assert (code, refusal["kind"], refusal["reason"]) == (4, "KIND_REFUSED", word), refusal
    for device in ((), ("--device=GPU-01010101-0101-0101-0101-010101010101",)):
        # NVML alone was asked: CUDA would have failed first.
        code, refusal = failure("--mode=quick", *device, script="untouched")
        assert (code, refusal["reason"]) == (4, "busy"), refusal
    code, fault = failure("--mode=quick", "--device=GPU-02020202-0202-0202-0202-020202020202",
                          script="untouched")
    assert (code, fault["reason"]) == (1, "cuda"), fault
    code, lost = failure("--mode=quick", script="lost")
    assert (code, lost["reason"]) == (1, "lost"), lost


def check_an_idle_gpu():
    for mode, size in (("quick", "8192"), ("standard", "16384")):
        code, events = run(f"--mode={mode}")
        assert code == 0, events[-1]
        large = [m for m in events[-1]["calibration"]["matmuls"]
                 if (m["dataType"], m["m"], m["k"]) == ("DATA_TYPE_BF16", "8192", size)]
        assert large and large[-1]["engine"] == "cublaslt 13.1.0", large
        assert 7.9e14 < large[-1]["flopsPerSecond"] <= 8e14, large[-1]


def check_the_environment():
    """The worker sees its own GPU alone, without variables that change figures, and says how."""
    uuid = "GPU-03030303-0303-0303-0303-030303030303"
    for visible in ({}, {"CUDA_VISIBLE_DEVICES": "GPU-04,GPU-03"}):
        code, events = run("--mode=quick", f"--device={uuid}", NCCL_ALGO="Ring", **visible)
        assert code == 0, events[-1]
        calibration = events[-1]["calibration"]
        assert calibration["device"]["uuid"] == uuid, calibration["device"]
        environment = calibration["environment"]
        assert environment["visibleDeviceCount"] == 1, environment
        assert environment["clearedVariables"] == ["NCCL_ALGO=Ring"], environment
        assert environment["libraries"] == ["cublaslt 13.1.0"], environment
        assert environment["pcieGeneration"] == 5, environment
        assert (environment["nvlinkCount"], environment["activeNvlinkCount"]) == (18, 18)
        assert "persistenceMode" not in environment, "this NVML does not tell"
        assert environment["kernelRelease"] == os.uname().release, environment
        assert environment["cLibrary"].startswith("glibc 2."), environment
        assert int(environment["guardCost"]["readingCount"]) >= 4, environment
    # The order is the user's.
    code, events = run("--mode=quick", CUDA_VISIBLE_DEVICES="GPU-04,GPU-03")
    assert events[-1]["calibration"]["device"]["uuid"].startswith("GPU-04"), events[-1]
    code, hidden = failure("--mode=quick", f"--device={uuid}", CUDA_VISIBLE_DEVICES="GPU-04")
    assert code == 3 and "there is no device" in hidden["message"], hidden


def check_shapes_that_were_asked_for():
    code, events = run("--mode=quick", "--matmul=7x64x32", "--matmul=16x48x64:fp8_e4m3")
    assert code == 0, events[-1]
    matmuls = events[-1]["calibration"]["matmuls"]
    assert [(m["dataType"], m["m"]) for m in matmuls] == [
        ("DATA_TYPE_BF16", "7"), ("DATA_TYPE_FP8_E4M3", "16")], matmuls
    assert {(m["window"], m["purpose"]) for m in matmuls} == {
        ("WINDOW_BURST", "PURPOSE_REQUESTED")}, matmuls
    code, unsupported = failure("--mode=quick", "--matmul=16x64x64:nvfp4")
    assert (code, unsupported["kind"]) == (3, "KIND_UNSUPPORTED"), unsupported


def check_wrong_products():
    code, mismatch = failure("--mode=quick", script="wrong")
    assert (code, mismatch["kind"]) == (5, "KIND_MISMATCH"), mismatch
    assert "wrong product" in mismatch["message"] and mismatch["reason"] == "matmul", mismatch


def check_tests_share_one_session():
    """Tests that need no real kernel: each runs, though the process that they share is listed."""
    names = ("DataGpuTest.MemoryBeyondTheCapIsNotTaken", "MemoryGpuTest.TheClockIsAGpus",
             "MemoryGpuTest.AllMultiprocessorsComputeWhatTheHostDoes",
             "PeersGpuTest.EachCollectiveOfOneRankArrives")
    done = subprocess.run(
        [os.path.join(BIN, "gpu_tests"), f"--gtest_filter={':'.join(names)}"],
        capture_output=True, text=True, timeout=250, check=False,
        env={**os.environ, "LD_LIBRARY_PATH": FAKE_DRIVER, "SEXTANT_FAKE_GPU": ""})
    assert done.returncode == 0 and "[  PASSED  ] 4 tests." in done.stdout, done.stdout
    assert "SKIPPED" not in done.stdout, done.stdout


def check_absences():
    for flags in (("--list",), ("--mode=quick",)):
        for script, word in (("none", "no_device"), ("old", "driver_too_old")):
            code, absence = failure(*flags, script=script)
            assert (code, absence["reason"]) == (3, word), (flags, absence)
        code, absence = failure(*flags, libraries=BIN)
        assert (code, absence["reason"]) == (3, "no_driver"), (flags, absence)


def check_a_driver_that_hangs():
    for flags in (("--list",), ("--mode=quick",)):
        code, late = failure("--budget=100ms", *flags, script="hang")
        assert (code, late["kind"]) == (6, "KIND_DEADLINE"), (flags, late)


def main():
    if not os.path.exists(PROGRAM) or not os.path.isdir(FAKE_DRIVER):
        print(f"skipped: there is no {PROGRAM}, or no {FAKE_DRIVER}")
        return SKIPPED
    if os.path.exists("/proc/driver/nvidia/version"):
        print("skipped: this host has a driver of its own")
        return SKIPPED
    check_a_list()
    check_refusals()
    check_an_idle_gpu()
    check_the_environment()
    check_shapes_that_were_asked_for()
    check_wrong_products()
    check_tests_share_one_session()
    check_absences()
    check_a_driver_that_hangs()
    print("GPUs are listed, refused by their words, and missed by their reasons")
    return 0


if __name__ == "__main__":
    sys.exit(main())
