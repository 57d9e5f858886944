#!/usr/bin/python3
"""On a terminal answers are as wide as it is, and what a command shows first fits a screen."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

from sextantd import BIN, Server

LLAMA = ("llama-3.1-70b --tokens=1T --sequence-length=8192 --accelerator=h100-sxm"
         " --node-type=dgx-h100 --devices=64 --gbs=128 --framework=megatron-lm")
COMMANDS = {
    "plan": f"plan {LLAMA} --tp=8 --pp=4 --recompute=none",
    "plan that does not fit": f"plan {LLAMA} --tp=4 --pp=2 --device-hour-price-usd=2.5"
                              " --budget-usd=1e6 --deadline=2027-03-01",
    "search": f"search {LLAMA}",
    "search of experts": "search mixtral-8x7b --tokens=1T --sequence-length=4096 --devices=64"
                         " --accelerator=h100-sxm --node-type=dgx-h100 --network=ib-ndr --gbs=256"
                         " --framework=megatron-lm --search=bounded",
    "search where nothing fits": "search llama-3.1-405b --tokens=1T --sequence-length=8192"
                                 " --accelerator=h100-sxm --node-type=dgx-h100 --devices=8"
                                 " --gbs=64 --framework=megatron-lm --budget-usd=1"
                                 " --device-hour-price-usd=1",
    "memory of experts": "memory mixtral-8x7b --pp=4 --ep=8 --etp=1 --zero=1 --gbs=256 --dropout"
                         " --gradient-data-type=fp32 --sequence-length=4096 --recompute=full"
                         " --accelerator=a100-sxm-40 --framework=megatron-lm",
    "memory": "memory llama-3.1-70b --tp=8 --pp=4 --devices=64 --zero=optimizer"
              " --sequence-length=8192 --accelerator=h100-sxm",
    "memory that does not fit": "memory llama-3.1-70b --tp=4 --devices=64 --zero=optimizer"
                                " --sequence-length=8192 --accelerator=h100-sxm",
    "memory shared evenly": "memory --parameters=7e9 --accelerator=h100-sxm --devices=2",
    "compare": "compare llama-3.1-8b --tokens=1T --gbs=256 --sequence-length=8192 --devices=64"
               " --accelerator=h100-sxm --node-type=dgx-h100 --device-hour-price-usd=2.5"
               " --each=tp=1,2,4 --each=zero=1,3",
    "finetune": "finetune llama-3.1-70b --tokens=100M --accelerator=h100-sxm --devices=8"
                " --device-hour-price-usd=2.5",
    "size-cluster": "size-cluster llama-3.1-70b --tokens=15T --gbs=1024 --sequence-length=8192"
                    " --framework=megatron-lm --max-duration=180d"
                    " --products=h100-sxm:2.5,h200-sxm:3.2",
    "size-model": "size-model llama-3.1-8b --tokens-per-parameter=20 --max-duration=30d"
                  " --accelerator=h100-sxm --node-type=dgx-h100 --devices=64 --gbs=1024"
                  " --sequence-length=8192 --framework=megatron-lm --device-hour-price-usd=2.5",
    "allocate": "allocate 1e22 --served-tokens=2T --tokens-per-parameter=200 --sources",
    "op": "op matmul 16384x8192x32768 --dtype=bf16",
}
# Of 24: those that answer with tables and pictures scroll.
LINES = {"plan": 20, "plan that does not fit": 20, "compare": 20, "size-cluster": 20,
         "size-model": 24, "finetune": 24, "search": 24, "memory": 24,
         "memory that does not fit": 24, "memory shared evenly": 24, "search of experts": 24,
         "search where nothing fits": 24, "memory of experts": 24}


def screen(server, columns, command):
    """What the command prints on a terminal of 24 lines."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    ran = subprocess.Popen([os.path.join(BIN, "sextant"), "--address", server.address,
                            *command.split()], stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    out = b""
    try:
        while part := os.read(ours, 65536):
            out += part
    except OSError:  # the terminal's other end is closed
        pass
    os.close(ours)
    assert ran.wait() in (0, 1, 8, 9), out
    return out.decode().replace("\r\n", "\n")


def main():
    problems = []
    with Server("--log_calls=none") as server:
        for name, command in COMMANDS.items():
            for columns in (80, 200):
                # A line of progress is shown only where the command takes long, and is erased.
                out = screen(server, columns, command).replace("\r\x1b[K", "\r")
                shown = out.removesuffix("\n").split("\n")
                lines = [line.rsplit("\r", 1)[-1] for line in shown]
                widest = max((part for line in shown for part in line.split("\r")), key=len)
                if len(widest) > columns:
                    problems.append(f"{name}: {len(widest)} columns on {columns}: {widest}")
                if len(lines) > LINES.get(name, 1000):
                    problems.append(f"{name}: {len(lines)} lines on {columns} columns")
    print("\n".join(problems) or f"{len(COMMANDS)} commands fit 80 and 200 columns")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
