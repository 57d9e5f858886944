"""A fleet of simulated GPUs: the fleet set's series of each, as an agent's /metrics shows them.

Rates are drawn once, from the GPU's own number, so that a fleet is the same at each start.
"""

import dataclasses
import random


@dataclasses.dataclass(frozen=True)
class Product:
    """Rates of a typical GPU of a product, and its datasheet's, in base units."""
    name: str
    bf16_peak: float
    fp8_peak: float
    bf16_burst: float
    bf16_sustained: float
    fp8_sustained: float
    memory_peak: float
    memory_copy: float
    memory_bytes: int
    link: float


H100 = Product("NVIDIA H100 80GB HBM3", 989.4e12, 1978.9e12, 7.6e14, 6.9e14, 1.25e15, 3.35e12,
               3.0e12, 85899345920, 3.6e11)
H200 = Product("NVIDIA H200", 989.4e12, 1978.9e12, 7.8e14, 7.0e14, 1.3e15, 4.8e12, 4.1e12,
               150754820096, 3.6e11)
B200 = Product("NVIDIA B200", 2250e12, 4500e12, 1.75e15, 1.55e15, 2.9e15, 7.7e12, 6.6e12,
               191503532032, 6.8e11)
PRODUCTS = (H100, H200, B200)


@dataclasses.dataclass(frozen=True)
class Gpu:
    """One simulated GPU; `slowdown` is the share of its rates that it lacks."""
    hostname: str
    index: int
    product: Product = H100
    slowdown: float = 0.0
    healthy: bool = True
    stable: bool = True

    @property
    def uuid(self):
        digits = f"{random.Random(f'{self.hostname}/{self.index}').getrandbits(128):032x}"
        parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
        return "GPU-" + "-".join(parts)

    def labels(self):
        return (f'UUID="{self.uuid}",gpu="{self.index}",'
                f'pci_bus_id="0000:{self.index + 16:02x}:00.0",'
                f'modelName="{self.product.name}",hostname="{self.hostname}"')

    def fleet_set(self, measured_at):
        """(metric, its own labels, value) of the 16 series; `measured_at` is in Unix time."""
        draw = random.Random(self.uuid)

        def measured(rate):
            return rate * (1 - self.slowdown) * draw.gauss(1, 0.008)

        product = self.product
        burst = measured(product.bf16_burst)
        matmul = "sextant_gpu_matmul_flops_per_second"
        peak = "sextant_gpu_peak_flops_per_second"
        copy = "sextant_gpu_host_copy_bytes_per_second"
        return (
            (matmul, 'dtype="bf16",window="burst"', burst),
            (matmul, 'dtype="bf16",window="sustained"', measured(product.bf16_sustained)),
            (matmul, 'dtype="fp8",window="sustained"', measured(product.fp8_sustained)),
            (peak, 'dtype="bf16"', product.bf16_peak),
            (peak, 'dtype="fp8"', product.fp8_peak),
            ("sextant_gpu_matmul_efficiency_ratio", 'dtype="bf16"', burst / product.bf16_peak),
            ("sextant_gpu_memory_bandwidth_bytes_per_second", 'op="copy"',
             measured(product.memory_copy)),
            ("sextant_gpu_peak_memory_bandwidth_bytes_per_second", "", product.memory_peak),
            (copy, 'direction="h2d",memory="pinned"', measured(5.5e10)),
            (copy, 'direction="d2h",memory="pinned"', measured(5.4e10)),
            ("sextant_gpu_link_bandwidth_bytes_per_second", 'link="nvlink"',
             measured(product.link)),
            ("sextant_gpu_memory_total_bytes", "", product.memory_bytes),
            ("sextant_gpu_sm_clock_hertz", "", round(measured(1.7e9), -6)),
            ("sextant_gpu_healthy", "", int(self.healthy)),
            ("sextant_gpu_probe_last_success_timestamp_seconds", "", round(measured_at)),
            ("sextant_gpu_probe_stable", "", int(self.stable)),
        )


def exposition(gpus, measured_at):
    """The text of a scrape: each metric's series together."""
    by_name = {}
    for gpu in gpus:
        labels = gpu.labels()
        for name, more, value in gpu.fleet_set(measured_at):
            text = f"{name}{{{labels}{',' if more else ''}{more}}} {value:.10g}"
            by_name.setdefault(name, []).append(text)
    lines = []
    for name, series in by_name.items():
        lines.append(f"# TYPE {name} gauge")
        lines += series
    return "\n".join(lines) + "\n"


def host_gpus(number, gpus_per_host=8):
    """GPUs of a fleet's host: a third of the hosts of each product, one GPU in 500 slow."""
    hostname = f"node-{number:05d}"
    product = PRODUCTS[number % len(PRODUCTS)]
    for index in range(gpus_per_host):
        is_slow = (number * gpus_per_host + index) % 500 == 250
        yield Gpu(hostname, index, product, slowdown=0.1 if is_slow else 0.0)
