#!/usr/bin/python3
"""sextant-probe check as a monitoring system runs it: exit codes, the first line, what it reads.

It runs fake-probe, the real program with a scripted device in place of the host's, on calibrations
that this script writes.
"""

import calendar
import copy
import glob
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
import time

BIN = os.environ.get("SEXTANT_BIN", "build/release/bin")
PROGRAM = os.path.join(BIN, "fake-probe")
HELD = tempfile.TemporaryDirectory()  # until this script ends
FOLDER = HELD.name
NUMBERS = itertools.count()

OK, WARNING, CRITICAL, UNKNOWN = range(4)
WORDS = ("OK", "WARNING", "CRITICAL", "UNKNOWN")

# The Monitoring Plugins Guidelines' 'label'=value[UOM];[warn];[crit];[min];[max].
DATUM = re.compile(r"'[^'=|]+'=[0-9.]+(;[0-9.:]*){0,4}")


def calibration(uuid="GPU-1", age_hours=1.0, bf16=700e12, copied=3e12):
    def timed(work, rate):
        seconds = work / rate
        return {"medianSeconds": seconds, "relativeSpread": 0.001, "p10Seconds": seconds * 0.999,
                "p90Seconds": seconds * 1.001, "sampleCount": 12, "repetitionCount": 1,
                "stable": True}

    measured = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - age_hours * 3600))
    return {
        "schemaVersion": 2,
        "device": {"uuid": uuid, "kind": "DEVICE_KIND_GPU", "productName": "NVIDIA H200",
                   "hostname": "node1", "memoryBytes": 141 * 2**30, "computeUnitCount": 132,
                   "powerLimitWatts": 700},
        "measuredTime": measured, "probeVersion": "sextant-probe 0.1.0",
        "mode": "PROBE_MODE_QUICK", "durationSeconds": 2, "coverageRatio": 1,
        "checkedResultCount": 100,
        "matmuls": [{"dataType": "DATA_TYPE_BF16", "m": 8192, "n": 8192, "k": 8192,
                     "time": timed(2 * 8192**3, bf16), "flopsPerSecond": bf16,
                     "engine": "cublaslt 13.1", "registerRatio": 0.8}],
        "streams": [{"operation": "OPERATION_COPY", "arrayBytes": 2**30, "mainMemory": True,
                     "time": timed(2 * 2**30, copied), "bytesPerSecond": copied}],
    }


