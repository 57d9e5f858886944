"""SkyPilot: `admin_policy: sextant.policies.skypilot.SextantPolicy` in its configuration.

A task whose `envs` has SEXTANT_PLAN ("llama-3.1-8b --tokens=1T --gbs=64 ...") is judged on its
GPUs; it finds the layout in its environment. Any other passes.
"""
from __future__ import annotations

from typing import Any, Optional, Tuple

import sky

from . import VARIABLE, check


def gpus_of(task: Any) -> Tuple[str, Optional[int]]:
    """Name and number of the task's GPUs; none where its resources leave a choice."""
    asked = {tuple(sorted((resources.accelerators or {}).items())) for resources in task.resources}
    if len(asked) != 1:
        return "", None
    kinds = asked.pop()
    if len(kinds) != 1:
        return "", None
    name, count = kinds[0]
    return name, int(count * (task.num_nodes or 1))


class SextantPolicy(sky.AdminPolicy):  # type: ignore[misc]  # no types where sky is not installed
    """Refuses tasks that don't fit."""

    @classmethod
    def validate_and_mutate(cls, user_request: Any) -> Any:
        """What SkyPilot calls before each launch; what it raises refuses the launch."""
        task = user_request.task
        words = (task.envs or {}).get(VARIABLE)
        if words:
            accelerator, devices = gpus_of(task)
            admission = check(words, devices=devices, accelerator=accelerator,
                              job_name=task.name or "")
            if admission is not None:
                task.update_envs(admission.layout)
        return sky.MutatedUserRequest(task, user_request.skypilot_config)
