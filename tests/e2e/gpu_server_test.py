#!/usr/bin/python3
"""A server on a host of eight GPUs, which libraries under the driver's names fake: what it lists;
one GPU that is busy beside a processor that is measured; and, with a scripted probe, all eight."""

import os
import sys
import urllib.request

from probe_test import Hardware, reason_of
from sextantd import BIN, SKIPPED, Server
from api import grpc

FAKE_DRIVER = os.path.join(BIN, "fake_cuda_driver")
FIRST_GPU = "GPU-01010101-0101-0101-0101-010101010101"


class Surroundings:
    """Variables of a server's environment, which its probes inherit."""

    def __init__(self, **variables):
        self.variables = variables

    def __enter__(self):
        self.before = dict(os.environ)
        os.environ.update(self.variables)

    def __exit__(self, *_):
        os.environ.clear()
        os.environ.update(self.before)


def probe(hardware, mode, *uuids):
    """Results of a probe, and how it failed: None where it did not."""
    from sextant.v1 import hardware_service_pb2, probe_pb2
    request = hardware_service_pb2.RunProbeRequest(
        mode=probe_pb2.ProbeMode.Value(mode), devices=uuids)
    results = []
    fractions = []
    try:
        for event in hardware._probe(request, timeout=300):
            if event.HasField("result"):
                results.append(event.result)
            else:
                fractions.append(event.progress.fraction)
    except grpc.RpcError as error:
        return results, fractions, error
    return results, fractions, None


def metrics_of(server):
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=60) as answer:
        return answer.read().decode()


def check_a_busy_gpu(server, hardware):
    """It is refused; the processor is measured all the same."""
    devices = [entry.device for entry in hardware.devices()]
    assert len(devices) == 9 and devices[0].uuid == FIRST_GPU, devices
    assert devices[8].uuid.startswith("CPU-"), devices[8]
    # The first mode that a busy host has time enough for.
    for mode in ("PROBE_MODE_QUICK", "PROBE_MODE_STANDARD", "PROBE_MODE_FULL"):
        results, fractions, error = probe(hardware, mode, FIRST_GPU, "host")
        if results:
            break
    info = reason_of(error)
    assert error.code() == grpc.StatusCode.FAILED_PRECONDITION, error
    assert info.reason == "PROBE_REFUSED" and info.metadata["reason"] == "busy", info
    assert info.metadata["device_uuid"] == FIRST_GPU, info
    (result,) = results
    assert result.in_use and result.calibration.device.uuid == devices[8].uuid, result
    assert fractions == sorted(fractions) and fractions[-1] == 1, fractions
    text = metrics_of(server)
    assert 'sextant_gpu_probe_refusals_total{reason="busy"} 0' not in text, text
    assert 'sextant_gpu_probe_state{state="ok"} 1' in text, text


def check_all_eight(server, hardware):
    """Without devices all GPUs are measured, one after another."""
    results, fractions, error = probe(hardware, "PROBE_MODE_QUICK")
    assert error is None, error
    uuids = [result.calibration.device.uuid for result in results]
    assert len(set(uuids)) == 8 and all(uuid.startswith("GPU-") for uuid in uuids), uuids
    assert all(result.in_use for result in results)
    assert fractions == sorted(fractions) and fractions[-1] == 1, fractions
    assert all(entry.HasField("measured_time") for entry in hardware.devices())
    assert 'sextant_gpu_probe_runs_total{outcome="ok"} 8' in metrics_of(server)


def check_a_driver_that_is_too_old(server, hardware):
    """The processor is listed, and metrics say why there is no GPU."""
    (device,) = [entry.device for entry in hardware.devices()]
    assert device.uuid.startswith("CPU-"), device
    assert 'sextant_gpu_probe_state{state="driver_too_old"} 1' in metrics_of(server)


def main():
    if os.path.exists("/proc/driver/nvidia/version") or not os.path.isdir(FAKE_DRIVER):
        print(f"skipped: this host has a driver of its own, or there is no {FAKE_DRIVER}")
        return SKIPPED
    fake = {"LD_LIBRARY_PATH": FAKE_DRIVER}
    scripted = f"--probe_program={os.path.join(BIN, 'fake-probe')}"
    for variables, flags, check in (
            ({**fake, "SEXTANT_FAKE_GPU": "busy"}, (), check_a_busy_gpu),
            ({**fake, "SEXTANT_FAKE_GPU": "old"}, (), check_a_driver_that_is_too_old),
            ({"SEXTANT_FAKE": "eight_gpus"}, (scripted,), check_all_eight)):
        with Surroundings(**variables), Server("--probe_metrics=full", *flags) as server, \
                grpc.insecure_channel(server.address) as channel:
            check(server, Hardware(channel))
    print("eight GPUs are listed and measured one by one; a busy one costs no other its figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
