"""docs/accuracy_memory.md: its tables, and its sentences with figures."""

from error_summary import percent, signed_percent, summary_of
from measured_case import Definition
from memory_answers import ALL_FIELDS, DEFAULTS, Answers
from memory_tables import (
    Figure,
    between_steps_table,
    cause_table,
    coverage_table,
    error_table,
    figures_of,
    worst_table,
)
from tables import Table
from verdict_tables import (
    assumption_table,
    contradiction_table,
    left_out_table,
    open_table,
    out_of_memory_table,
    refused_defaults_table,
    surprises,
    verdict_table,
)

WORST = 10


def known_of(figures: list[Figure]) -> list[Figure]:
    return [figure for figure in figures if figure.answer.run.fully_known]


def memory_tables(answers: Answers) -> dict[str, Table]:
    """By the names of their files."""
    answered = answers.answered
    figures = figures_of(answered, ALL_FIELDS)
    both = figures + figures_of(answered, DEFAULTS)
    return {
        "errors": error_table(both),
        "intervals": coverage_table(both),
        "model_state": between_steps_table(answered),
        "causes": cause_table(figures),
        "worst": worst_table(figures, WORST),
        "worst_fully_known": worst_table(known_of(figures), WORST),
        "verdicts": verdict_table(answered),
        "out_of_memory": out_of_memory_table(answered),
        "open": open_table(answers),
        "contradictions": contradiction_table(answers),
        "left_out": left_out_table(answers),
        "refused_defaults": refused_defaults_table(answers),
        "assumptions": assumption_table(answered),
    }


def residual(answers: Answers) -> str:
    """Memory that the ledger leaves out, or counts too often."""
    errors = [
        figure.error
        for figure in known_of(figures_of(answers.answered, ALL_FIELDS))
        if figure.definition == Definition.ALLOCATED
    ]
    summary = summary_of(errors)
    uncounted = summary_of([1 / (1 + error) - 1 for error in errors])
    return (
        f"Of the {summary.count} fully known allocated figures together: median of sizes "
        f"{percent(summary.median)}, 10th to 90th percentile {signed_percent(summary.low)} to "
        f"{signed_percent(summary.high)}. Measured over predicted, less 1, is the share that no "
        f"ledger row has: {signed_percent(uncounted.low)} to {signed_percent(uncounted.high)}, "
        f"median {signed_percent(uncounted.median_signed)}.\n"
    )


def counts(answers: Answers) -> str:
    return (
        f"{len(answers.answered)} rows are asked about, {len(answers.open)} lack a field and are "
        f"asked about as ranges, {len(answers.left_out)} are left out.\n"
    )


def sentences(answers: Answers) -> list[str]:
    """Sentences of the page with figures."""
    return [counts(answers), residual(answers), *surprises(answers.answered)]
