"""Times of GPU work by events, through PyTorch."""

import math
import sys
import time

from results import summary_of

SAMPLE_SECONDS = 1e-3
SAMPLES = 12
GRAPH_RUNS = 20
# Below this the host may need longer to start a run than the GPU to do it.
GRAPH_BELOW_SECONDS = 1e-4
# A spin of about 0.1 ms before the first event, so that the work is queued by the time that it
# starts: on an idle stream the host's launch would be in the time.
HOLD_CYCLES = 200_000


def load_torch():
    """PyTorch, where it is there and sees a GPU; else the program ends with its reason."""
    try:
        import torch
    except ImportError as fault:
        raise SystemExit(f"no PyTorch: {fault}")
    if not torch.cuda.is_available():
        raise SystemExit("PyTorch sees no GPU")
    print("PyTorch", torch.__version__, "CUDA", torch.version.cuda, torch.cuda.get_device_name(),
          file=sys.stderr)
    return torch


def first_line(fault):
    """What an exception says, short enough for a log."""
    return (str(fault).splitlines() or [type(fault).__name__])[0][:200]


def span_seconds(torch, work):
    """Seconds that the GPU takes for what `work()` queues."""
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    if hasattr(torch.cuda, "_sleep"):
        torch.cuda._sleep(HOLD_CYCLES)
    start.record()
    work()
    end.record()
    end.synchronize()
    return start.elapsed_time(end) / 1e3


def recorded(torch, run, runs):
    """The work of `runs` runs as one graph, so that the host's calls are not in its time. Without
    torch.cuda.graph(), which each time collects garbage and gives all free memory back."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        graph.capture_begin()
        for i in range(runs):
            run(i)
        graph.capture_end()
    torch.cuda.synchronize()
    return graph


def measure(torch, run, samples=SAMPLES, may_record=True):
    """Cells of the time of run(i), which does the i-th run's work: a sample is the mean of as many
    runs as take SAMPLE_SECONDS, back to back; their median counts. Untimed: three runs."""
    for i in range(3):
        run(i)
    torch.cuda.synchronize()
    once = span_seconds(torch, lambda: run(0))
    if may_record and once < GRAPH_BELOW_SECONDS:
        graph = recorded(torch, run, GRAPH_RUNS)
        graph.replay()
        torch.cuda.synchronize()
        once = span_seconds(torch, graph.replay)
        rounds, runs_a_round, step = repetitions(once), GRAPH_RUNS, lambda i: graph.replay()
    else:
        rounds, runs_a_round, step = repetitions(once), 1, run

    def sample():
        for i in range(rounds):
            step(i)

    times = [span_seconds(torch, sample) / (rounds * runs_a_round) for _ in range(samples)]
    return summary_of(times)


def repetitions(once):
    """How many runs of `once` seconds make a sample."""
    if not math.isfinite(once) or once <= 0:
        raise ValueError(f"a run took {once} s")
    return min(1000, max(1, math.ceil(SAMPLE_SECONDS / once)))


def measure_sustained(torch, run, seconds):
    """Cells of the time of run(i) over the second half of `seconds` without a pause."""
    once = span_seconds(torch, lambda: run(0))
    runs = max(1, math.ceil(0.05 * seconds / once))

    def slice_of():
        for i in range(runs):
            run(i)

    times = []
    start = time.monotonic()
    while (time.monotonic() - start < seconds or len(times) < 4) and len(times) < 1000:
        times.append(span_seconds(torch, slice_of) / runs)
    return summary_of(times[len(times) // 2:])
