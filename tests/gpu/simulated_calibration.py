"""Calibrations of a simulated GPU for tests, as sextant-probe writes them: every time follows a
law."""

ANCHORS = [(m, n, k) for m in (1, 16, 64, 256, 1024, 4096, 8192)
           for n in (1024, 4096, 16384) for k in (1024, 4096, 16384)]
RATES = {"DATA_TYPE_BF16": (7e14, 2), "DATA_TYPE_FP8_E4M3": (1.3e15, 1)}
MEMORY_RATE = 4.2e12
ATTENTION = [(batch, sequence, heads, kv_heads, 128)
             for batch, sequence in ((1, 1024), (1, 4096), (4, 2048), (2, 8192), (8, 1024))
             for heads, kv_heads in ((32, 8), (32, 32))]


def matmul_law(data_type, m, n, k):
    """Seconds: arithmetic, memory and a launch one after the other."""
    rate, size = RATES[data_type]
    return 2 * m * n * k / rate + (size * (m * k + n * k) + 2 * m * n) / MEMORY_RATE + 3e-6


def attention_law(batch, sequence, heads, head_size, backward=False):
    flops = 4 * head_size * sequence * (sequence + 1) / 2 * batch * heads
    return (2.5 * flops / 4e14 if backward else flops / 5e14) + 8e-6


def time_of(seconds):
    return {"medianSeconds": seconds, "relativeSpread": 0.002, "p10Seconds": 0.998 * seconds,
            "p90Seconds": 1.002 * seconds, "sampleCount": 12, "repetitionCount": "10",
            "stable": True}


def matmul(data_type, m, n, k, slowness=1.0, window="BURST", purpose="GRID", **more):
    seconds = slowness * matmul_law(data_type, m, n, k)
    return {"dataType": data_type, "m": str(m), "n": str(n), "k": str(k),
            "window": f"WINDOW_{window}", "purpose": f"PURPOSE_{purpose}",
            "time": time_of(seconds), "flopsPerSecond": 2 * m * n * k / seconds,
            "engine": "cublaslt 13.1.0", **more}


def attention(shape, backward):
    batch, sequence, heads, kv_heads, head_size = shape
    seconds = attention_law(batch, sequence, heads, head_size, backward)
    flops = 4 * head_size * sequence * (sequence + 1) / 2 * batch * heads
    return {"dataType": "DATA_TYPE_BF16",
            "trainingPass": "PASS_BACKWARD" if backward else "PASS_FORWARD", "batch": str(batch),
            "sequenceLength": str(sequence), "heads": str(heads), "kvHeads": str(kv_heads),
            "headSize": str(head_size), "valueHeadSize": str(head_size), "causal": True,
            "time": time_of(seconds),
            "flopsPerSecond": (2.5 if backward else 1) * flops / seconds,
            "engine": "cudnn 9.19.0"}


def host_copy(direction, size_bytes, rate):
    return {"direction": direction, "sizeBytes": str(size_bytes),
            "time": time_of(size_bytes / rate), "bytesPerSecond": rate}


def copy(array_bytes):
    return {"operation": "OPERATION_COPY", "arrayBytes": str(array_bytes), "mainMemory": True,
            "time": time_of(2 * array_bytes / MEMORY_RATE), "bytesPerSecond": MEMORY_RATE}


def calibration(mode, slowness=1.0, types=tuple(RATES), measured_time="2026-01-02T03:04:05Z"):
    """Of mode "quick" (one shape a type), "standard" or "full". `slowness` multiplies the times of
    matrix multiplications."""
    shapes = [(8192, 8192, 8192)] if mode == "quick" else ANCHORS + [(8192, 8192, 8192)]
    out = {"schemaVersion": 2,
           "device": {"uuid": "GPU-01010101-0101-0101-0101-010101010101",
                      "kind": "DEVICE_KIND_GPU", "productName": "NVIDIA H200",
                      "hostname": "simulated", "memoryBytes": "150109945856",
                      "cacheBytes": "62914560", "computeUnitCount": "132",
                      "powerLimitWatts": 700, "computeCapability": "9.0",
                      "driverVersion": "580.65.06", "cudaVersion": "13.0"},
           "measuredTime": measured_time, "probeVersion": "sextant-probe 0.1.0",
           "mode": f"PROBE_MODE_{mode.upper()}", "durationSeconds": 4.2, "coverageRatio": 1,
           "matmuls": [matmul(t, *shape, slowness) for t in types for shape in shapes],
           "streams": [copy(2 << 30)], "checkedResultCount": "100",
           "conditions": {"readingCount": 90, "smClockHertz": 1.7e9, "powerWatts": 650,
                          "powerThrottleRatio": 0.25, "peakAllocatedBytes": str(1 << 30)}}
    if mode != "quick":
        out["matmuls"].append(matmul("DATA_TYPE_BF16", 8192, 8192, 8192, 1.1 * slowness,
                                     window="SUSTAINED"))
        out["hostCopies"] = [host_copy("DIRECTION_HOST_TO_DEVICE", 256 << 20, 5.5e10),
                              host_copy("DIRECTION_DEVICE_TO_HOST", 256 << 20, 5.2e10)]
        out["attentions"] = [attention(shape, False) for shape in ATTENTION]
    if mode == "full":
        out["attentions"] += [attention(shape, True) for shape in ATTENTION]
    return out
