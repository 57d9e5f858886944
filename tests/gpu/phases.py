"""When each phase of a probe's run began and how long it lasted, from its events of progress."""

from collections import namedtuple

# Seconds since the probe started. `visits`: how often it was entered, since phases take turns.
Phase = namedtuple("Phase", "name began_seconds lasted_seconds visits")


def phases_of(run):
    """The phases of a run in the order in which they began. One lasts from its event to the next
    event of another phase; the last one to the end of the process."""
    events = run.get("progress", [])
    began, lasted, visits, before = {}, {}, {}, None
    ends = [event["elapsed_seconds"] for event in events[1:]] + [run["wall_seconds"]]
    for event, end in zip(events, ends):
        name, start = event.get("phase", ""), event.get("elapsed_seconds", 0.0)
        began.setdefault(name, start)
        lasted[name] = lasted.get(name, 0.0) + max(0.0, end - start)
        if name != before:
            visits[name] = visits.get(name, 0) + 1
        before = name
    return [Phase(name, began[name], lasted[name], visits[name]) for name in began]


def phase_table(runs):
    """Of {title: run}: a table with a row a phase and, of each run, when it began and how long it
    lasted."""
    tables = {title: {p.name: p for p in phases_of(run)} for title, run in runs.items()}
    names = []
    for phases in tables.values():
        names += [name for name in phases if name not in names]
    if not names:
        return "No run of the probe told its progress."
    head = ["phase"]
    for title in tables:
        head += [f"{title}: began, s", "lasted, s"]
    out = [head, ["---"] + ["---:"] * (len(head) - 1)]
    for name in names:
        row = [name or "(none)"]
        for phases in tables.values():
            phase = phases.get(name)
            row += ([f"{phase.began_seconds:.2f}", f"{phase.lasted_seconds:.2f}"] if phase
                    else ["", ""])
        out.append(row)
    out.append(["whole process"] + [cell for run in runs.values()
                                    for cell in ("0.00", f"{run['wall_seconds']:.2f}")])
    return "\n".join("| " + " | ".join(row) + " |" for row in out)
