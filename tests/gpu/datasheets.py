"""Datasheet figures that measured ones are shown beside: those of engine/hardware/
catalogue_nvidia.cc, by the names that drivers report."""

from collections import namedtuple

Datasheet = namedtuple("Datasheet", "gpu_key memory_bytes_per_second bf16_flops_per_second")

DATASHEETS = {
    "A100-SXM4-40GB": Datasheet("a100-sxm-40", 1555e9, 312e12),
    "A100-SXM4-80GB": Datasheet("a100-sxm-80", 2039e9, 312e12),
    "A100 80GB PCIe": Datasheet("a100-pcie-80", 1935e9, 312e12),
    "H100 80GB HBM3": Datasheet("h100-sxm", 3350e9, 989.4e12),
    "H100 PCIe": Datasheet("h100-pcie", 2000e9, 756e12),
    "H100 NVL": Datasheet("h100-nvl", 3900e9, 835.5e12),
    "H200": Datasheet("h200-sxm", 4800e9, 989.4e12),
    "H200 NVL": Datasheet("h200-nvl", 4800e9, 835.5e12),
    "B200": Datasheet("b200-sxm", 8000e9, 2250e12)}


def datasheet_of(reported_name):
    """By the name that the driver reports, e.g. "NVIDIA H200"; None where it is not listed."""
    prefix = "NVIDIA "
    name = reported_name[len(prefix):] if reported_name.startswith(prefix) else reported_name
    return DATASHEETS.get(name)


# FLOPs that one multiprocessor's matrix units do in a clock at most, dense, bf16, by compute
# capability: those of gpu_probe/points/matmul.cc, whose sources docs/health.md has.
BF16_FLOPS_A_CLOCK = {"8.0": 2048, "9.0": 4096, "10.0": 8192}


def bf16_limit(device, sm_clock_hertz):
    """FLOP/s at that clock, of a device as the probe lists it; None where it is not known."""
    each = BF16_FLOPS_A_CLOCK.get(device.get("computeCapability"))
    units = int(device.get("computeUnitCount", 0))
    return each * units * sm_clock_hertz if each and units and sm_clock_hertz else None
