#!/usr/bin/env python3
"""sextant-probe as tests/gpu calls it, on a simulated GPU. Refuses while the process lives that
$SEXTANT_FAKE_BUSY names, unless $SEXTANT_FAKE_BLIND is set; fails in the modes that
$SEXTANT_FAKE_FAILS names; knows no --hold where $SEXTANT_FAKE_OLD is set; leaves a compiled kernel
in $CUDA_CACHE_PATH; adds its arguments to $SEXTANT_FAKE_CALLS."""

import json
import os
import sys
import time

import simulated_calibration as simulated

HOLD_COST = 1.03  # of a sample that begins on an idle stream


def say(**event):
    print(json.dumps(event), flush=True)


def is_busy():
    """Whether the process that the file names still lives."""
    try:
        with open(os.environ["SEXTANT_FAKE_BUSY"], encoding="utf-8") as file:
            os.kill(int(file.read()), 0)
        return True
    except (OSError, ValueError):  # nobody worked yet, it has ended, or begins just now
        return False


def wait_for_work():
    """As a probe that measures: until a second after somebody comes, or 60 s."""
    end = time.monotonic() + 60
    while not is_busy() and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)


def asked_shapes(values, slowness):
    out = []
    for value in values:
        shape, _, dtype = value.partition(":")
        name = {"": "BF16", "bf16": "BF16", "fp8": "FP8_E4M3"}[dtype]
        out.append(simulated.matmul(f"DATA_TYPE_{name}", *map(int, shape.split("x")), slowness,
                                    purpose="REQUESTED", kernel="tile 23"))
    return out


def measured(options, asked):
    mode = options.get("mode", "standard")
    out = simulated.calibration(mode)
    without_cudnn = "library_folder" in options and not os.path.exists(
        os.path.join(options["library_folder"], "libcudnn.so.9"))
    if without_cudnn or mode == "standard" and "budget" not in options:
        out.pop("attentions", None)
    if asked:
        slowness = HOLD_COST if options.get("hold") == "never" else 1
        out["matmuls"] = asked_shapes(asked, slowness)
    return out


def main():
    with open(os.environ["SEXTANT_FAKE_CALLS"], "a", encoding="utf-8") as calls:
        calls.write(" ".join(sys.argv[1:]) + "\n")
    if sys.argv[1:] == ["--version"]:
        return 0
    options = dict(a.lstrip("-").partition("=")[::2] for a in sys.argv[1:])
    asked = [a.partition("=")[2] for a in sys.argv[1:] if a.startswith("--matmul=")]
    assert options["backend"] == "cuda" and options["format"] == "json"
    if "hold" in options and "SEXTANT_FAKE_OLD" in os.environ:
        print("--hold: unknown", file=sys.stderr)
        return 2
    mode = options.get("mode", "standard")
    if "list" in options:
        say(device=simulated.calibration("quick")["device"])
        return 0
    say(progress={"phase": "load", "elapsedSeconds": 0.01})
    if mode == "full" and "budget" in options:
        wait_for_work()
    if is_busy() and "SEXTANT_FAKE_BLIND" not in os.environ:
        say(failure={"kind": "KIND_REFUSED", "reason": "busy", "message": "a process computes"})
        return 4
    if mode in os.environ.get("SEXTANT_FAKE_FAILS", "").split(","):
        say(failure={"kind": "KIND_MISMATCH", "reason": "matmul", "message": "wrong results"})
        return 5
    if "CUDA_CACHE_PATH" in os.environ:
        with open(os.path.join(os.environ["CUDA_CACHE_PATH"], "index"), "w", encoding="utf-8") as f:
            f.write("kernel")
    for phase, elapsed in (("start", 0.02), ("matmul bf16", 1.25), ("matmul bf16", 1.5),
                           ("memory", 2.0), ("matmul bf16", 2.25)):
        say(progress={"phase": phase, "fraction": elapsed / 3, "elapsedSeconds": elapsed})
    say(calibration=measured(options, asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
