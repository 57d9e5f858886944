#!/usr/bin/python3
"""Requests that newcomers get wrong: each ends with exit code 3, names the flag at fault, and says
what to write instead. Mistakes that need no server are in tests/client/cases.jsonl."""

import os
import shlex
import subprocess
import sys

from sextantd import BIN, Server

BAD_REQUEST = 3
PLAN = "plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=64 "
LAID = PLAN + "--sequence-length=8192 --tp=8 --pp=4 "

# The command line, and what its error has to say.
MISTAKES = [
    # Numbers.
    (PLAN + "--device-memory-bytes=80", ["--device-memory-bytes", "1 GiB"]),
    ("plan llama-3.1-70b --tokens=-1 --accelerator=h100-sxm --devices=8",
     ["--tokens"]),
    (PLAN + "--mfu=45", ["--mfu", "1"]),
    # Names.
    ("plan llama-3.1-70 --tokens=15T --accelerator=h100-sxm --devices=8",
     ["near names", "llama-3.1-70b"]),
    ("plan lama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=8",
     ["llama-3.1-70b"]),
    ("plan gpt-5 --tokens=1T --accelerator=h100-sxm --devices=8", ["gpt"]),
    ("plan meta-llama/Llama-9-70B --tokens=1T --accelerator=h100-sxm --devices=8",
     ["not known"]),
    ("models lama-9", ["not known"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=h100-smx --devices=8",
     ["h100-sxm", "sextant accelerators"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=a100 --devices=8",
     ["a100-sxm-40", "a100-sxm-80"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=gpu:8 --devices=8", ["not known"]),
    (PLAN + "--node-type=dgx-h1000", ["dgx-h100", "near names"]),
    (PLAN + "--network=ethernet", ["--network"]),
    ("plan llama-3.1-70b --tokens=15T --device=GPU-0 --devices=1",
     ["GPU-0", "sextant devices"]),
    # What is missing, and what contradicts.
    ("plan llama-3.1-70b", ["--tokens", "--devices"]),
    ("plan --tokens=15T --accelerator=h100-sxm --devices=8", ["model"]),
    ("plan llama-3.1-70b --parameters=70B --tokens=15T --accelerator=h100-sxm --devices=8",
     ["exactly one of MODEL, --transformer, --parameters, --config and"]),
    (PLAN + "--device=host", ["--accelerator", "give one"]),
    (PLAN + "--tp=3", ["--tp"]),
    (PLAN + "--tp=8 --pp=3 --sequence-length=8192", ["--devices", "multiple"]),
    (LAID + "--gbs=3", ["--gbs", "multiple"]),
    (LAID + "--gbs=1", ["--gbs", "multiple"]),
    (LAID + "--dp=4", ["--dp=4", "128 devices", "--devices is 64"]),
    (LAID + "--vpp=7", ["--vpp"]),
    ("plan llama-3.1-70b --tokens=15T --accelerator=h100-sxm --devices=64 --tp=8",
     ["--sequence-length"]),
    (PLAN + "--minimum-source=measured-device", ["sextant probe"]),
    ("plan gpt2 --tokens=1M --device=host --devices=1", ["sextant probe measures"]),
]


def run(words, address):
    return subprocess.run([os.path.join(BIN, "sextant"), f"--address={address}", *words],
                          capture_output=True, text=True, timeout=60)


def main():
    problems = []
    with Server("--log_calls=none") as server:
        for text, says in MISTAKES:
            ran = run(shlex.split(text), server.address)
            missing = [word for word in says if word not in ran.stderr]
            if ran.returncode != BAD_REQUEST or missing or ran.stdout:
                problems.append(f"sextant {text}\n  {ran.returncode}; lacks {missing}"
                                f"\n  {ran.stderr}{ran.stdout[:200]}")
    assert len(MISTAKES) >= 25, len(MISTAKES)
    print("\n".join(problems) or f"{len(MISTAKES)} mistakes are explained")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
