#!/usr/bin/python3
"""The chain on this very host: the server runs sextant-probe, keeps what it measured over a
restart, and outlives the death of its probe; the probe does not outlive the server."""

import os
import signal
import sys
import tempfile
import time

from python_client_test import llama_request, plan_run
from sextantd import BIN, SKIPPED, Server
from api import grpc

if not os.access(os.path.join(BIN, "sextant-probe"), os.X_OK):
    print(f"skipped: there is no sextant-probe in {BIN}")
    sys.exit(SKIPPED)


class Hardware:
    """HardwareService of one server."""

    def __init__(self, channel):
        from sextant.v1 import hardware_service_pb2 as api
        self.api = api
        path = "/sextant.v1.HardwareService/"
        unary, stream = channel.unary_unary, channel.unary_stream
        self._list = unary(path + "ListDevices",
                           request_serializer=api.ListDevicesRequest.SerializeToString,
                           response_deserializer=api.ListDevicesResponse.FromString)
        self._get = unary(path + "GetCalibration",
                          request_serializer=api.GetCalibrationRequest.SerializeToString,
                          response_deserializer=api.GetCalibrationResponse.FromString)
        self._probe = stream(path + "RunProbe",
                             request_serializer=api.RunProbeRequest.SerializeToString,
                             response_deserializer=api.RunProbeResponse.FromString)

    def devices(self):
        return self._list(self.api.ListDevicesRequest(), timeout=60).devices

    def calibration(self):
        return self._get(self.api.GetCalibrationRequest(device="host"), timeout=60)

    def probe(self, mode):
        from sextant.v1 import probe_pb2
        request = self.api.RunProbeRequest(mode=probe_pb2.ProbeMode.Value(mode))
        return self._probe(request, timeout=200)


def reason_of(error):
    """The ErrorInfo of a failed call."""
    from google.rpc import error_details_pb2, status_pb2
    trailers = dict(error.trailing_metadata())
    wire = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    assert wire.details[0].Unpack(info)
    return info


def measure(hardware):
    """All events of a probe: of the first mode that a busy host has time enough for."""
    for mode in ("PROBE_MODE_QUICK", "PROBE_MODE_STANDARD"):
        try:
            return list(hardware.probe(mode))
        except grpc.RpcError as error:
            if reason_of(error).reason != "PROBE_TIMEOUT":
                raise
            print(f"{mode}: {error.details()}")
    return list(hardware.probe("PROBE_MODE_FULL"))


def check_a_probe(hardware):
    """Progress, then a result that is in use; its fingerprint."""
    (before,) = hardware.devices()
    assert before.device.uuid.startswith("CPU-"), before
    assert not before.HasField("measured_time"), before
    events = measure(hardware)
    *progress, last = events
    assert all(event.HasField("progress") for event in progress) and progress, events
    fractions = [event.progress.fraction for event in progress]
    assert fractions == sorted(fractions) and fractions[-1] <= 1, fractions
    result = last.result
    assert result.in_use and not result.storage_warning, result
    assert result.calibration.device.uuid == before.device.uuid
    assert result.calibration.matmuls, result
    # Copies that no cache holds may need more memory than a probe may take.
    assert result.calibration.streams or any("left out" in note
                                             for note in result.calibration.notes), result
    check_what_is_kept(hardware, result.fingerprint)
    return result.fingerprint


def check_what_is_kept(hardware, fingerprint):
    (entry,) = hardware.devices()
    assert entry.fingerprint == fingerprint and entry.age_seconds >= 0, entry
    kept = hardware.calibration()
    assert kept.fingerprint == fingerprint, kept
    assert all(matmul.flops_per_second > 0 for matmul in kept.calibration.matmuls)


def processes_of(parent):
    """The ids of the processes that `parent` started and that have not ended."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                state, its_parent = stat.read().rsplit(")", 1)[1].split()[:2]
        except (OSError, IndexError):
            continue  # no process, or one that has just ended
        if its_parent == str(parent) and state != "Z":
            found.append(int(name))
    return found


def check_a_killed_probe(server, hardware, channel):
    call = hardware.probe("PROBE_MODE_FULL")
    assert next(call).HasField("progress")
    (probe,) = processes_of(server.process.pid)
    os.kill(probe, signal.SIGKILL)
    try:
        for _ in call:
            pass
        raise AssertionError("a killed probe has a result")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE, error
        info = reason_of(error)
    assert info.reason == "PROBE_FAILED" and info.metadata["fault"] == "crashed", info
    assert plan_run(channel, llama_request()).plan.parameters.total > 0


def check_a_killed_server(server, hardware):
    call = hardware.probe("PROBE_MODE_FULL")
    assert next(call).HasField("progress")
    (probe,) = processes_of(server.process.pid)
    server.process.kill()
    server.process.wait()
    for _ in range(600):
        if not os.path.exists(f"/proc/{probe}") or is_zombie(probe):
            return
        time.sleep(0.1)
    raise AssertionError("the probe outlives its server")


def is_zombie(process):
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def main():
    with tempfile.TemporaryDirectory() as folder:
        directory = f"--calibration_directory={folder}/calibrations"
        with Server(directory) as server, grpc.insecure_channel(server.address) as channel:
            hardware = Hardware(channel)
            fingerprint = check_a_probe(hardware)
            check_a_killed_probe(server, hardware, channel)
            check_what_is_kept(hardware, fingerprint)
            check_a_killed_server(server, hardware)
        # The devices are listed by a probe, whose end a starter like this one would hide.
        starter = ("env", "--ignore-signal=CHLD")
        with Server(directory, starter=starter) as server, \
                grpc.insecure_channel(server.address) as channel:
            check_what_is_kept(Hardware(channel), fingerprint)
    print("probed, kept over a restart; neither survives the other's death in a bad state")
    return 0


if __name__ == "__main__":
    sys.exit(main())
