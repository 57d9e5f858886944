#!/usr/bin/python3
"""One run has one answer: 30 command lines go through plan, search, compare, memory, size-cluster,
size-model and a launcher's file and back.

- plan, search, compare and memory give one layout, peak of memory, verdict and step time.
- The layout that an answer chose, asked again in its request, gets that answer: by plan all of it,
  by memory what does not depend on time. So do the layouts of size-cluster and size-model.
- A launcher's file of the run, read back, gets its layout, peak and verdict.
"""

import concurrent.futures
import json
import os
import subprocess
import sys

from sextantd import BIN, Server

TOKENS = "1e11"
# A model, its flags, the devices, and the launcher whose file is written; "" where none can be.
LINES = [
    # The framework is not named: the default's layouts alone are answered.
    ("llama-3.1-8b", "--sequence-length=8192 --gbs=128", "h100-sxm 8", "megatron"),
    ("llama-3.1-8b", "--sequence-length=8192 --gbs=256", "h100-sxm 64", "megatron"),
    ("llama-3.1-70b", "--sequence-length=8192 --gbs=256", "h100-sxm 128", "megatron"),
    ("llama-3.1-70b", "--sequence-length=8192 --gbs=512", "h200-sxm 64", "megatron"),
    ("llama-3.1-405b", "--sequence-length=8192 --gbs=512", "h100-sxm 512", "megatron"),
    ("gpt3-175b", "--sequence-length=2048 --gbs=1536", "a100-sxm-80 256", "megatron"),
    ("mixtral-8x7b", "--sequence-length=4096 --gbs=256", "h100-sxm 64", "megatron"),
    ("qwen3-14b", "--sequence-length=4096 --gbs=256", "a100-sxm-80 32", "megatron"),
    ("qwen2.5-7b", "--sequence-length=32768 --gbs=64", "h100-sxm 32", "megatron"),
    ("gpt2", "--sequence-length=1024 --gbs=64", "a100-sxm-40 8", "megatron"),
    # Servers that are assumed of other products, and given ones.
    ("llama-3.1-8b", "--sequence-length=4096 --gbs=128", "h800-sxm 32", "megatron"),
    ("llama-3.1-8b", "--sequence-length=4096 --gbs=128", "a800-sxm-80 32", "megatron"),
    ("llama-3.1-8b", "--sequence-length=4096 --gbs=128 --node-type=hgx-h100 --network=roce-400",
     "h100-sxm 32", "megatron"),
    ("llama-3.1-8b", "--sequence-length=4096 --gbs=128", "b200-sxm 16", "megatron"),
    ("llama-3.1-70b", "--sequence-length=4096 --gbs=256 --compute-data-type=fp8", "h100-sxm 64",
     "megatron"),
    # Each framework by its name.
    ("llama-3.1-8b", "--sequence-length=8192 --gbs=128 --framework=megatron-lm", "h100-sxm 16",
     "megatron"),
    ("llama-3.1-70b", "--sequence-length=8192 --gbs=256 --framework=megatron-bridge",
     "h100-sxm 64", "megatron"),
    ("llama-3.1-8b", "--sequence-length=8192 --gbs=64 --framework=torchtitan", "h100-sxm 16",
     "torchtitan"),
    ("llama-3.1-70b", "--sequence-length=8192 --gbs=128 --framework=torchtitan", "h100-sxm 64",
     "torchtitan"),
    ("llama-3.1-8b", "--sequence-length=4096 --gbs=64 --framework=deepspeed", "h100-sxm 16",
     "deepspeed"),
    ("qwen2.5-7b", "--sequence-length=4096 --gbs=64 --framework=deepspeed", "a100-sxm-80 8",
     "deepspeed"),
    ("llama-3.1-8b", "--sequence-length=4096 --gbs=64 --framework=pytorch-fsdp", "h100-sxm 16", ""),
    # What is open is part of the layout alone.
    ("llama-3.1-70b", "--sequence-length=8192 --gbs=256 --tp=8 --search=exhaustive", "h100-sxm 128",
     "megatron"),
    ("llama-3.1-70b", "--sequence-length=8192 --gbs=256 --recompute=full", "h100-sxm 64",
     "megatron"),
    ("mixtral-8x7b", "--sequence-length=4096 --gbs=128 --ep=8 --search=exhaustive", "h100-sxm 32",
     "megatron"),
    # Runs that offload, that don't fit, and with adapters.
    ("llama-3.1-70b", "--sequence-length=4096 --gbs=64", "a100-sxm-80 8", "megatron"),
    ("llama-3.1-405b", "--sequence-length=4096 --gbs=64", "a100-sxm-80 8", ""),
    ("kimi-k2", "--sequence-length=4096 --gbs=64", "a100-sxm-80 8", ""),
    ("llama-3.1-70b", "--sequence-length=4096 --gbs=64 --lora-rank=16 --freeze-base", "h100-sxm 8",
     ""),
    ("deepseek-v3", "--sequence-length=4096 --gbs=512 --compute-data-type=fp8", "h800-sxm 256",
     ""),
]


