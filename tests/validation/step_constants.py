"""The constants of software stacks and devices that are estimated again for each fold."""

from dataclasses import asdict, dataclass

from step_data import holds, load
from step_row import StepRow


@dataclass
class Constant:
    """A field of layout.software for some of the rows: step_constants.yaml says what each means."""

    name: str
    field: str
    where: dict
    low: float
    high: float
    grid: float
    doubt: float
    neutral: float = 0
    efficiency: float = 0
    experts: bool = False

    def __post_init__(self):
        if self.efficiency:
            self.neutral = 1 / self.efficiency

    def applies(self, row: StepRow) -> bool:
        return holds(self.where, row)

    def question(self) -> dict:
        """As validation_fits reads it."""
        return asdict(self)


CONSTANTS = [Constant(**entry) for entry in load("step_constants.yaml")]
