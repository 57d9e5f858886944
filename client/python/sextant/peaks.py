"""Peaks and other figures of accelerators, each with its source: no planner is asked."""
from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any, Dict, List

from .catalogue import ACCELERATORS, REPORTED_NAMES

if TYPE_CHECKING:
    from . import types

# torch's names. Its fp8 formats share one peak.
_TORCH_TYPES = {"float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32",
                "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float8_e4m3fn": "fp8",
                "float8_e5m2": "fp8"}


class Figure(float):
    """A number that says where it is from."""

    source: str

    def __new__(cls, value: float, source: str) -> Figure:
        figure = super().__new__(cls, value)
        figure.source = source
        return figure


def _comparable(name: str) -> str:
    return re.sub(r"[\s_-]", "", name).lower()


def _by_name() -> Dict[str, types.Accelerator]:
    rows = {}
    for row in ACCELERATORS:
        rows[_comparable(row["name"])] = rows[_comparable(row["productName"])] = row
    for reported, name in REPORTED_NAMES.items():
        rows[_comparable(reported)] = rows[_comparable(name)]
    return rows


_ROWS = _by_name()


def accelerators() -> List[types.Accelerator]:
    """All that the catalogue has, with sources."""
    return list(ACCELERATORS)


def accelerator(name: str) -> types.Accelerator:
    """The product of that name: the catalogue's ("h100-sxm"), the product's, or what
    torch.cuda.get_device_name() says ("NVIDIA H100 80GB HBM3", "AMD Instinct MI300X"). KeyError has
    near names; a family ("H100") is none, since its members differ."""
    wanted = _comparable(name)
    for spelling in (wanted, re.sub(r"^(nvidia|amd)", "", wanted)):
        if spelling in _ROWS:
            return _ROWS[spelling]
    names = [row["name"] for row in ACCELERATORS]
    near = difflib.get_close_matches(name.lower(), names, 3) or [
        each for each in names if each.startswith(wanted)]
    hint = f"; near names: {', '.join(near)}" if near else ""
    raise KeyError(f"no accelerator {name!r} in the catalogue{hint}")


def peak_flops(name: str, dtype: Any = "bf16") -> Figure:
    """The dense peak of a product, in FLOP/s: the denominator of an MFU. `dtype` is "bf16", "fp8",
    ... or torch's. Of the matrix units where they have the type. KeyError where nothing is
    published."""
    row = accelerator(name)
    text = str(dtype).replace("torch.", "").lower()
    wanted = "DATA_TYPE_" + _TORCH_TYPES.get(text, text).upper()
    rates = [rate for rate in row["peakRates"] if rate["dataType"] == wanted]
    if not rates:
        known = sorted({rate["dataType"][len("DATA_TYPE_"):].lower() for rate in row["peakRates"]})
        raise KeyError(f"{row['name']} has no published peak in {dtype!r}; it has one in "
                       + ", ".join(known))
    best = max(rates, key=lambda rate: rate.get("matrixUnit", False))["flopsPerSecond"]
    return Figure(best["value"], best.get("source", ""))
