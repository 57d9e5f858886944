"""What columns of a published run say about software, machines and number formats, in the service's
names."""

from typing import NamedTuple

from cells import Row, Undescribed
from step_data import load


class Software(NamedTuple):
    """A training framework as the table's column names it, releases together."""

    column: str  # what the column starts with
    name: str  # of it in reports
    stack: str  # layout.software.name
    kind: str = "KIND_UNSPECIFIED"  # of FrameworkMemory
    unfused_attention: bool = False  # before 2023
    dropout: bool = False  # in all of its models
    pads_vocabulary: bool = False  # to 128 times the tensor parallel size (Megatron)


class Hardware(NamedTuple):
    """A kind of device and server."""

    column: str  # what column gpu_key starts with
    label: str  # of it in reports
    accelerator: str  # of the catalogue
    node_type: str
    network_gigabits: float  # of one device, where the row says nothing else
    # Of a device that differs from `accelerator`, over that one's: times of products (a lower power
    # limit) and of passes over memory.
    product_time_ratio: float = 1
    memory_time_ratio: float = 1
    power_open: bool = False


KNOWN = load("step_sources.yaml")
SOFTWARE = [Software(**entry) for entry in KNOWN["software"]]
HARDWARE = [Hardware(**entry) for entry in KNOWN["hardware"]]
LIMITED_B200 = Hardware(**KNOWN["limited"])


class Format(NamedTuple):
    """The number format of matrix products."""

    name: str
    type: str
    row_scaled: bool = False  # one scale a row of a matrix

    @property
    def narrow(self) -> bool:
        return self.name not in ("bf16", "fp16")


def software_of(row: Row) -> Software:
    column = row.get("framework", "")
    for software in SOFTWARE:
        if column.startswith(software.column):
            return software
    raise Undescribed(f"no stack for its framework: {column}")


def hardware_of(row: Row) -> Hardware:
    if "power limited" in row.get("hardware", ""):
        return LIMITED_B200
    for hardware in HARDWARE:
        if row.get("gpu_key", "").startswith(hardware.column):
            return hardware
    raise Undescribed(f"hardware not timed: {row.get('hardware', '')}")


def network_of(row: Row, hardware: Hardware) -> float:
    """Bytes a second of one device between servers."""
    for note, gigabits in KNOWN["networks"].items():
        if note in row.get("hardware_note", ""):
            return gigabits * (1e9 / 8)
    return hardware.network_gigabits * (1e9 / 8)


def format_of(row: Row) -> Format:
    text = row.get("precision", "").lower()
    if "nvfp4" in text:
        return Format("nvfp4", "DATA_TYPE_NVFP4")
    if "mxfp8" in text or "fp8-mx" in text:
        return Format("mxfp8", "DATA_TYPE_MXFP8")
    if "fp8" in text or "float8" in text:
        return Format("fp8", "DATA_TYPE_FP8_E4M3", "rowwise" in text)
    # BLOOM's trials: mostly bf16 with a memory footprint as fp16's, their names printed together.
    for name in ("bf16", "fp16"):
        if name in text:
            return Format(name, f"DATA_TYPE_{name.upper()}")
    raise Undescribed("precision not published")
