#!/usr/bin/python3
"""Mistakes of newcomers: each ends with the right exit code, names the flag or field at fault, and
says what to write instead."""

import os
import shlex
import subprocess
import sys

from sextantd import BIN, Server

USAGE, BAD_REQUEST = 2, 3
PLAN = "plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=64 "
LAID = PLAN + "--sequence-length=8192 --tp=8 --pp=4 "

# The command line; the exit code; what its error has to say.
MISTAKES = [
    # Commands and flags.
    ("paln llama-3.1-70b", USAGE, ['"paln" is not a command', "near: plan"]),
    ("serach", USAGE, ['"serach" is not a command', "near: search"]),
    ("", USAGE, ["subcommand"]),
    ("plan --tokns=1T", USAGE, ["no flag --tokns", "--tokens"]),
    ("plan --device-cuont=8", USAGE, ["no flag --device-cuont", "--device-count"]),
    ("plan --tensor-paralel-size=8", USAGE, ["--tensor-parallel-size"]),
    ("plan --sequnce-length=4096", USAGE, ["--sequence-length"]),
    ("plan --batch-size=4", USAGE, ["no flag --batch-size"]),
    ("memory llama-3.1-8b --gradient-checkpointing", USAGE, ["no flag --gradient-checkpointing"]),
    ("count llama-3.1-8b --sequence-lenght=4096", USAGE, ["--sequence-length"]),
    ("op matmull 2x3x4", USAGE, ['"matmull" is not a command', "near: matmul"]),
    ("plan --output=xml", USAGE, ["--output", "text|json"]),
    ("plan --timeout=soon", USAGE, ["--timeout", "seconds"]),
    ("plan --request=no-such-file.json", USAGE, ["cannot read", "no-such-file.json"]),
    ("plan no-such-config.json --tokens=1T", USAGE, ["cannot read", "no-such-config.json"]),
    ("completion tcsh", USAGE, ["bash|zsh|fish"]),
    # Numbers.
    (PLAN + "--sequence-length=8K", USAGE, ["8000 or 8192", "8Ki"]),
    (PLAN + "--sequence-length=8k", USAGE, ["8000 or 8192", "8Ki"]),
    (LAID + "--gbs=4K", USAGE, ["4000 or 4096", "4Ki"]),
    (LAID + "--mbs=1M", USAGE, ["1000000 or 1048576", "1Mi"]),
    ("op matmul 8Kx8Kx8K --dtype=bf16", USAGE, ["8000 or 8192"]),
    ("count llama-3.1-8b --sequence=8K", USAGE, ["8000 or 8192"]),
    (PLAN + "--device-memory-bytes=80G", USAGE, ['ends in "G"', "80GiB", "80GB"]),
    (PLAN + "--device-memory-bytes=80", BAD_REQUEST, ["--device-memory-bytes", "1 GiB"]),
    (PLAN + "--device-memory-bytes=80gb", USAGE, ["80GiB"]),
    ("plan llama-3.1-70b --tokens=15tb --accelerator=h100-sxm --devices=8", USAGE, ["K, M, B, T"]),
    ("plan llama-3.1-70b --tokens=1.5 --accelerator=h100-sxm --devices=8", USAGE,
     ["not a whole number"]),
    ("plan llama-3.1-70b --tokens=-1 --accelerator=h100-sxm --devices=8", BAD_REQUEST,
     ["--tokens"]),
    ("plan llama-3.1-70b --tokens=1e30 --accelerator=h100-sxm --devices=8", USAGE, ["64 bits"]),
    (PLAN + "--mfu=45", BAD_REQUEST, ["--mfu", "1"]),
    (PLAN + "--mfu=45%", USAGE, ["not a number"]),
    (PLAN + "--deadline=31/12/2027", USAGE, ["2027-01-31"]),
    (PLAN + "--maximum-age=7", USAGE, ["no unit", "7d"]),
    # Names.
    ("plan llama-3.1-70 --tokens=15T --accelerator=h100-sxm --devices=8", BAD_REQUEST,
     ["near names", "llama-3.1-70b"]),
    ("plan lama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=8", BAD_REQUEST,
     ["llama-3.1-70b"]),
    ("plan gpt-5 --tokens=1T --accelerator=h100-sxm --devices=8", BAD_REQUEST, ["gpt"]),
    ("plan meta-llama/Llama-9-70B --tokens=1T --accelerator=h100-sxm --devices=8", BAD_REQUEST,
     ["not known"]),
    ("models lama-9", BAD_REQUEST, ["not known"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=h100-smx --devices=8", BAD_REQUEST,
     ["h100-sxm", "sextant accelerators"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=a100 --devices=8", BAD_REQUEST,
     ["a100-sxm-40", "a100-sxm-80"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=gpu:8 --devices=8", BAD_REQUEST, ["not known"]),
    (PLAN + "--node-type=dgx-h1000", BAD_REQUEST, ["dgx-h100", "near names"]),
    (PLAN + "--network=ethernet", BAD_REQUEST, ["--network"]),
    (LAID + "--framework=megatron", USAGE, ["megatron-lm"]),
    (LAID + "--schedule=interleaved", USAGE, ["one-forward-one-backward"]),
    (LAID + "--zero=4", USAGE, ["optimizer"]),
    (LAID + "--recompute=yes", USAGE, ["full"]),
    (PLAN + "--compute-data-type=half", USAGE, ["fp16"]),
    (PLAN + "--optimizer=adamw8", USAGE, ["adam-8bit"]),
    ("plan llama-3.1-70b --tokens=15T --device=GPU-0 --devices=1", BAD_REQUEST,
     ["GPU-0", "sextant devices"]),
    # What is missing, and what contradicts.
    ("plan llama-3.1-70b", BAD_REQUEST, ["--tokens", "--devices"]),
    ("plan --tokens=15T --accelerator=h100-sxm --devices=8", BAD_REQUEST, ["model"]),
    ("plan llama-3.1-70b --parameters=70B --tokens=15T --accelerator=h100-sxm --devices=8",
     BAD_REQUEST, ["exactly one of --preset, --transformer, --parameters, --config and"]),
    (PLAN + "--device=host", BAD_REQUEST, ["--accelerator", "give one"]),
    (PLAN + "--tp=3", BAD_REQUEST, ["--tp"]),
    (PLAN + "--tp=8 --pp=3 --sequence-length=8192", BAD_REQUEST, ["--devices", "multiple"]),
    (LAID + "--gbs=3", BAD_REQUEST, ["--gbs", "multiple"]),
    (LAID + "--gbs=1", BAD_REQUEST, ["--gbs", "multiple"]),
    (LAID + "--dp=4", BAD_REQUEST, ["--dp=4", "128 devices", "--devices is 64"]),
    (LAID + "--vpp=7", BAD_REQUEST, ["--vpp"]),
    (LAID + "--deferred-reduction=yes", USAGE, ["true or false"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=64 --tp=8",
     BAD_REQUEST, ["--sequence-length"]),
    (PLAN + "--minimum-source=measured-device", 3, ["sextant probe"]),
    ("plan gpt2 --tokens=1M --device=host --devices=1", 3, ["sextant probe measures"]),
]


def run(words, address):
    return subprocess.run([os.path.join(BIN, "sextant"), f"--address={address}", *words],
                          capture_output=True, text=True, timeout=60)


def main():
    problems = []
    with Server("--log_calls=none") as server:
        for text, code, says in MISTAKES:
            ran = run(shlex.split(text), server.address)
            missing = [word for word in says if word not in ran.stderr]
            if ran.returncode != code or missing or ran.stdout:
                problems.append(f"sextant {text}\n  {ran.returncode} for {code}; lacks {missing}"
                                f"\n  {ran.stderr}{ran.stdout[:200]}")
    assert len(MISTAKES) >= 60, len(MISTAKES)
    print("\n".join(problems) or f"{len(MISTAKES)} mistakes are explained")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
