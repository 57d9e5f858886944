"""What NVML tells of one GPU, beside whatever runs on it: memory, processes, load, GPM.

Numbers and structures are those of NVML's public header (nvml.h): nvmlMemory_v2_t,
nvmlUtilization_t, nvmlGpmMetricsGet_t, nvmlGpmSupport_t.
"""

import ctypes
import math
import threading
import time

LIBRARY = "libnvidia-ml.so.1"
GPM_SM, GPM_TENSOR, GPM_DRAM = 2, 5, 10
GPM_PAUSE_SECONDS = 0.2  # NVML wants 0.1 s at least
MOST_GPM_METRICS = 512  # headers have 98 to 333; as many as are asked for are touched


class Memory2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong),
                ("reserved", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                ("used", ctypes.c_ulonglong)]


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class GpmSupport(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("supported", ctypes.c_uint)]


class GpmMetric(ctypes.Structure):
    _fields_ = [("metric", ctypes.c_uint), ("status", ctypes.c_int), ("value", ctypes.c_double),
                ("names", ctypes.c_char_p * 3)]


class GpmQuery(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("count", ctypes.c_uint),
                ("first", ctypes.c_void_p), ("second", ctypes.c_void_p),
                ("metrics", GpmMetric * MOST_GPM_METRICS)]


class NvmlFault(Exception):
    """NVML is not there, or does not tell."""


class Gpu:
    """The GPU of that UUID."""

    def __init__(self, uuid):
        try:
            self._library = ctypes.CDLL(LIBRARY)
        except OSError as fault:
            raise NvmlFault(str(fault)) from fault
        self._call("nvmlInit_v2")
        self._device = ctypes.c_void_p()
        self._call("nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self._device))

    def _call(self, name, *arguments):
        try:
            function = getattr(self._library, name)
        except AttributeError as fault:
            raise NvmlFault(f"this NVML has no {name}") from fault
        code = function(*arguments)
        if code != 0:
            raise NvmlFault(f"{name} answers {code}")

    def used_bytes(self):
        """Of its memory, by all processes, without what the driver keeps back."""
        memory = Memory2(version=ctypes.sizeof(Memory2) | 2 << 24)
        self._call("nvmlDeviceGetMemoryInfo_v2", self._device, ctypes.byref(memory))
        return memory.used

    def busy_percent(self):
        load = Utilization()
        self._call("nvmlDeviceGetUtilizationRates", self._device, ctypes.byref(load))
        return load.gpu

    def gpm_ratios(self):
        """{"sm": ..., "tensor": ..., "memory": ...}, 0 to 1, over GPM_PAUSE_SECONDS."""
        support = GpmSupport(version=1)
        self._call("nvmlGpmQueryDeviceSupport", self._device, ctypes.byref(support))
        if not support.supported:
            raise NvmlFault("this GPU has no GPM")
        samples = [ctypes.c_void_p(), ctypes.c_void_p()]
        for sample in samples:
            self._call("nvmlGpmSampleAlloc", ctypes.byref(sample))
        try:
            self._call("nvmlGpmSampleGet", self._device, samples[0])
            time.sleep(GPM_PAUSE_SECONDS)
            self._call("nvmlGpmSampleGet", self._device, samples[1])
            return self._gpm_between(*samples)
        finally:
            for sample in samples:
                self._call("nvmlGpmSampleFree", sample)

    def _gpm_between(self, first, second):
        wanted = {"sm": GPM_SM, "tensor": GPM_TENSOR, "memory": GPM_DRAM}
        query = GpmQuery(version=1, count=len(wanted), first=first, second=second)
        for at, metric in enumerate(wanted.values()):
            query.metrics[at].metric = metric
        self._call("nvmlGpmMetricsGet", ctypes.byref(query))
        out = {}
        for at, name in enumerate(wanted):
            metric = query.metrics[at]
            if metric.status != 0 or not math.isfinite(metric.value):
                raise NvmlFault(f"GPM's metric {metric.metric} answers {metric.status}")
            out[name] = metric.value / 100
        return out


def open_gpu(uuid):
    """The Gpu of that UUID; None, with a line that says why, where NVML can't be asked."""
    try:
        return Gpu(uuid)
    except NvmlFault as fault:
        print(f"the GPU is not watched: {fault}")
        return None


def wait_until_idle(gpu, most_seconds=10):
    """Until NVML reports no load, which it does up to a second after the last work. False where the
    time was up before."""
    end = time.monotonic() + most_seconds
    while gpu.busy_percent() > 0:
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


class MemoryWatch:
    """Reads used_bytes() every `period` seconds from a thread, while it is entered."""

    def __init__(self, gpu, period=0.005):
        self._gpu, self._period, self._end = gpu, period, threading.Event()
        self.before_bytes = gpu.used_bytes()
        self.most_bytes = self.before_bytes
        self.reading_count = 0
        self._thread = threading.Thread(target=self._read, daemon=True)

    def _read(self):
        while not self._end.wait(self._period):
            try:
                self.most_bytes = max(self.most_bytes, self._gpu.used_bytes())
            except NvmlFault:
                return
            self.reading_count += 1

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def risen_bytes(self):
        return self.most_bytes - self.before_bytes
