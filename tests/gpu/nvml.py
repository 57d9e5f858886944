"""What NVML tells of one GPU, beside whatever runs on it: its state, processes, load, GPM, and how
long it takes to answer.

Numbers, structures and signatures are those of NVML's public header (nvml.h): nvmlMemory_v2_t,
nvmlUtilization_t, nvmlProcessInfo_t, nvmlGpmMetricsGet_t, nvmlGpmSupport_t.
"""

import ctypes
import math
import statistics
import threading
import time

LIBRARY = "libnvidia-ml.so.1"
GPM_SM, GPM_TENSOR, GPM_DRAM = 2, 5, 10
GPM_PAUSE_SECONDS = 0.2  # NVML wants 0.1 s at least
MOST_GPM_METRICS = 512  # headers have 98 to 333; as many as are asked for are touched
MOST_PROCESSES = 64
SM_CLOCK, MEMORY_CLOCK = 1, 2  # nvmlClockType_t
INSUFFICIENT_SIZE = 7  # nvmlReturn_t: more entries than the list has room for
LATENCY_CALLS = 200
MOST_LATENCY_SECONDS = 0.6  # of one call, all its repeats together

UINT, INT, ULL = ctypes.c_uint, ctypes.c_int, ctypes.c_ulonglong


class Memory2(ctypes.Structure):
    _fields_ = [("version", UINT), ("total", ULL), ("reserved", ULL), ("free", ULL), ("used", ULL)]


class Utilization(ctypes.Structure):
    _fields_ = [("gpu", UINT), ("memory", UINT)]


class Process(ctypes.Structure):
    _fields_ = [("pid", UINT), ("used", ULL), ("gpu_instance", UINT), ("compute_instance", UINT)]


class GpmSupport(ctypes.Structure):
    _fields_ = [("version", UINT), ("supported", UINT)]


class GpmMetric(ctypes.Structure):
    _fields_ = [("metric", UINT), ("status", INT), ("value", ctypes.c_double),
                ("names", ctypes.c_char_p * 3)]


class GpmQuery(ctypes.Structure):
    _fields_ = [("version", UINT), ("count", UINT), ("first", ctypes.c_void_p),
                ("second", ctypes.c_void_p), ("metrics", GpmMetric * MOST_GPM_METRICS)]


# name: (function after "nvmlDeviceGet", arguments before its results, the results' types).
STATE = {
    "power_milliwatts": ("PowerUsage", (), (UINT,)),
    "power_limit_milliwatts": ("EnforcedPowerLimit", (), (UINT,)),
    "energy_millijoules": ("TotalEnergyConsumption", (), (ULL,)),
    "temperature_celsius": ("Temperature", (0,), (UINT,)),
    "sm_clock_megahertz": ("ClockInfo", (SM_CLOCK,), (UINT,)),
    "memory_clock_megahertz": ("ClockInfo", (MEMORY_CLOCK,), (UINT,)),
    "maximum_sm_clock_megahertz": ("MaxClockInfo", (SM_CLOCK,), (UINT,)),
    "application_sm_clock_megahertz": ("ApplicationsClock", (SM_CLOCK,), (UINT,)),
    "application_memory_clock_megahertz": ("ApplicationsClock", (MEMORY_CLOCK,), (UINT,)),
    "performance_state": ("PerformanceState", (), (INT,)),
    "throttle_reasons": ("CurrentClocksEventReasons", (), (ULL,)),
    "pcie_generation": ("CurrPcieLinkGeneration", (), (UINT,)),
    "pcie_width": ("CurrPcieLinkWidth", (), (UINT,)),
    "maximum_pcie_generation": ("MaxPcieLinkGeneration", (), (UINT,)),
    "maximum_pcie_width": ("MaxPcieLinkWidth", (), (UINT,)),
    "persistence_mode": ("PersistenceMode", (), (INT,)),
    "compute_mode": ("ComputeMode", (), (INT,)),
    "mig_mode": ("MigMode", (), (UINT, UINT)),
    "ecc_mode": ("EccMode", (), (INT, INT)),
    # Uncorrected, since the driver was loaded.
    "uncorrected_ecc_errors": ("TotalEccErrors", (1, 0), (ULL,)),
    # Corrected, uncorrected, pending, failed.
    "remapped_rows": ("RemappedRows", (), (UINT, UINT, UINT, UINT)),
    "retired_pages_pending": ("RetiredPagesPendingStatus", (), (INT,))}

