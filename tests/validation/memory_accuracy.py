#!/usr/bin/python3
"""How well memory is predicted, by published runs: docs/accuracy_memory.md.

report_main() says how to run it, with megatron_ci_memory.csv, measured_runs.csv and
measured_runs_2.csv. OUTPUT gets figures.csv too, with every figure and its interval.
"""

import sys

import memory_tables
from cells import api, read_csv
from error_summary import percent, signed_percent, summary_of
from measured_case import ALL_FIELDS, DEFAULTS, Definition
from memory_answers import Answers, answers_of
from memory_tables import FULLY_KNOWN, Figure, figures_of, known_of
from tables import Report, Table, chosen, markdown, report_main


def all_figures(answers: Answers) -> list[Figure]:
    return [f for request in (ALL_FIELDS, DEFAULTS) for f in figures_of(answers.answered, request)]


def all_tables(answers: Answers) -> dict[str, Table]:
    """By the names of their files."""
    answered = answers.answered
    figures = figures_of(answered, ALL_FIELDS)
    return {
        "errors": memory_tables.error_table(all_figures(answers), answered),
        "intervals": memory_tables.coverage_table(all_figures(answers)),
        "sizes": memory_tables.size_table(figures),
        "causes": memory_tables.cause_table(figures),
        "worst": memory_tables.worst_table(figures),
        "verdicts": memory_tables.verdict_table(answered),
        "out_of_memory": memory_tables.out_of_memory_table(answered),
        "open": memory_tables.open_table(answers),
        "contradictions": memory_tables.contradiction_table(answers),
        "reasons": memory_tables.reason_table(answers),
    }


def counts(answers: Answers) -> str:
    inside = sum(run.inside for run in answers.open)
    return (
        f"{len(answers.answered)} rows are asked about, {len(answers.open)} lack a field and are "
        f"asked about as ranges, {len(answers.left_out)} are left out. Of the ranges {inside} hold "
        "what was measured.\n"
    )


def residual(answers: Answers) -> str:
    """Memory that the ledger leaves out, or counts too often."""
    known = known_of(figures_of(answers.answered, ALL_FIELDS))
    errors = [f.error for f in known if f.definition == Definition.ALLOCATED]
    summary = summary_of(errors)
    uncounted = summary_of([1 / (1 + error) - 1 for error in errors])
    return (
        f"Of the {summary.count} fully known allocated figures together: median of sizes "
        f"{percent(summary.median)} %, 10th to 90th percentile {signed_percent(summary.low)} % to "
        f"{signed_percent(summary.high)} %. Measured over predicted, less 1, is the share that no "
        f"ledger row has: {signed_percent(uncounted.low)} % to {signed_percent(uncounted.high)} %, "
        f"median {signed_percent(uncounted.median_signed)} %.\n"
    )


def totals(answers: Answers, tables: dict[str, Table]) -> str:
    """The part of the page with figures; all of requests with all fields given."""
    columns = ["definition", "source", "rows", "median of sizes %", "10th percentile %"]
    columns += ["90th percentile %", "within 3 %, % of rows"]
    errors = chosen(tables["errors"], columns, which="all", request=ALL_FIELDS)
    known = chosen(
        tables["errors"], ["rows", "median of sizes %"], which=FULLY_KNOWN, request=ALL_FIELDS
    )
    both = [[*row, *more] for row, more in zip(errors.rows, known.rows)]
    wide = Table([*columns, "fully known rows", "their median of sizes %"], both)
    columns = ["definition", "framework", "figures", "inside %", "inside, of series left out %"]
    intervals = chosen(tables["intervals"], columns, request=ALL_FIELDS)
    proven = [row for row in intervals.rows if row[-1] != "unproven"]
    verdicts = ["source", "the job", "FITS", "TIGHT", "DOES_NOT_FIT"]
    parts = [
        counts(answers),
        markdown(wide),
        residual(answers),
        markdown(intervals._replace(rows=proven)),
        markdown(tables["sizes"]),
        markdown(chosen(tables["verdicts"], verdicts, request=ALL_FIELDS)),
        *memory_tables.surprises(answers.answered),
    ]
    return "\n".join(parts)


def report_of(megatron_ci: str, *measured_runs: str) -> Report:
    rows = [row for table in measured_runs for row in read_csv(table)]
    with api.own_server() as server:
        answers = answers_of(server, read_csv(megatron_ci), rows)
    tables = all_tables(answers)
    figures = memory_tables.figure_table(all_figures(answers))
    return Report(totals(answers, tables), tables, {"figures": figures})


if __name__ == "__main__":
    TABLES = ["megatron_ci_memory.csv", "measured_runs.csv", "measured_runs_2.csv"]
    sys.exit(report_main("accuracy_memory", TABLES, report_of))
