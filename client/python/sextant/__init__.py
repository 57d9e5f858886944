"""Sextant: what a training run of a large model will cost, whether it fits, and its best layout.

    import sextant
    plan = sextant.plan("llama-3.1-8b", tokens="1T", sequence_length=8192, gbs=64,
                        accelerator="h100-sxm", devices=16)
    print(plan.fits, plan.step_seconds, plan.layout)

Functions ask the planner at $SEXTANT_HTTP_ADDRESS, else at 127.0.0.1:9464; Client and AsyncClient
one of your choice. docs/python.md has more.
"""
from __future__ import annotations

from importlib import import_module
from pkgutil import extend_path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .peaks import Figure, accelerator, accelerators, peak_flops
    from .client import Admission, AsyncClient, Client, default_client
    from .errors import DeadlineExceeded, FieldError, SextantError, Unavailable
    from .plans import Plan
    from .version import __version__

    _client = Client()
    plan = _client.plan
    search = _client.search
    memory = _client.memory
    compare = _client.compare
    count = _client.count
    size_cluster = _client.size_cluster
    finetune = _client.finetune
    admit = _client.admit

# Stubs of protoc, which are the package sextant.v1, may stand elsewhere on the path.
__path__ = extend_path(__path__, __name__)

# Loaded where they are used first: a training loop takes sextant.progress alone.
_HOMES = {"accelerator": "peaks", "accelerators": "peaks",
          "peak_flops": "peaks", "Figure": "peaks",
          "Admission": "client", "AsyncClient": "client", "Client": "client",
          "default_client": "client", "DeadlineExceeded": "errors", "FieldError": "errors",
          "SextantError": "errors", "Unavailable": "errors", "Plan": "plans",
          "__version__": "version"}
_CALLS = ("plan", "search", "memory", "compare", "count", "size_cluster", "finetune", "admit")

__all__ = [
    "Admission", "AsyncClient", "Client", "DeadlineExceeded", "FieldError", "Figure", "Plan",
    "SextantError", "Unavailable", "__version__", "accelerator", "accelerators", "admit",
    "compare", "count", "default_client", "finetune", "memory", "peak_flops", "plan", "search",
    "size_cluster"]


def __getattr__(name: str) -> Any:
    if name in _CALLS:
        return getattr(import_module(".client", __name__).default_client(), name)
    if name in _HOMES:
        return getattr(import_module("." + _HOMES[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