# What the probe's guard and its watch of conditions ask: gpu_probe/cuda/gpu_reading.cc,
# condition_watch.cc. Beside these the memory, the load and the two lists of processes.
WATCHED = ("temperature_celsius", "sm_clock_megahertz", "energy_millijoules", "throttle_reasons",
           "uncorrected_ecc_errors", "remapped_rows", "retired_pages_pending", "compute_mode",
           "mig_mode")


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

    def _call(self, name, *arguments, also=()):
        """The code that it answered: 0, or one of `also`."""
        try:
            function = getattr(self._library, name)
        except AttributeError as fault:
            raise NvmlFault(f"this NVML has no {name}") from fault
        code = function(*arguments)
        if code != 0 and code not in also:
            raise NvmlFault(f"{name} answers {code}")
        return code

    def _memory(self):
        memory = Memory2(version=ctypes.sizeof(Memory2) | 2 << 24)
        self._call("nvmlDeviceGetMemoryInfo_v2", self._device, ctypes.byref(memory))
        return memory

    def used_bytes(self):
        """Of its memory, by all processes, without what the driver keeps back."""
        return self._memory().used

    def busy_percent(self):
        load = Utilization()
        self._call("nvmlDeviceGetUtilizationRates", self._device, ctypes.byref(load))
        return load.gpu

    def processes(self):
        """[{"pid", "used_bytes"}] of those that compute, as NVML numbers them: in a container often
        none, or others' numbers."""
        count, entries = UINT(MOST_PROCESSES), (Process * MOST_PROCESSES)()
        self._call("nvmlDeviceGetComputeRunningProcesses_v3", self._device, ctypes.byref(count),
                   entries, also=(INSUFFICIENT_SIZE,))
        return [{"pid": entry.pid, "used_bytes": entry.used}
                for entry in entries[:min(count.value, MOST_PROCESSES)]]

    def _count(self, kind):
        """How many processes there are, asked as the probe's guard asks: with room for none."""
        count = UINT(0)
        self._call(f"nvmlDeviceGet{kind}RunningProcesses_v3", self._device, ctypes.byref(count),
                   None, also=(INSUFFICIENT_SIZE,))
        return count.value

    def value(self, name):
        """One of STATE: a number, or a list where it has several."""
        function, before, kinds = STATE[name]
        results = [kind() for kind in kinds]
        self._call(f"nvmlDeviceGet{function}", self._device, *before, *map(ctypes.byref, results))
        values = [result.value for result in results]
        return values[0] if len(values) == 1 else values

    def state(self):
        """All of STATE that is told, memory, load and processes; "untold" says why of the rest."""
        asked = {name: lambda name=name: self.value(name) for name in STATE}
        asked.update(used_bytes=self.used_bytes, reserved_bytes=lambda: self._memory().reserved,
                     free_bytes=lambda: self._memory().free, busy_percent=self.busy_percent,
                     processes=self.processes)
        out, untold = {}, {}
        for name, question in asked.items():
            try:
                out[name] = question()
            except NvmlFault as fault:
                untold[name] = str(fault)
        return {**out, "untold": untold}

    def latencies(self, calls=LATENCY_CALLS):
        """{name: {"median_seconds", "maximum_seconds", "count"}} of what the probe asks while it
        measures, each asked that often; fewer times where it is slow, and {"untold"} where it does
        not answer."""
        asked = {name: lambda name=name: self.value(name) for name in WATCHED}
        asked.update(memory=self._memory, load=self.busy_percent,
                     processes=lambda: self._count("Compute"),
                     mps_processes=lambda: self._count("MPSCompute"))
        return {name: self._latency(question, calls) for name, question in asked.items()}

    @staticmethod
    def _latency(question, calls):
        times, begin = [], time.perf_counter()
        while len(times) < calls and time.perf_counter() - begin < MOST_LATENCY_SECONDS:
            before = time.perf_counter()
            try:
                question()
            except NvmlFault as fault:
                return {"untold": str(fault)}
            times.append(time.perf_counter() - before)
        return {"median_seconds": statistics.median(times), "maximum_seconds": max(times),
                "count": len(times)}

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
    time was up before, or there is no NVML to ask (`gpu` None)."""
    if gpu is None:
        return False
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
