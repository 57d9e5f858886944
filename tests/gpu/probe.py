"""Runs of sextant-probe."""

import gzip
import json
import subprocess
import time

import libraries


def start_probe(program, *arguments):
    """A run that goes on; its standard output is a pipe."""
    return subprocess.Popen([program, "--backend=cuda", "--format=json", *arguments],
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                            universal_newlines=True, env=libraries.environment())


def run_probe(program, *arguments, timeout=75):
    """A run on the GPU: {"arguments", "wall_seconds", "exit_code"} and either "calibration", with
    the bytes that it is as JSON and packed by gzip, or "failure"."""
    command = [program, "--backend=cuda", "--format=json", *arguments]
    start = time.monotonic()
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=timeout, check=False,
                              env=libraries.environment())
    except subprocess.TimeoutExpired:
        return {"arguments": list(arguments), "wall_seconds": timeout, "exit_code": -1,
                "failure": {"message": f"it was ended after {timeout} s"}}
    out = {"arguments": list(arguments), "wall_seconds": time.monotonic() - start,
           "exit_code": done.returncode}
    last = last_event(done.stdout)
    if "calibration" in last:
        text = json.dumps(last["calibration"], separators=(",", ":")).encode()
        out.update(calibration=last["calibration"], json_bytes=len(text),
                   gzip_bytes=len(gzip.compress(text)))
    else:
        out["failure"] = last.get("failure") or {"message": done.stderr.strip()[-500:]}
    return out


def last_event(output):
    lines = [line for line in output.splitlines() if line.strip()]
    try:
        return json.loads(lines[-1]) if lines else {}
    except ValueError:
        return {}


def failure_text(run):
    failure = run["failure"]
    return (f"exit code {run['exit_code']}, {failure.get('kind', 'no kind')} "
            f"{failure.get('reason', '')}: {failure.get('message', '')}")


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


def matmuls_of(calibration, dtype):
    """Those of the grid in "bf16" or "fp8"."""
    names = {"bf16": ("DATA_TYPE_BF16",), "fp8": ("DATA_TYPE_FP8_E4M3", "DATA_TYPE_FP8")}[dtype]
    return [m for m in calibration.get("matmuls", [])
            if m["data_type"] in names and not m.get("requested")]


def shape_of(matmul):
    """(m, n, k). 64-bit numbers are texts in proto JSON."""
    return tuple(int(matmul[name]) for name in "mnk")


def best_burst(calibration, dtype):
    """The highest rate of the library's own choice among the grid's shapes, or None."""
    return max((m["flops_per_second"] for m in matmuls_of(calibration, dtype)), default=None)


def best_of_any_kernel(calibration, dtype):
    """The same of the best kernel that the probe tried for each shape."""
    return max((m.get("best_flops_per_second", m["flops_per_second"])
                for m in matmuls_of(calibration, dtype)), default=None)


def sustained(calibration, dtype):
    rates = matmuls_of({"matmuls": calibration.get("sustained_matmuls", [])}, dtype)
    return max((m["flops_per_second"] for m in rates), default=None)


def memory_copy(calibration):
    """(array bytes, bytes per second) of the largest copy in main memory, or None."""
    copies = [(int(s["array_bytes"]), s["bytes_per_second"])
              for s in calibration.get("streams", [])
              if s["operation"] == "OPERATION_COPY" and s.get("main_memory")]
    return max(copies, default=None)
