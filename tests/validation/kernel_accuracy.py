#!/usr/bin/python3
"""How well times of kernels are predicted, by published ones: docs/accuracy_kernels.md.

report_main() says how to run it, with a folder of tables, of which every one is taken whose name a
section knows. Points of calibrations are never scored.
"""

import os
import sys

import kernel_requests as requests
from attention_accuracy import DOMAIN, attention_ceilings, attention_lacks, attention_scores
from cells import api, read_csv
from collective_accuracy import COLUMNS as COLLECTIVES
from collective_accuracy import collective_table, compared, tables_of
from expert_accuracy import either_half, expert_lacks, expert_scores, layers_over_parts
from fits import Fits
from kernel_rows import attention_table, expert_table
from kernel_scores import RATIOS, SCORES, ratio_cells
from matmul_accuracy import DOMAIN as MATMUL_DOMAIN
from matmul_accuracy import matmul_ceilings, matmul_scores
from tables import Report, Table, chosen, grouped, markdown, report_main


class Sections:
    """Tables by the names of their files, and lines for the page."""

    def __init__(self, fits, server):
        self.fits = fits
        self.server = server
        self.tables = {}
        self.counts = []
        self.left_out = []

    def add(self, name, columns, rows):
        self.tables.setdefault(name, Table(columns, [])).rows.extend(rows)

    def add_scores(self, table, scored):
        scores, left_out = scored
        self.add("scores", SCORES, [[table, *score] for score in scores])
        self.left_out += [reason for reason in left_out if reason not in self.left_out]

    def add_requests(self, rows):
        self.add("requests", requests.COLUMNS, rows)

    def add_ceilings(self, kernel, ceilings):
        self.add("ratios", RATIOS, [["ceilings", kernel, dtype, source, *ratio_cells(ratios), ""]
                                    for (source, dtype), ratios in ceilings.items()])

    def matmuls(self, rows):
        self.add_scores("matmuls", matmul_scores(rows, self.fits))
        self.add_requests(requests.matmul_requests(rows, self.fits, self.server))
        self.add_ceilings("matmul", matmul_ceilings(rows, self.fits))

    def attention(self, rows):
        table = self.latent_attention(rows)
        # What no number of points removes: kernels of neighbouring shapes differ.
        self.add_scores("attention, every second row", attention_scores(
            table, self.fits, lambda points: points[::2], [DOMAIN]))
        self.add("ratios", RATIOS, attention_lacks(table, self.fits).rows("attention"))
        self.add_ceilings("attention", {("datasheet", dtype): ratios for dtype, ratios in
                                        attention_ceilings(table, self.fits).items()})

    def latent_attention(self, rows):
        table = attention_table(rows, self.fits)
        self.add_scores("attention", attention_scores(table, self.fits))
        self.add_requests(requests.attention_requests(table, self.fits, self.server))
        return table

    def experts(self, rows):
        table = expert_table(rows, self.fits)
        self.add_scores("experts", expert_scores(table, self.fits))
        self.add_requests(requests.expert_requests(table, self.fits, self.server))
        self.add_scores("experts, either half", expert_scores(table, self.fits, either_half))
        self.add("ratios", RATIOS, expert_lacks(table, self.fits).rows("experts"))
        self.add("ratios", RATIOS, [
            ["a layer's parts", "experts", *name.split(", "), *ratio_cells(ratios), ""]
            for name, ratios in layers_over_parts(table, self.fits).items()])

    def collectives(self, rows):
        tables, count = tables_of(rows)
        found = compared(self.fits, tables)
        self.counts.append(f"{count} rows of NCCL in fp16; {len(rows) - count} of other libraries "
                           "or types left out")
        self.add("collectives", *collective_table(found, tables))
        self.add_requests(requests.collective_requests(rows, self.fits, self.server))


# By what the names of their tables start with.
SECTIONS = {"gemm": Sections.matmuls, "attention": Sections.attention,
            "mla": Sections.latent_attention, "moe": Sections.experts,
            "collectives": Sections.collectives}


def report_of(directory):
    with Fits() as fits, api.own_server() as server:
        out = Sections(fits, server)
        for prefix, section in SECTIONS.items():
            for name in sorted(os.listdir(directory)):
                if name.startswith(prefix) and name.endswith(".csv"):
                    rows = read_csv(os.path.join(directory, name))
                    out.counts.append(f"{name}: {len(rows)} rows")
                    section(out, rows)
    return Report(totals(out), out.tables)


def span(cells):
    """The least and the most of figures."""
    values = sorted((cell for cell in cells if cell != "-"), key=float)
    return "-" if not values else " to ".join(dict.fromkeys([values[0], values[-1]]))


def own_points(tables):
    """Scores by kind of kernel and type, over all tables of a kind, without those of a type by the
    points of another."""
    columns = ["median %:", "p90 %:", "in interval %:", "datasheet roofline median %:"]
    kinds = {("matmuls", MATMUL_DOMAIN): "matmul", ("attention", DOMAIN): "attention",
             ("experts", "all"): "experts"}
    scores = [dict(zip(SCORES, cells)) for cells in tables.get("scores", Table(SCORES, [])).rows]
    rows = []
    for kind, name in kinds.items():
        own = [row for row in scores if (row["table"], row["shapes"]) == kind
               and not row["kernel"].startswith("from ")]
        for dtype, like in sorted(grouped(own, lambda row: row["type"]).items()):
            rows.append([name, dtype, kind[1], str(len(like)),
                         str(sum(int(row["scored:"]) for row in like)),
                         *(span([row[column] for row in like]) for column in columns)])
    return Table(["kernel", "type", "shapes", "tables:", "scored:", *columns], rows)


def totals(report: Sections):
    """The part of the page with figures."""
    tables = report.tables
    requested = [column for column in requests.COLUMNS if column != "GPU"]
    parts = ["; ".join(report.counts) + ".\n",
             *(f"Left out: {reason}.\n" for reason in report.left_out),
             markdown(own_points(tables)), "By requests, of all GPUs:\n",
             markdown(chosen(tables["requests"], requested, GPU="all"))]
    if "collectives" in tables:
        parts += ["Collectives, of all GPUs:\n",
                  markdown(chosen(tables["collectives"], ["comparison", *COLLECTIVES], GPU="all"))]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(report_main("accuracy_kernels", ["kernels"], report_of))
