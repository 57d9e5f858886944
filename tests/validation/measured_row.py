"""A row of measured_runs.csv that says something about memory."""

import math
import re

import measured_sources as sources
from cells import GIB, Row, Undescribed, number, published_bytes
from measured_case import Definition, LeftOut, MeasuredCase, OpenCase
from run_request import defaults_of

# The request of a run, and those of a run that lacks a field.
TRANSLATORS = {
    "SimuMax B200": (sources.simumax_request, None),
    "BLOOM trials": (sources.bloom_request, sources.open_bloom),
    "Korthikanti 2022, figure 1": (sources.korthikanti_request, None),
    "torchtitan": (sources.full_torchtitan_request, sources.open_torchtitan),
    "litgpt": (sources.litgpt_request, sources.open_litgpt),
    "torchao": (None, sources.open_torchtitan),
    "InternEvo": (None, sources.open_internevo),
    "nanotron": (None, sources.open_nanotron),
}
LOGGED = {"alloc": Definition.ALLOCATED, "reserved": Definition.RESERVED}


def says_memory(row: Row) -> bool:
    """True where a row has a figure of memory or reports a job that ran out of it."""
    columns = ("peak_mem_as_published", "peak_mem_gib")
    return any(row.get(column) for column in columns) or row.get("oom") == "True"


def ran_out(row: Row) -> bool:
    return row.get("peak_mem_as_published") == "OOM" or row.get("oom") == "True"


def figures(row: Row, source: dict) -> list[tuple[Definition, int]]:
    """Bytes by each of the source's definitions; none of a job that ran out of memory."""
    text = row.get("peak_mem_as_published", "")
    if "definitions" not in source:
        # SimuMax's "...; max over ranks alloc 28965.36 MB reserved 29816.0 MB", of 2^20 bytes.
        logged = re.findall(r"\b(alloc|reserved) ([\d.]+ MB)\b", text)
        out = [(LOGGED[name], published_bytes(size, 2**20)) for name, size in logged]
    else:
        definitions = [Definition[name.upper()] for name in source["definitions"]]
        size = published_bytes(re.sub("GB$", source.get("gigabyte", "GB"), text))
        if definitions == [Definition.CALCULATED]:
            size = math.floor((number(row.get("peak_mem_gib", "")) or 0) * GIB + 0.5)
        out = [(definition, size) for definition in definitions if size]
    if not out and not ran_out(row):
        raise Undescribed("no measured memory")
    return [] if ran_out(row) else out


def measured_case(row: Row, source: dict, translate) -> MeasuredCase:
    measured = figures(row, source)
    title = row.get("source_table", "").split(": ", 1)[-1]
    cells = {"model": "", "source_table": ""} | row
    out = MeasuredCase(translate(row), measured, source["series"].format(title=title, **cells))
    out.ran_out, out.stage = ran_out(row), source.get("stage")
    out.hardware = row.get("hardware", "")
    out.defaults = defaults_of(out.request)
    inferred = filter(None, row.get("inferred_fields", "").split("; "))
    read = source.get("read_elsewhere", [])
    out.assumptions += source.get("assumptions", [])
    out.assumptions += [field for field in inferred if field not in read]
    out.traits.update(source.get("traits", []), ["experts"] if row.get("experts") else [])
    return out


def open_case(row: Row, source: dict, translate) -> OpenCase:
    measured = figures(row, source)
    definitions = [Definition[name.upper()] for name in source["definitions"]]
    return OpenCase(*translate(row), definitions, measured[0][1] if measured else None)


def translate_measured_row(row: Row) -> MeasuredCase | OpenCase | LeftOut:
    """`row`, one that says_memory(), by the rules of its source."""
    unknown = {"name": row.get("source", ""), "reason": "no rule for its source"}
    source = sources.KNOWN["sources"].get(row.get("source_repo"), unknown)
    out, reason = None, source.get("reason")
    kinds = zip((measured_case, open_case), TRANSLATORS.get(source["name"], ()))
    for kind, translate in kinds:
        if translate and not out:
            try:
                out = kind(row, source, translate)
            except Undescribed as undescribed:
                reason = reason or str(undescribed)
    out = out or LeftOut(reason)
    out.source, out.id = source["name"], row.get("id", "")
    return out
