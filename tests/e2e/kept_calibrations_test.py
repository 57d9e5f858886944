#!/usr/bin/python3
"""What a server keeps of several probes of one GPU, and which calibration it says is in use: a
script stands in for the probe, and the command line asks. Over a restart, too."""

import os
import subprocess
import sys
import tempfile
import time

from probe_test import Hardware
from sextantd import BIN, Server
from api import grpc

UUID = "GPU-01010101-0101-0101-0101-010101010101"
SCRIPT = """#!/bin/sh
cd '{folder}'
if [ "$1" = --list ]; then exec cat device.json; fi
echo "$@" >arguments
for argument; do
  case "$argument" in --mode=*) mode="${{argument#--mode=}}";; esac
done
exec cat "$mode.json"
"""


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


def statistics(median_seconds, stable):
    from sextant.v1 import measured_kernels_pb2
    return measured_kernels_pb2.TimeStatistics(
        median_seconds=median_seconds, relative_spread=0.01, p10_seconds=0.99 * median_seconds,
        p90_seconds=1.02 * median_seconds, sample_count=10, repetition_count=1, stable=stable)


class ScriptedProbe:
    """A program whose answers are files in `folder`."""

    def __init__(self, folder):
        self.folder = folder
        self.program = os.path.join(folder, "probe")
        write(self.program, SCRIPT.format(folder=folder))
        os.chmod(self.program, 0o755)

    def device(self, driver):
        from sextant.v1 import device_pb2
        return device_pb2.Device(uuid=UUID, kind=device_pb2.DEVICE_KIND_GPU,
                                 product_name="NVIDIA H200", hostname=os.uname().nodename,
                                 memory_bytes=150109945856, power_limit_watts=700,
                                 driver_version=driver)

    def list(self, driver):
        self._write("device", device=self.device(driver))

    def measure(self, mode, driver, coverage=1, stable=True):
        """From now on a probe of that mode finds this, measured now."""
        from sextant.v1 import calibration_pb2, data_type_pb2, probe_pb2
        size = 8192
        flops = 2 * size**3
        rate = 7e14
        measured = calibration_pb2.Calibration(
            schema_version=2, device=self.device(driver), probe_version="sextant-probe 0.1.0",
            mode=probe_pb2.ProbeMode.Value(f"PROBE_MODE_{mode.upper()}"), duration_seconds=2,
            coverage_ratio=coverage, checked_result_count=2)
        measured.measured_time.FromNanoseconds(time.time_ns())
        measured.matmuls.add(data_type=data_type_pb2.DATA_TYPE_BF16, m=size, n=size, k=size,
                             time=statistics(flops / rate, stable), flops_per_second=rate,
                             engine="cublaslt 13.1")
        array_bytes = 1 << 30
        measured.streams.add(operation=calibration_pb2.StreamMeasurement.OPERATION_COPY,
                             array_bytes=array_bytes, main_memory=True,
                             time=statistics(2 * array_bytes / 4e12, True), bytes_per_second=4e12)
        self._write(mode, calibration=measured)

    def arguments(self):
        with open(os.path.join(self.folder, "arguments"), encoding="utf-8") as written:
            return written.read()

    def _write(self, name, **event):
        from google.protobuf import json_format
        from sextant.v1 import calibration_pb2
        line = json_format.MessageToJson(calibration_pb2.ProbeEvent(**event), indent=None)
        write(os.path.join(self.folder, name + ".json"), line + "\n")


def probed(server, mode):
    """What `sextant probe` says of the calibration's use, in one line."""
    done = subprocess.run(
        [os.path.join(BIN, "sextant"), "probe", f"--mode={mode}", "--address", server.address],
        capture_output=True, text=True, timeout=120, check=True)
    return " ".join(done.stdout.split())


def mode_in_use(hardware):
    from sextant.v1 import probe_pb2
    answer = hardware._get(hardware.api.GetCalibrationRequest(device=UUID), timeout=60)
    assert answer.in_use, answer
    return probe_pb2.ProbeMode.Name(answer.calibration.mode)


def check_the_first_server(server, hardware, probe):
    from sextant.v1 import probe_pb2
    probe.measure("full", "580.65.06")
    assert "In use: plans on this device stand on it" in probed(server, "full")
    assert mode_in_use(hardware) == "PROBE_MODE_FULL"
    # A quick one is kept beside it.
    probe.measure("quick", "580.65.06")
    text = probed(server, "quick")
    assert "Not in use. The full calibration of " in text, text
    assert " stays in use: a quick one is less thorough. This one is kept too." in text, text
    assert mode_in_use(hardware) == "PROBE_MODE_FULL"
    kept = hardware._get(hardware.api.GetCalibrationRequest(
        device=UUID, mode=probe_pb2.PROBE_MODE_QUICK), timeout=60)
    assert kept.calibration.mode == probe_pb2.PROBE_MODE_QUICK and not kept.in_use, kept
    # One that starved does not even take the place of the full one's file.
    probe.measure("full", "580.65.06", coverage=0.3)
    text = probed(server, "full")
    assert "it covers 100 % of its mode's points, this one 30 %. This one is not kept." in text, \
        text
    (entry,) = hardware.devices()
    assert entry.HasField("measured_time"), entry
    assert hardware._get(hardware.api.GetCalibrationRequest(), timeout=60).calibration \
        .coverage_ratio == 1


def check_the_second_server(server, hardware, probe):
    assert mode_in_use(hardware) == "PROBE_MODE_FULL"
    # Under another driver the full one's rates may not hold.
    probe.measure("quick", "590.44.01")
    assert "In use: plans on this device stand on it" in probed(server, "quick")
    assert mode_in_use(hardware) == "PROBE_MODE_QUICK"


def main():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as libraries:
        probe = ScriptedProbe(folder)
        probe.list("580.65.06")
        kept = os.path.join(folder, "calibrations")
        flags = (f"--calibration_directory={kept}", f"--probe_program={probe.program}",
                 f"--probe_library_folder={libraries}")
        for check in (check_the_first_server, check_the_second_server):
            with Server(*flags) as server, grpc.insecure_channel(server.address) as channel:
                check(server, Hardware(channel), probe)
            assert f"--library_folder={libraries} " in probe.arguments(), probe.arguments()
        assert sorted(os.listdir(kept)) == [f"{UUID}.full.json", f"{UUID}.quick.json"]
    print("a quick and a starved calibration leave a full one in use, until the driver is another")
    return 0


if __name__ == "__main__":
    sys.exit(main())
