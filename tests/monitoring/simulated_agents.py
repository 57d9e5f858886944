"""Real servers whose kept calibrations are of simulated GPUs: what their /metrics shows is what a
host with such GPUs would show."""

import datetime
import json
import os
import shlex

from simulated_fleet import Gpu

MATMUL_SIZE = 8192
COPIED_BYTES = 1 << 30
RANK_COUNT = 8


def _time(seconds, stable=True):
    return {"medianSeconds": seconds, "relativeSpread": 0.01, "p10Seconds": 0.99 * seconds,
            "p90Seconds": 1.02 * seconds, "sampleCount": 10, "repetitionCount": 1,
            "stable": stable}


def _matmul(data_type, window, rate, stable):
    size = MATMUL_SIZE
    return {"dataType": f"DATA_TYPE_{data_type}", "m": size, "n": size, "k": size,
            "layout": "LAYOUT_ROW_BY_COLUMN", "window": f"WINDOW_{window}",
            "purpose": "PURPOSE_GRID", "time": _time(2 * size**3 / rate, stable),
            "flopsPerSecond": rate, "engine": "cublaslt 13.1"}


def device(gpu: Gpu):
    """A sextant.v1.Device as JSON."""
    return {"uuid": gpu.uuid, "kind": "DEVICE_KIND_GPU", "productName": gpu.product.name,
            "hostname": gpu.hostname, "memoryBytes": str(gpu.product.memory_bytes),
            "pciBusId": f"00000000:{gpu.index + 16:02X}:00.0", "powerLimitWatts": 700,
            "driverVersion": "580.65.06"}


def calibration(gpu: Gpu, measured_at):
    """A sextant.v1.Calibration as JSON, with the rates of the fleet's set."""
    rate = {(name, labels): value for name, labels, value in gpu.fleet_set(measured_at)}
    matmul = "sextant_gpu_matmul_flops_per_second"
    copy = rate["sextant_gpu_memory_bandwidth_bytes_per_second", 'op="copy"']
    host_copy = "sextant_gpu_host_copy_bytes_per_second"
    link = rate["sextant_gpu_link_bandwidth_bytes_per_second", 'link="nvlink"']
    gather_seconds = COPIED_BYTES / link * (RANK_COUNT - 1) / RANK_COUNT
    when = datetime.datetime.fromtimestamp(measured_at, datetime.timezone.utc)
    return {
        "schemaVersion": 2,
        "device": device(gpu),
        "measuredTime": when.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "probeVersion": "sextant-probe 0.1.0", "mode": "PROBE_MODE_FULL", "durationSeconds": 30,
        "coverageRatio": 1, "checkedResultCount": 4,
        "matmuls": [
            _matmul("BF16", "BURST", rate[matmul, 'dtype="bf16",window="burst"'], gpu.stable),
            _matmul("BF16", "SUSTAINED", rate[matmul, 'dtype="bf16",window="sustained"'], True),
            _matmul("FP8_E4M3", "BURST", rate[matmul, 'dtype="fp8",window="sustained"'], True),
            _matmul("FP8_E4M3", "SUSTAINED", rate[matmul, 'dtype="fp8",window="sustained"'],
                    True)],
        "streams": [{"operation": "OPERATION_COPY", "arrayBytes": str(COPIED_BYTES),
                     "mainMemory": True, "time": _time(2 * COPIED_BYTES / copy),
                     "bytesPerSecond": copy}],
        "hostCopies": [{"direction": f"DIRECTION_{name}", "sizeBytes": str(COPIED_BYTES),
                        "time": _time(COPIED_BYTES / bandwidth), "bytesPerSecond": bandwidth}
                       for name, bandwidth in
                       (("HOST_TO_DEVICE", rate[host_copy, 'direction="h2d",memory="pinned"']),
                        ("DEVICE_TO_HOST", rate[host_copy, 'direction="d2h",memory="pinned"']))],
        "collectives": [{"operation": "COLLECTIVE_OPERATION_ALL_GATHER", "rankCount": RANK_COUNT,
                         "sizeBytes": str(COPIED_BYTES), "time": _time(gather_seconds),
                         "busBytesPerSecond": link, "engine": "nccl 2.28.3"}],
        "conditions": {"readingCount": 40,
                       "smClockHertz": rate["sextant_gpu_sm_clock_hertz", ""]},
    }


def flags(gpus, folder, measured_at):
    """Fills `folder` with the GPUs' calibrations and a probe that lists them; returns the flags of
    a server that is to find both."""
    kept = os.path.join(folder, "calibrations")
    os.makedirs(kept)
    for gpu in gpus:
        with open(os.path.join(kept, f"{gpu.uuid}.full.json"), "w", encoding="utf-8") as out:
            json.dump(calibration(gpu, measured_at), out)
    listed = os.path.join(folder, "devices.json")
    with open(listed, "w", encoding="utf-8") as out:
        out.writelines(json.dumps({"device": device(gpu)}) + "\n" for gpu in gpus)
    probe = os.path.join(folder, "probe")
    with open(probe, "w", encoding="utf-8") as out:
        out.write(f"#!/bin/sh\nexec cat {shlex.quote(listed)}\n")
    os.chmod(probe, 0o755)
    return [f"--calibration_directory={kept}", f"--probe_program={probe}"]
