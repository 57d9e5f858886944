#!/usr/bin/env python3
"""sextant-probe as tests/gpu calls it, on a made GPU. Refuses while the process lives
that $SEXTANT_FAKE_BUSY names, unless $SEXTANT_FAKE_BLIND is set; fails in the modes that
$SEXTANT_FAKE_FAILS names."""

import json
import os
import sys
import time

import made_calibration as made


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


def main():
    options = dict(a.lstrip("-").partition("=")[::2] for a in sys.argv[1:]
                   if not a.startswith("--matmul"))
    asked = [tuple(map(int, a.partition("=")[2].split("x"))) for a in sys.argv[1:]
             if a.startswith("--matmul")]
    assert options["backend"] == "cuda" and options["format"] == "json"
    mode = options.get("mode", "standard")
    if "list" in options:
        say(device=made.calibration("quick")["device"])
        return 0
    say(progress={"phase": "load"})
    if "budget" in options:
        wait_for_work()
    if is_busy() and "SEXTANT_FAKE_BLIND" not in os.environ:
        say(failure={"kind": "KIND_REFUSED", "reason": "busy", "message": "a process computes"})
        return 4
    if mode in os.environ.get("SEXTANT_FAKE_FAILS", "").split(","):
        say(failure={"kind": "KIND_MISMATCH", "reason": "matmul", "message": "wrong results"})
        return 5
    calibration = made.calibration(mode)
    calibration["matmuls"] += [made.matmul("DATA_TYPE_BF16", *shape, requested=True)
                               for shape in asked]
    say(calibration=calibration)
    return 0


if __name__ == "__main__":
    sys.exit(main())
