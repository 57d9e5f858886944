"""The experiments of a validation run: each a question, what was expected before any GPU was seen,
what came out, and whether that agrees."""

import statistics

from datasheets import bf16_limit
from targets import NOT_MEASURED, Line, at_most, seconds_text, share_text, told

KERNEL_TOLERANCE = 0.02
# Shorter kernels are told and not judged: between two of them a GPU pauses for about a microsecond,
# which is in the time of runs one after the other and not in the profiler's.
LEAST_JUDGED_SECONDS = 40e-6


def of(facts, name):
    return [fact for fact in facts if fact["fact"] == name]


def cold_lines(runs):
    for cache in ("as it is", "empty"):
        walls = [run["wall_seconds"] for run in runs
                 if run["cache"] == cache and "calibration" in run]
        yield at_most(f"first runs, standard, cache of compiled kernels {cache}", 5, walls,
                      seconds_text)
    compiled = [run["cache_files_after"] - run["cache_files_before"] for run in runs
                if run["cache"] == "empty"]
    yield at_most("kernels that the driver compiles from PTX at the first start", 0, compiled, str)


def back_to_back_line(facts):
    question = "standard the moment that quick ends: is it refused as busy?"
    found = of(facts, "back_to_back")
    if not found:
        return Line(question, "both measure", NOT_MEASURED, None)
    last = found[-1]
    codes = (last["first_exit_code"], last["second_exit_code"])
    return Line(question, "both measure",
                f"exit codes {codes[0]} and {codes[1]} {last['reason']}".strip() +
                f", {1e3 * last['pause_seconds']:.0f} ms between, the second took "
                f"{seconds_text(last['second_seconds'])}", codes == (0, 0))


def cudnn_line(facts):
    question = "standard with cuDNN in reach: does attention cost other figures?"
    found = of(facts, "cudnn")
    expected = "none is lost"
    if not found:
        return Line(question, expected, NOT_MEASURED, None)
    last = found[-1]
    if "skipped" in last:
        return Line(question, expected, f"{NOT_MEASURED}: {last['skipped']}", None)
    ends = {name: (f"{seconds_text(last[name]['seconds'])}, coverage "
                   f"{share_text(last[name]['coverage_ratio'])}, missing: "
                   f"{last[name]['missing'] or 'nothing'}" if "counts" in last[name]
                   else f"exit code {last[name]['exit_code']}") for name in ("with", "without")}
    both = all("counts" in last[name] for name in ends)
    lost = [f"{kind}: {last['with']['counts'].get(kind, 0)} of {count}"
            for kind, count in (last["without"].get("counts", {}) if both else {}).items()
            if last["with"]["counts"].get(kind, 0) < count]
    return Line(question, expected,
                f"with {ends['with']}; without {ends['without']}; lost: "
                f"{', '.join(lost) or ('none' if both else 'not known')}", both and not lost)


class KernelTimes:
    """Seconds of each kernel, by source."""

    def __init__(self, facts):
        self._facts = of(facts, "kernel_time")
        self.kernels = list(dict.fromkeys(fact["kernel"] for fact in self._facts))

    def found(self, kernel, source, holds=(None,)):
        return [fact for fact in self._facts if fact["kernel"] == kernel
                and fact["source"] == source and fact.get("hold") in holds]

    def seconds(self, kernel, source, holds=(None,)):
        times = [fact["seconds"] for fact in self.found(kernel, source, holds)]
        return statistics.median(times) if times else None

    def by_probe(self, kernel):
        """With its hold, or as a probe that knows of none has it."""
        return self.seconds(kernel, "probe", ("auto", None))

    def off(self, kernel, seconds):
        """How much more than the profiler's; None where one is missing."""
        arbiter = self.seconds(kernel, "profiler")
        return seconds / arbiter - 1 if arbiter and seconds else None

    def judged(self):
        return [kernel for kernel in self.kernels
                if (self.seconds(kernel, "profiler") or 0) >= LEAST_JUDGED_SECONDS]

    def multiplications(self):
        return [kernel for kernel in self.judged() if kernel.startswith(("bf16 ", "fp8 "))]


def off_line(question, times, kernels, seconds_of):
    off = {kernel: times.off(kernel, seconds_of(kernel)) for kernel in kernels}
    off = {kernel: value for kernel, value in off.items() if value is not None}
    expected = f"within {share_text(KERNEL_TOLERANCE)}"
    if not off:
        return Line(question, expected, NOT_MEASURED, None)
    worst = max(off, key=lambda kernel: abs(off[kernel]))
    return Line(question, expected, f"{100 * off[worst]:+.1f} % at {worst} (worst of {len(off)})",
                abs(off[worst]) <= KERNEL_TOLERANCE)


