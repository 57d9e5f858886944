"""A row of measured_runs.csv that says something about memory."""

import measured_sources as sources
from cells import Row, Undescribed
from measured_case import LeftOut, MeasuredCase, OpenCase
from run_request import defaults_of

# A run as its source's fields say, and as a range where those don't suffice.
TRANSLATORS = {
    "SimuMax B200": [sources.simumax_case],
    "BLOOM trials": [sources.bloom_case, sources.open_bloom_case],
    "Korthikanti 2022, figure 1": [sources.korthikanti_case],
    "torchtitan": [sources.torchtitan_case, sources.open_torchtitan_case],
    "litgpt": [sources.litgpt_case, sources.open_litgpt_case],
    "torchao": [sources.open_torchtitan_case],
    "InternEvo": [sources.open_internevo_case],
    "nanotron": [sources.open_nanotron_case],
}


def says_memory(row: Row) -> bool:
    """True where a row has a figure of memory or reports a job that ran out of it."""
    columns = ("peak_mem_as_published", "peak_mem_gib")
    return any(row.get(column) for column in columns) or row.get("oom") == "True"


def translate_measured_row(row: Row) -> MeasuredCase | OpenCase | LeftOut:
    """`row`, one that says_memory(), by the rules of its source."""
    unknown = {"name": row.get("source", ""), "reason": "no rule for its source"}
    source = sources.KNOWN["sources"].get(row.get("source_repo"), unknown)
    out = None
    reason = source.get("reason")
    for translate in TRANSLATORS.get(source["name"], []):
        try:
            out = translate(row)
            break
        except Undescribed as undescribed:
            reason = reason or str(undescribed)
    out = out or LeftOut(reason)
    out.source, out.id = source["name"], row.get("id", "")
    if isinstance(out, MeasuredCase):
        out.hardware = row.get("hardware", "")
        out.defaults = defaults_of(out.request)
        inferred = filter(None, row.get("inferred_fields", "").split("; "))
        read = source.get("read_elsewhere", [])
        out.assumptions += [field for field in inferred if field not in read]
    return out
