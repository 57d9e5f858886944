#!/usr/bin/env python3
"""Two runs of the probe that are compared with each other.

  probe_pairs.py --pair=back_to_back|cudnn --probe=PROGRAM --facts=FILE --probes=FILE [--seconds=20]

back_to_back: quick, then standard the moment that the first ends. Is the second refused as busy,
for the load that the first one left in NVML's figures?

cudnn: standard with the budget from which on it measures attention, with all libraries in reach,
then with cuBLASLt alone. What does attention, whose kernels cuDNN compiles while the probe runs,
cost the other figures?
"""

import argparse
import sys
import tempfile

import libraries
import nvml
import probe
from results import add_fact

def counts_of(calibration):
    """How many measurements of what it has: {"matmuls bf16": 92, "sustained matmuls bf16": 1,
    "streams": 20, ...}."""
    out = {}
    for name, entries in calibration.items():
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and name != "missing":
                key = f"{name} {probe.type_of(entry)}" if "dataType" in entry else name
                if name == "matmuls" and probe.kind_of(entry) != "burst":
                    key = f"{probe.kind_of(entry)} {key}"
                out[key] = out.get(key, 0) + 1
    return out


# gpu_probe/cuda/gpu_workload.h, kAttentionBudgetSeconds.
ATTENTION_BUDGET = "--budget=8s"


def kept_run(options, mode, name, *arguments):
    run = probe.run_probe(options.probe, f"--mode={mode}", *arguments)
    probe.keep_run(options.probes, options.pair, mode, run, name=name)
    print(f"{name}: {mode}, {run['wall_seconds']:.2f} s, exit code {run['exit_code']}")
    if "failure" in run:
        print(probe.failure_text(run))
    return run


def back_to_back(options, device):
    first = probe.ProbeRun(options.probe, "--mode=quick", device)
    first_run = first.finish(timeout=75)
    second = probe.ProbeRun(options.probe, "--mode=standard", device)
    pause = second.start_seconds - first.start_seconds - first_run["wall_seconds"]
    second_run = second.finish(timeout=75)
    for name, mode, run in (("first", "quick", first_run), ("second", "standard", second_run)):
        probe.keep_run(options.probes, options.pair, mode, run, name=name)
    add_fact(options.facts, "back_to_back", pause_seconds=pause,
             first_exit_code=first_run["exit_code"], second_exit_code=second_run["exit_code"],
             first_seconds=first_run["wall_seconds"], second_seconds=second_run["wall_seconds"],
             reason=second_run.get("failure", {}).get("reason", ""))
    return "calibration" in first_run and "calibration" in second_run


def cudnn(options, device, gpu):
    runs = {"with": kept_run(options, "standard", "with cuDNN", device,
                             ATTENTION_BUDGET)}
    nvml.wait_until_idle(gpu)
    with tempfile.TemporaryDirectory() as folder:
        if libraries.link_cublaslt(folder) == 0:
            add_fact(options.facts, "cudnn", skipped="no libcublasLt.so.13 or .12 to link to")
            return True
        runs["without"] = kept_run(options, "standard", "without cuDNN", device,
                                   ATTENTION_BUDGET, f"--library_folder={folder}")
    told = {}
    for name, run in runs.items():
        told[name] = {"seconds": run["wall_seconds"], "exit_code": run["exit_code"]}
        if "calibration" in run:
            told[name].update(coverage_ratio=run["calibration"]["coverageRatio"],
                              counts=counts_of(run["calibration"]),
                              missing=probe.missing_text(run["calibration"]))
    add_fact(options.facts, "cudnn", **told)
    return all("calibration" in run for run in runs.values())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pair", choices=("back_to_back", "cudnn"), required=True)
    parser.add_argument("--probe", required=True)
    parser.add_argument("--facts", required=True)
    parser.add_argument("--probes", required=True)
    parser.add_argument("--seconds", type=float, default=20)
    options = parser.parse_args()
    uuid = probe.first_device(options.probe)["uuid"]
    gpu = nvml.open_gpu(uuid)
    nvml.wait_until_idle(gpu)
    device = f"--device={uuid}"
    measured = (back_to_back(options, device) if options.pair == "back_to_back"
                else cudnn(options, device, gpu))
    return 0 if measured else 1


if __name__ == "__main__":
    sys.exit(main())