class Line:
    """One of LINES, asked of a server; `problems` grow with each answer that differs."""

    def __init__(self, address, model, flags, devices, launcher):
        product, count = devices.split()
        self.address = address
        self.model = model
        self.flags = flags.split()
        self.product = [f"--accelerator={product}"]
        self.devices = [f"--devices={count}"]
        self.launcher = launcher
        self.problems = []

    def ask(self, *words, text=None):
        done = subprocess.run([os.path.join(BIN, "sextant"), "--address", self.address, *words],
                              capture_output=True, text=True, timeout=300, check=False, input=text)
        return done.stdout, done.stderr.strip()

    def answer(self, command, *words, text=None):
        """The answer in JSON; None, with a problem added, where there is none."""
        out, errors = self.ask(command, *words, "--output=json", text=text)
        answer = json.loads(out) if out else {}
        if not answer or "code" in answer:
            self.problems.append(f"{command} has no answer: {out.strip() or errors}")
            return None
        return answer

    def compare(self, name, wanted, found):
        for key in wanted:
            if wanted[key] != found[key]:
                self.problems.append(f"{name}: {key} is {found[key]}, not {wanted[key]}")

    def run(self):
        run = [self.model, *self.flags, *self.product, *self.devices]
        planned = self.answer("plan", *run, f"--tokens={TOKENS}")
        if planned is None:
            return
        plan = planned["plan"]
        for command, words in (("search", [f"--tokens={TOKENS}"]), ("memory", []),
                               ("compare", [f"--each=tokens={TOKENS}"])):
            answer = self.answer(command, *run, *words)
            if answer is not None:
                other = answer["runs"][0]["plan"] if command == "compare" else answer["plan"]
                self.compare(command, figures(plan), figures(other))
        request, _ = self.ask("plan", *run, f"--tokens={TOKENS}", "--print-request")
        self.ask_again(json.loads(request), plan)
        self.size(plan)
        if self.launcher:
            self.read_back(run, plan)

    def ask_again(self, request, plan, name=""):
        """The chosen layout of `plan` as the request's own."""
        if "chosen" not in plan.get("search", {}):
            return
        chosen = plan["search"]["chosen"]
        request["layout"] = {**request.get("layout", {}), **chosen["layout"]}
        request["training"]["recompute"] = chosen["recompute"]
        request.setdefault("options", {})["search"] = "LAYOUT_SEARCH_NONE"
        request["cluster"]["deviceCount"] = plan["deviceCount"]
        for command in ("plan", "memory"):
            answer = self.answer(command, "--request=-", text=json.dumps(request))
            if answer is not None:
                wanted, found = figures(plan), figures(answer["plan"])
                for key in ("layout", "step_seconds") if command == "memory" else ("layout",):
                    wanted.pop(key)
                self.compare(f"{name}{command} of the chosen layout", wanted, found)

    def size(self, plan):
        """The answers of size-cluster and size-model, for a run of ten times the time."""
        seconds = plan["estimates"][0]["durationSeconds"]["expected"]
        duration = f"--max-duration={min(10 * seconds, 1e9):.0f}s"
        flags = [flag for flag in self.flags if flag != "--search=exhaustive"]
        base = [*flags, *self.product, f"--tokens={TOKENS}"]
        sizes = [("size-cluster", [self.model, *base, duration])]
        if not any("lora" in flag for flag in flags):  # there is no larger model of one's adapters
            sizes.append(("size-model", [self.model, *base, *self.devices, duration]))
        for command, words in sizes:
            answer = self.answer(command, *words)
            if answer is None:
                continue
            sized = answer["clusters"][0] if command == "size-cluster" else answer
            if "plan" not in sized:
                continue
            request, _ = self.ask("plan", self.model, *base, *self.devices, "--print-request")
            request = json.loads(request)
            if command == "size-model":
                request["model"] = {"architecture": sized["architecture"],
                                    **{key: value for key, value in request["model"].items()
                                       if key == "changes"}}
            self.ask_again(request, sized["plan"], f"{command}: ")

    def read_back(self, run, plan):
        written, errors = self.ask("plan", *run, f"--tokens={TOKENS}", f"--emit={self.launcher}")
        if not written:
            self.problems.append(f"--emit={self.launcher} writes nothing: {errors}")
            return
        source = (f"--from-megatron={written}" if self.launcher == "megatron"
                  else f"--from-{self.launcher}=-")
        placed = [flag for flag in self.flags if flag.startswith(
            ("--node-type", "--network", "--framework=megatron-bridge"))]
        again = []
        if self.launcher == "deepspeed":  # its file has no model and no tokens
            again = [self.model, f"--tokens={TOKENS}", "--recompute=" + words_of(
                plan["search"]["chosen"]["recompute"]), *self.flags]
        back = self.answer("plan", *again, source, *placed, *self.product, *self.devices,
                           text=written)
        if back is not None:
            wanted, found = figures(plan), figures(back["plan"])
            for key in ("layout", "step_seconds"):
                wanted.pop(key)
            self.compare("read back", wanted, found)


def words_of(name):
    return name.replace("RECOMPUTE_POLICY_", "").lower().replace("_", "-")


def figures(plan):
    """What answers about one run have to agree in."""
    chosen = plan.get("search", {}).get("chosen")
    return {"verdict": plan["verdict"], "peak_bytes": plan["memory"]["peakBytes"],
            "layout": chosen and (chosen["layout"], chosen["recompute"]),
            "step_seconds": plan.get("stepTime", {}).get("seconds")}


def main():
    assert len(LINES) == 30
    with Server("--log_calls=none", "--search_niceness=0") as server:
        lines = [Line(server.address, *line) for line in LINES]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(Line.run, lines))
    for line in lines:
        for problem in line.problems:
            print(f"{line.model} {' '.join(line.flags + line.product + line.devices)}: {problem}")
    bad = sum(bool(line.problems) for line in lines)
    print(f"{len(lines) - bad} of {len(lines)} runs have one answer")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
