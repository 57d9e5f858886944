#!/usr/bin/python3
"""What --emit writes of a plan is read back by --from-... into the same plan."""

import json
import os
import subprocess
import sys

from sextantd import BIN, Server

DEVICES = ["--accelerator=h100-sxm", "--node-type=dgx-h100", "--devices=64"]
RUN = ["--tokens=1073741824", "--sequence-length=4096", "--gbs=128"]

# A model, its layout, and the launcher; the model again where the launcher's file has none.
CASES = [
    ("llama-3.1-8b", ["--tp=4", "--recompute=none", "--zero=1"], "megatron", []),
    ("llama-3.1-70b", ["--tp=8", "--pp=4", "--vpp=5", "--recompute=full"], "megatron", []),
    ("llama-3.1-405b", ["--tp=8", "--pp=8", "--layers-per-chunk=15x16x16x16x16x16x16x15",
                        "--recompute=full"], "megatron", []),
    ("mixtral-8x7b", ["--tp=2", "--ep=8", "--recompute=selective"], "megatron", []),
    ("deepseek-v3", ["--pp=8", "--ep=8", "--layers-per-chunk=7x8x8x8x8x8x8x6",
                     "--recompute=full"], "megatron", []),
    ("qwen2.5-7b", ["--cp=2", "--compute-data-type=fp8", "--recompute=none"], "megatron", []),
    ("qwen3-14b", ["--tp=4", "--pp=4", "--vpp=2", "--recompute=full"], "megatron", []),
    ("llama-3.1-8b", ["--zero=3", "--recompute=full"], "torchtitan", []),
    ("llama-3.1-70b", ["--tp=8", "--pp=2", "--vpp=2", "--recompute=full"], "torchtitan", []),
    ("llama-3.1-8b", ["--zero=3", "--offload-optimizer", "--recompute=none"], "deepspeed",
     ["llama-3.1-8b", "--recompute=none", *RUN]),
]


def plan(server, *words, **more):
    done = subprocess.run([os.path.join(BIN, "sextant"), "--address", server.address, *words],
                          capture_output=True, text=True, timeout=60, check=False, **more)
    return done.returncode, done.stdout, done.stderr


def figures(text):
    """What both plans have to agree in."""
    answer = json.loads(text)["plan"]
    return (answer["parameters"]["total"], answer["memory"]["peakBytes"],
            answer["stepTime"]["seconds"], answer["verdict"])


def failure_of(case, server):
    model, layout, launcher, again = case
    words = ["plan", model, *RUN, *DEVICES, *layout]
    code, written, errors = plan(server, *words, f"--emit={launcher}")
    if not written:
        return f"{words}: nothing written: {errors}"
    source = ([f"--from-megatron={written}"] if launcher == "megatron"
              else [f"--from-{launcher}=-"])
    framework = {"megatron": "megatron-lm"}.get(launcher, launcher)
    _, wanted, _ = plan(server, *words, f"--framework={framework}", "--output=json")
    back, read, errors = plan(server, "plan", *again, *DEVICES, *source, "--output=json",
                              input=written)
    if back != code or not read:
        return f"{words}: exits with {back}, not {code}: {errors}"
    if figures(read) != figures(wanted):
        return f"{words}:\n  {figures(wanted)} as planned\n  {figures(read)} as read back"
    return ""


def main():
    with Server("--log_calls=none") as server:
        problems = list(filter(None, (failure_of(case, server) for case in CASES)))
    print("\n".join(problems) or f"{len(CASES)} runs are read back as they were planned")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
