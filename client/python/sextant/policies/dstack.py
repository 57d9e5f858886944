"""dstack: `plugins: [sextant]` in its server's config.yml, where the wheel is installed.

A run whose `env` has SEXTANT_PLAN ("llama-3.1-8b --tokens=1T --gbs=64 ...") is judged on its GPUs;
it finds the layout in its environment. Any other passes, and so do fleets, volumes and gateways.
"""
from __future__ import annotations

from typing import Any, List, Optional, Tuple

from dstack.plugins import ApplyPolicy, Plugin

from . import VARIABLE, check


def gpus_of(configuration: Any) -> Tuple[str, Optional[int]]:
    """Name and number of the run's GPUs; none where its resources leave a choice."""
    gpu = getattr(getattr(configuration, "resources", None), "gpu", None)
    if gpu is None or len(gpu.name or []) != 1 or gpu.count.min != gpu.count.max:
        return "", None
    return str(gpu.name[0]), int(gpu.count.min) * int(getattr(configuration, "nodes", 1) or 1)


class SextantPolicy(ApplyPolicy):  # type: ignore[misc]  # no types where dstack is not installed
    """Refuses runs that don't fit; a ValueError is how a policy does so."""

    def on_run_apply(self, user: str, project: str, spec: Any) -> Any:
        """What dstack calls for a plan, and again before the run."""
        env = spec.configuration.env
        words = env[VARIABLE] if VARIABLE in env else None
        if isinstance(words, str) and words:
            accelerator, devices = gpus_of(spec.configuration)
            admission = check(words, devices=devices, accelerator=accelerator,
                              job_name=spec.run_name or "", user=user)
            if admission is not None:
                env.update(admission.layout)
        return spec


class SextantPlugin(Plugin):  # type: ignore[misc]
    """What dstack looks for."""

    def get_apply_policies(self) -> List[ApplyPolicy]:
        """The one policy."""
        return [SextantPolicy()]
