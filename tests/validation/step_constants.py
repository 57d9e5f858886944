"""The constants of software stacks and devices that are estimated again for each fold."""

from step_row import StepRow
from step_sources import holds, load


def constant_of(entry: dict) -> dict:
    neutral = 1 / entry["efficiency"] if "efficiency" in entry else entry["neutral"]
    return {"experts": False, **entry, "neutral": neutral}


CONSTANTS = [constant_of(entry) for entry in load("step_constants.yaml")]


def constants_of(row: StepRow) -> list[int]:
    """Indices of those that hold for it."""
    return [i for i, constant in enumerate(CONSTANTS) if holds(constant["where"], row)]
