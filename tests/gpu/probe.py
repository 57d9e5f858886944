"""Runs of sextant-probe, and what is read of a calibration."""

import json
import subprocess
import tempfile
import threading
import time

import libraries


class ProbeRun:
    """A run that goes on. Its events are read as they come, each with the time of its arrival."""

    def __init__(self, program, *arguments, environment=None):
        self._arguments, self._events = list(arguments), []
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8")
        self.start_seconds = time.monotonic()
        self._process = subprocess.Popen(
            [program, "--backend=cuda", "--format=json", *arguments], stdout=subprocess.PIPE,
            stderr=self._messages, universal_newlines=True,
            env=environment or libraries.environment())
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            arrived = time.monotonic() - self.start_seconds
            try:
                self._events.append((arrived, json.loads(line)))
            except ValueError:
                self._events.append((arrived, {"failure": {"message": f"no JSON: {line[:200]}"}}))

    def is_over(self):
        return self._process.poll() is not None

    def finish(self, timeout):
        """{"arguments", "wall_seconds", "exit_code", "progress"} and either "calibration" or
        "failure". `progress` is all events of progress, whole, with the seconds from the start of
        the process to their arrival. Ended where it takes longer than `timeout` from now."""
        try:
            code = self._process.wait(timeout=timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            code = -1
        wall = time.monotonic() - self.start_seconds
        self._reader.join()
        self._process.stdout.close()
        out = {"arguments": self._arguments, "wall_seconds": wall, "exit_code": code,
               "progress": [{"arrived_seconds": round(arrived, 4), **event["progress"]}
                            for arrived, event in self._events if "progress" in event]}
        last = self._events[-1][1] if self._events else {}
        if code == -1:
            out["failure"] = {"message": f"it was ended after {wall:.0f} s"}
        elif "calibration" in last:
            out["calibration"] = last["calibration"]
        else:
            self._messages.seek(0)
            out["failure"] = last.get("failure") or {"message": self._messages.read()[-500:]}
        self._messages.close()
        return out


def run_probe(program, *arguments, timeout=75, environment=None):
    """A run from its start to its end: ProbeRun.finish()."""
    return ProbeRun(program, *arguments, environment=environment).finish(timeout)


def keep_run(path, step, mode, run, **more):
    """Appends a run to the file of runs, a JSON object a line."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, "mode": mode, **more, **run}) + "\n")


def read_runs(path, step=None):
    """The runs of the file, those of one step where it is given; none where there is no file."""
    try:
        with open(path, encoding="utf-8") as file:
            runs = [json.loads(line) for line in file if line.strip()]
    except FileNotFoundError:
        return []
    return [run for run in runs if step in (None, run["step"])]


def failure_text(run):
    failure = run["failure"]
    return (f"exit code {run['exit_code']}, {failure.get('kind', 'no kind')} "
            f"{failure.get('reason', '')}: {failure.get('message', '').strip()}")


def first_device(program):
    """What sextant-probe tells of the first GPU. Ends the program where there is none."""
    done = subprocess.run([program, "--backend=cuda", "--list", "--format=json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          timeout=60, check=False, env=libraries.environment())
    for line in done.stdout.splitlines():
        event = json.loads(line)
        if "device" in event:
            return event["device"]
    raise SystemExit(f"sextant-probe lists no GPU: {done.stdout.strip()} {done.stderr.strip()}")


def calibrations_of(runs, mode):
    return [run["calibration"] for run in runs if run["mode"] == mode and "calibration" in run]


def best_calibration(runs, modes=("full", "standard", "quick")):
    """The last of the first of `modes` that has one: by default of that with the most shapes. None
    where there is none."""
    for mode in modes:
        if calibrations_of(runs, mode):
            return calibrations_of(runs, mode)[-1]
    return None


def kind_of(matmul):
    """The kind: "burst" (of the grid), "sustained", "requested" or "other"."""
    if matmul.get("window") == "WINDOW_SUSTAINED":
        return "sustained"
    purpose = matmul.get("purpose", "PURPOSE_GRID").removeprefix("PURPOSE_").lower()
    return "burst" if purpose == "grid" else purpose


def matmuls_of(calibration, dtype, kind="burst"):
    """Those of `kind` in "bf16" or "fp8"; of any type where dtype is None."""
    return [m for m in calibration.get("matmuls", [])
            if dtype in (None, type_of(m)) and kind_of(m) == kind]


def type_of(matmul):
    """The scripts' word for a type: "bf16", "fp8"."""
    word = matmul["dataType"].replace("DATA_TYPE_", "").lower()
    return "fp8" if word == "fp8_e4m3" else word


def shape_of(matmul):
    """(m, n, k). 64-bit numbers are texts in proto JSON."""
    return tuple(int(matmul[name]) for name in "mnk")


def best_burst(calibration, dtype):
    """The highest rate of the library's own choice among the grid's shapes, or None."""
    return max((m["flopsPerSecond"] for m in matmuls_of(calibration, dtype)), default=None)


def best_of_any_kernel(calibration, dtype):
    """The same of the best kernel that the probe tried for each shape."""
    return max((m.get("bestFlopsPerSecond", m["flopsPerSecond"])
                for m in matmuls_of(calibration, dtype)), default=None)


def sustained(calibration, dtype):
    return max((m["flopsPerSecond"] for m in matmuls_of(calibration, dtype, "sustained")),
               default=None)


def missing_text(calibration):
    """Which phases are not complete: "attention forward 7 of 8"; "" where all are."""
    return ", ".join(f"{m['phase']} {m['missingCount']} of {m['plannedCount']}"
                     for m in calibration.get("missing", []))


def memory_copy(calibration):
    """The largest copy in main memory, as the calibration has it, or None."""
    copies = [s for s in calibration.get("streams", [])
              if s["operation"] == "OPERATION_COPY" and s.get("mainMemory")]
    return max(copies, key=lambda s: int(s["arrayBytes"]), default=None)