def kernel_lines(facts):
    times = KernelTimes(facts)
    yield off_line("kernel times of multiplications, probe against the profiler", times,
                   times.multiplications(), times.by_probe)
    yield off_line("kernel times, PyTorch by events against the profiler", times, times.judged(),
                   lambda kernel: times.seconds(kernel, "events"))
    yield hold_line(facts, times)


def hold_line(facts, times):
    question = "without the hold before short samples: how much longer, and is it less true?"
    expected = "1 to 4 % longer at 0.25 ms, and farther from the profiler"
    missing = [fact["reason"] for fact in of(facts, "hold") if not fact["supported"]]
    if missing:
        return Line(question, expected, f"{NOT_MEASURED}: {missing[-1]}", None)
    pairs = [(times.seconds(k, "probe", ("auto",)), times.seconds(k, "probe", ("never",)), k)
             for k in times.multiplications()]
    pairs = [(held, free, kernel) for held, free, kernel in pairs if held and free]
    if not pairs:
        return Line(question, expected, NOT_MEASURED, None)
    longer = [free / held - 1 for held, free, _ in pairs]
    with_hold, without = (statistics.median(abs(times.off(pair[2], pair[which])) for pair in pairs)
                          for which in (0, 1))
    return Line(question, expected,
                f"{100 * min(longer):+.1f} to {100 * max(longer):+.1f} %; off the profiler "
                f"{share_text(with_hold)} with, {share_text(without)} without (medians of "
                f"{len(pairs)})", with_hold < without)


def gpm_line(facts, device):
    found = of(facts, "gpm")
    question = "GPM under load: share of cycles with work, against rate over the clock's limit"
    if not found:
        return told(question, None)
    last = found[-1]
    if not last["readable"]:
        return told(question, f"not readable: {last['reason']}")
    out = [f"GPM {name} {share_text(last[name])}" for name in ("tensor", "sm", "memory")]
    limit = bf16_limit(device, last.get("sm_clock_hertz"))
    if limit and last.get("work_flops_per_second"):
        out.append(f"by the work's own rate {share_text(last['work_flops_per_second'] / limit)}")
    for fact in of(facts, "kernel_time"):
        if fact["kernel"] == "bf16 4096x4096x4096" and fact["source"] == "profiler":
            limit = bf16_limit(device, 1e6 * (fact.get("sm_clock_megahertz") or 0))
            if limit:
                share = 2 * 4096**3 / fact["seconds"] / limit
                out.append(f"by the profiler's kernel, in a burst, {share_text(share)}")
    return told(question, ", ".join(out))


def kernel_table(facts):
    """A row a kernel, with what each source says beside the profiler; "" where there is none."""
    times = KernelTimes(facts)
    if not times.kernels:
        return ""

    def cell(kernel, seconds):
        off = times.off(kernel, seconds)
        return "" if not seconds else (f"{1e6 * seconds:.2f}" if off is None
                                       else f"{1e6 * seconds:.2f} ({100 * off:+.1f} %)")

    out = ["| kernel, us | profiler | events | probe | probe, no hold | kernels | PyTorch's | "
           "the probe's |", "| --- | ---: | ---: | ---: | ---: | ---: | --- | --- |"]
    for kernel in times.kernels:
        profiled = times.found(kernel, "profiler")
        probed = times.found(kernel, "probe", ("auto", None))
        out.append("| " + " | ".join([
            kernel, cell(kernel, times.seconds(kernel, "profiler")).split(" ")[0],
            cell(kernel, times.seconds(kernel, "events")), cell(kernel, times.by_probe(kernel)),
            cell(kernel, times.seconds(kernel, "probe", ("never",))),
            str(profiled[-1]["kernel_count"]) if profiled else "",
            profiled[-1]["by"] if profiled else "", probed[-1]["by"] if probed else ""]) + " |")
    return "\n".join(out)


def nvml_tables(facts):
    """What NVML told idle, under load and after, and how long each call took."""
    states = {fact["when"]: fact for fact in of(facts, "nvml") if fact["readable"]}
    if not states:
        return "NVML told nothing."
    names = [name for name in next(iter(states.values()))["state"] if name != "untold"]
    out = ["| NVML | " + " | ".join(states) + " |", "| --- |" + " ---: |" * len(states)]
    for name in names:
        values = [state["state"].get(name, "") for state in states.values()]
        values = [f"{len(v)} listed" if name == "processes" and v != "" else v for v in values]
        out.append(f"| {name} | " + " | ".join(str(value) for value in values) + " |")
    out += ["", "| call, us: median, maximum | " + " | ".join(states) + " |",
            "| --- |" + " ---: |" * len(states)]
    for name in next(iter(states.values()))["latencies"]:
        cells = []
        for state in states.values():
            took = state["latencies"].get(name, {})
            cells.append(f"{1e6 * took['median_seconds']:.1f}, {1e6 * took['maximum_seconds']:.1f}"
                         if "median_seconds" in took else took.get("untold", ""))
        out.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(out)