def folder_of(*calibrations):
    """A new folder that holds them."""
    path = os.path.join(FOLDER, str(next(NUMBERS)))
    os.mkdir(path)
    for index, content in enumerate(calibrations):
        with open(f"{path}/{index}.json", "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))
    return path


def history(count=5, **last):
    return [calibration(age_hours=24 * (count - i) + 1) for i in range(count)] + [
        calibration(**last)]


def twice(**last):
    """A history, and then two measurements of the same."""
    return history(age_hours=2.0, **last) + [calibration(**last)]


def node(**of_the_last):
    """A node of eight, measured twice; the last one is as the arguments say, both times."""
    return [calibration(f"GPU-{i}", age_hours=hours, **(of_the_last if i == 7 else {}))
            for hours in (2.0, 1.0) for i in range(8)]


def check(*flags, behaviour="", **more):
    """The exit code and the lines, after what holds for any output of a plugin."""
    environment = {**os.environ, "SEXTANT_FAKE": behaviour, "SEXTANT_LOCK_FOLDER": FOLDER}
    done = subprocess.run([PROGRAM, "check", *flags], capture_output=True, env=environment,
                          timeout=200, check=False, **more)
    assert done.stderr == b"", done.stderr
    text = done.stdout.decode()
    assert text.endswith("\n") and done.returncode in range(4), done
    lines = text.splitlines()
    if "--format=json" in flags:
        return done.returncode, json.loads(text)
    first, _, data = lines[0].partition(" | ")
    assert first.startswith(f"SEXTANT {WORDS[done.returncode]} - "), lines[0]
    for datum in data.split():
        assert DATUM.fullmatch(datum), datum
    assert not any("|" in line for line in lines[1:]), lines
    return done.returncode, lines


def check_one_device():
    code, lines = check(folder_of(*history()))
    assert code == OK and lines[0].startswith("SEXTANT OK - GPU-1 is as fast as expected | "), lines
    # By hand: 95 % of the history's 3e12 B/s.
    copied = "'copy_bytes_per_second'=3000000000000;2850000000000:;2850000000000:;0"
    assert copied in lines[0], lines
    assert "history: 5, peers: 0" in "\n".join(lines[1:]).replace("\n  ", " "), lines
    code, lines = check(folder_of(*twice(bf16=650e12)))
    assert code == CRITICAL, lines
    assert "GPU-1 matmul bf16: 650.0 TFLOP/s is 7.1 % below 700.0 TFLOP/s, the median of its " \
        "last 5; slow in 2 measurements in a row" in lines[0], lines
    assert check("--history_tolerance=0.08", folder_of(*twice(bf16=650e12)))[0] == OK
    code, lines = check(folder_of(calibration()))
    assert code == UNKNOWN and "nothing to compare it with" in lines[0], lines


def check_no_false_drain():
    """Only a long history, stable figures and two measurements in a row are CRITICAL."""
    once = folder_of(*history(bf16=650e12))
    code, lines = check(once)
    assert code == WARNING and "CRITICAL takes 2 in a row" in lines[0], lines
    assert check(once)[0] == WARNING, "the same file read twice is one measurement"
    assert check("--in_a_row=1", once)[0] == CRITICAL
    assert check("--in_a_row=3", folder_of(*twice(bf16=650e12)))[0] == WARNING
    copied = history(bf16=650e12)
    assert check(folder_of(*copied, copied[-1]))[0] == WARNING, "nor is its copy another"
    # Two quick runs, the second on a busy host.
    code, lines = check(folder_of(*history(count=1, bf16=318e12)))
    assert code == WARNING and "54.6 % below" in lines[0], lines
    assert "a history of fewer than 5 proves nothing" in lines[0], lines
    noisy = twice(bf16=350e12)
    for content in noisy:
        content["matmuls"][0]["time"]["stable"] = False
    code, lines = check(folder_of(*noisy))
    assert code == WARNING and "may be noise" in lines[0], lines


def check_a_node():
    code, lines = check(folder_of(*node()))
    assert code == OK and lines[0].startswith("SEXTANT OK - 8 devices are as fast"), lines
    folder = folder_of(*node(copied=2.7e12))
    code, lines = check(folder)
    assert code == CRITICAL and "GPU-7 copy: 2.700 TB/s is 10.0 % below 3.000 TB/s, the median " \
        "of 7 peers" in lines[0], lines
    assert "'devices_critical'=1;;;0;8" in lines[0], lines
    assert check("--device=GPU-6", folder)[0] == OK, "its neighbour is as it was"
    assert check("--device=GPU-7", folder)[0] == CRITICAL
    assert check("--peer_z=20", folder)[0] == OK and check("--peer_tolerance=0.2", folder)[0] == OK
    code, lines = check("--device=GPU-9", folder)
    assert code == UNKNOWN and "GPU-9" in lines[0], lines
    code, report = check("--format=json", folder)
    assert code == CRITICAL and report["exitCode"] == CRITICAL, report
    finding = report["devices"][7]["findings"][0]
    assert (finding["figure"], finding["rule"], finding["unit"]) == ("copy", "peers", "B/s")
    assert abs(finding["value"] - 2.7e12) < 1 and abs(finding["reference"] - 3e12) < 1, finding


def check_never_ok_without_a_measurement():
    good = history()
    future = copy.deepcopy(good[-1])
    future["measuredTime"] = "2999-01-01T00:00:00Z"
    newer = {**good[-1], "schemaVersion": 3}
    absurd = copy.deepcopy(good[-1])
    absurd["matmuls"][0]["flopsPerSecond"] = "NaN"
    above = copy.deepcopy(good[-1])
    above["matmuls"][0]["registerRatio"] = 1.03
    cases = (
        ([], "nothing to judge"), (["/nowhere"], "No such file"),
        ([folder_of()], "no calibration"), ([folder_of("{")], "not a calibration in JSON"),
        ([folder_of(*good, "{}")], "schema_version is required"),
        ([folder_of(*good, newer)], "newer than"),
        ([folder_of(*good, future)], "from the future"), ([folder_of(*good, absurd)], "nan"),
        ([folder_of(*good[:-1], above)], "1.03 times 679.6 TFLOP/s"),
        (["--max_age=soon", folder_of(*good)], "7d or 36h"), (["--no_such"], "--no_such"))
    for flags, words in cases:
        code, lines = check(*flags)
        assert code == UNKNOWN and words in lines[0], (flags, lines)
    code, report = check("--format=json")
    assert code == UNKNOWN and report["status"] == "UNKNOWN" and report["problems"], report
    # Nor is a reader that can't be reached told that all is well.
    with open("/dev/full", "wb") as full:
        done = subprocess.run([PROGRAM, "check", folder_of(*good)], stdout=full, timeout=200,
                              check=False)
    assert done.returncode == UNKNOWN, done
    secret = folder_of(*good)
    os.chmod(f"{secret}/5.json", 0)
    if os.geteuid() != 0:  # whom nothing is denied
        assert check(secret)[0] == UNKNOWN


def check_other_states():
    code, lines = check(folder_of(*[calibration(age_hours=24 * age) for age in (8, 9, 10)]))
    assert code == WARNING and "8.0 days ago" in lines[0], lines
    withdrawn = folder_of(*history())
    with open(f"{withdrawn}/GPU-2.distrusted", "w", encoding="utf-8"):
        pass
    code, lines = check(withdrawn)
    assert code == CRITICAL and "GPU-2 had a wrong result" in lines[0], lines
    assert check("--device=GPU-1", withdrawn)[0] == OK
    for flag in ("--help", "--version"):
        done = subprocess.run([PROGRAM, "check", flag], capture_output=True, timeout=200,
                              check=False)
        assert done.returncode == UNKNOWN and done.stdout, done


def check_measuring():
    """It measures, judges by what it kept before, and says why where it can't."""
    folder = folder_of()
    flags = ("--measure", f"--keep={folder}", folder)
    code, lines = check(*flags)
    assert code == UNKNOWN and "nothing to compare it with" in lines[0], lines
    kept = glob.glob(f"{folder}/CPU-0123456789abcdef-*Z.json")
    assert len(kept) == 1, os.listdir(folder)
    with open(kept[0], encoding="utf-8") as file:
        fresh = json.load(file)
    measured = calendar.timegm(time.strptime(fresh["measuredTime"], "%Y-%m-%dT%H:%M:%SZ"))
    assert time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(measured)) in kept[0], kept
    # A history in which it was a thousand times as fast, whatever this machine does.
    earlier = copy.deepcopy(fresh)
    earlier["measuredTime"] = "2026-01-01T00:00:00Z"
    for matmul in earlier["matmuls"]:
        matmul["flopsPerSecond"] *= 1000
        matmul["time"].update({key: matmul["time"][key] / 1000 for key in
                               ("medianSeconds", "p10Seconds", "p90Seconds")}, stable=True)
    code, lines = check("--measure", "--budget=10s", folder_of(earlier))
    # On a busy machine no figure may be stable, which is said in place of a comparison.
    busy = code == UNKNOWN and "none is stable enough" in lines[0]
    assert busy or (code == WARNING and "% below" in lines[0]), lines
    for behaviour, expected, words in (
            ("mismatch", CRITICAL, "element 7 is 1, not 2"), ("memory", UNKNOWN, "3 GiB"),
            ("absent", UNKNOWN, "no device"), ("unsupported", UNKNOWN, "no int8")):
        code, lines = check(*flags, behaviour=behaviour)
        assert code == expected and words in lines[0], (behaviour, lines)
    code, lines = check("--measure", "--budget=100ms", behaviour="hang")
    assert code == UNKNOWN and "did not end within" in lines[0], lines
    assert len(os.listdir(folder)) == 1, "what was not measured is not kept"
    code, lines = check("--measure", "--keep=/nowhere/at/all", folder)
    assert code in (WARNING, CRITICAL) and "not kept" in "\n".join(lines), lines


def main():
    if not os.path.exists(PROGRAM):
        print(f"no {PROGRAM}: build it first")
        return 1
    check_one_device()
    check_no_false_drain()
    check_a_node()
    check_never_ok_without_a_measurement()
    check_other_states()
    check_measuring()
    print("exit codes and output are as a monitoring system expects them")
    return 0


if __name__ == "__main__":
    sys.exit(main())
