#!/usr/bin/python3
"""The server watches GPUs through NVML, and maps no other library of the driver's or of CUDA's:
not while a probe measures one of them, not afterwards. Its GPUs are fakes under the driver's
names: NVML's is a file of its own, so that the server's map of memory tells it from the rest."""

import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import urllib.request

from probe_test import Hardware, processes_of
from sextantd import BIN, SKIPPED, Server
from api import grpc

FAKE = os.path.join(BIN, "fake_cuda_driver", "libcuda.so.1")
NVML = "libnvidia-ml.so.1"
GPU = "GPU-01010101-0101-0101-0101-010101010101"  # the first
FORBIDDEN = ("libcuda.so.1", "libcublasLt.so.13", "libcublasLt.so.12", "libcudnn.so.9",
             "libnccl.so.2", "libcudart.so.13")
OF_CUDA = re.compile(r"lib(cuda|cudart|cublas|cublasLt|cudnn|nccl|cupti|nvrtc)\b")


def lay_out(folder):
    """The fake driver in `folder`: NVML, and one file under all other names."""
    for name in (NVML, "libcuda.so.1"):
        shutil.copyfile(os.path.realpath(FAKE), os.path.join(folder, name))
    for name in FORBIDDEN:
        if name != "libcuda.so.1":
            os.symlink("libcuda.so.1", os.path.join(folder, name))


def mapped(process):
    """Names of the files that `process` has mapped as code; none where it has ended."""
    try:
        with open(f"/proc/{process}/maps", encoding="utf-8", errors="replace") as maps:
            files = {line.split(None, 5)[5].strip() for line in maps if line.count("/")}
    except OSError:
        return set()
    return {os.path.basename(os.path.realpath(path)) for path in files}


class Watch:
    """Reads the maps of a server, and of the probes that it starts, over and over."""

    def __init__(self, server):
        self.server = server
        self.of_server = set()
        self.of_probes = set()
        self.reading_count = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def run(self):
        while not self.ended.is_set():
            self.of_server |= mapped(self.server)
            for probe in processes_of(self.server):
                if image_of(probe) == "sextant-probe":
                    self.of_probes |= mapped(probe)
            self.reading_count += 1
            time.sleep(0.002)


def image_of(process):
    """The name of the program that it runs; "" where it has ended. Until a probe has become
    sextant-probe that is the server's own."""
    try:
        return os.path.basename(os.readlink(f"/proc/{process}/exe"))
    except OSError:
        return ""


def metrics(server):
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=20) as answer:
        return answer.read().decode()


def wait_for(what, condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"a minute without {what}")


def probe(hardware, uuid):
    """Asks for a measurement of a GPU; how that ended."""
    from sextant.v1 import probe_pb2
    request = hardware.api.RunProbeRequest(
        mode=probe_pb2.ProbeMode.Value("PROBE_MODE_QUICK"), devices=[uuid])
    try:
        return list(hardware._probe(request, timeout=200))[-1]
    except grpc.RpcError as error:
        return error.details()


def check_what_is_mapped(server, channel):
    with Watch(server.process.pid) as watch:
        hardware = Hardware(channel)
        listed = {entry.device.uuid for entry in hardware.devices()}
        assert GPU in listed and len(listed) >= 8, listed
        ended = probe(hardware, GPU)
        wait_for("activity", lambda: "sextant_gpu_tensor_active_ratio" in metrics(server))
        count = watch.reading_count
        wait_for("readings", lambda: watch.reading_count > count + 20)
    assert "libcuda.so.1" in watch.of_probes, (ended, watch.of_probes)
    assert NVML in watch.of_server, watch.of_server
    wrong = {name for name in watch.of_server if OF_CUDA.match(name)}
    assert not wrong, wrong
    for name in FORBIDDEN:
        assert OF_CUDA.match(name), "this test would not see it"


def check_the_gauges(server):
    text = metrics(server)
    for name, value in (("tensor", "0.5"), ("memory", "0.25"), ("sm", "0.75")):
        lines = re.findall(rf"^sextant_gpu_{name}_active_ratio{{(.*)}} (\S+)$", text, re.M)
        assert len(lines) == 8 and {found for _, found in lines} == {value}, lines
        for labels, _ in lines:
            for label in ("UUID", "gpu", "pci_bus_id", "modelName", "hostname"):
                assert f'{label}="' in labels, labels


def check_a_driver_that_hangs():
    """NVML holds one thread for ever: nobody else waits, and the server stops when it is told."""
    with Server("--gpu_sampling=100ms", "--drain_announce_seconds=0") as server:
        wait_for("NVML", lambda: NVML in mapped(server.process.pid))
        time.sleep(0.5)
        started = time.monotonic()
        text = metrics(server)
        assert time.monotonic() - started < 10 and "_active_ratio" not in text, text
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=60) == 0


def check_that_nobody_looks():
    with Server("--gpu_sampling=none") as server:
        wait_for("an answer", lambda: "sextant_build_info" in metrics(server))
        assert NVML not in mapped(server.process.pid)


def main():
    if not os.path.exists(FAKE) or not os.access(os.path.join(BIN, "sextant-probe"), os.X_OK):
        print(f"skipped: there is no {FAKE}, or no sextant-probe in {BIN}")
        return SKIPPED
    if os.path.exists("/proc/driver/nvidia/version"):
        print("skipped: this host has a driver of its own")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        lay_out(folder)
        os.environ["LD_LIBRARY_PATH"] = folder
        with Server("--gpu_sampling=100ms") as server, \
                grpc.insecure_channel(server.address) as channel:
            check_what_is_mapped(server, channel)
            check_the_gauges(server)
        check_that_nobody_looks()
        os.environ["SEXTANT_FAKE_GPU"] = "hang"
        check_a_driver_that_hangs()
    print("NVML is mapped, and nothing else of the driver's or of CUDA's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
