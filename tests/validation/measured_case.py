"""A published run whose memory somebody read, as requests to the service."""

import dataclasses
import enum
from typing import Any


class Definition(enum.IntEnum):
    """The quantity of a figure. Figures of two definitions are never in one statistic."""

    ALLOCATED = 0  # the most that the framework's allocator had handed out
    RESERVED = 1  # the most that it had taken from the driver
    PROCESS = 2  # what nvidia-smi or the like shows: reserved, context and communicators
    CALCULATED = 3  # no measurement: the source's own arithmetic

    def __str__(self) -> str:
        return self.name.lower()


# The two requests of a run; tables have them in alphabetical order.
ALL_FIELDS = "all fields given"
DEFAULTS = "defaults of the framework"

# A trait and assumption of runs.
CONTRADICTED = "contradicted by a repetition"

# Why a row is left out of which two columns can't both be right.
SELF_CONTRADICTING = "two of its columns contradict each other"


@dataclasses.dataclass
class MeasuredCase:
    """A run as a request with every field that its source publishes."""

    request: Any  # PlanRunRequest
    measured: list[tuple[Definition, int]]  # bytes; none of a job that ran out of memory
    series: str  # runs of one series are likely to be off alike
    hardware: str = ""  # as the source calls it
    source: str = ""  # "Megatron-LM CI"
    id: str = ""
    stage: int | None = None  # whose GPU was read; None: the fullest
    between_steps: int | None = None  # bytes allocated after a step: model state and workspaces
    ran_out: bool = False
    assumptions: list[str] = dataclasses.field(default_factory=list)  # what the row doesn't say
    # By which causes.yaml looks up causes of errors.
    traits: set[str] = dataclasses.field(default_factory=set)
    defaults: Any = None  # defaults_of(request)
    # By ALL_FIELDS and DEFAULTS; without the latter where the service refuses that request.
    predictions: dict[str, Any] = dataclasses.field(default_factory=dict)
    defaults_refused: str = ""  # the service's words then

    @property
    def prediction(self):
        return self.predictions[ALL_FIELDS]

    @property
    def fully_known(self) -> bool:
        return not self.assumptions

    @property
    def requests(self) -> list:
        return [self.request, self.defaults]

    @property
    def figure(self) -> int | None:
        """The first measured figure, in bytes."""
        return self.measured[0][1] if self.measured else None


@dataclasses.dataclass
class OpenCase:
    """A published run that lacks a field: requests for its possible values."""

    open: str  # "recomputation: none or full"
    requests: list  # one a choice; of sizes, the least and the most
    definitions: list[Definition]  # several where the source doesn't say which
    figure: int | None  # measured; None: the job ran out of memory
    source: str = ""
    id: str = ""
    # The range of the intervals that its requests are answered with, in bytes.
    low: int = 0
    high: int = 0
    may_not_fit: bool = False  # some choice's verdict isn't FITS

    @property
    def inside(self) -> bool:
        """True where the measured figure lies in the range; of a job that ran out, may_not_fit."""
        if self.figure is None:
            return self.may_not_fit
        return self.low <= self.figure <= self.high


@dataclasses.dataclass
class LeftOut:
    """A row that isn't asked about: one reason for all rows alike."""

    reason: str
    source: str = ""
    id: str = ""
