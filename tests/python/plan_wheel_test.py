#!/usr/bin/python3
"""The wheel sextant-plan in a fresh environment: a thousand plans through one private planner,
which ends with its client and with the process, however that ends; and the command."""

import contextlib
import filecmp
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import client

MOST_BYTES = 20_000_000
WHEEL = os.path.join(client.ROOT, "deploy", "wheel.sh")
BUILD = os.path.dirname(client.BIN)

RUN = """
import os, signal, subprocess, sys, threading, time
import sextant, sextant_plan
RUN = dict(tokens="1T", sequence_length=8192, gbs=64, accelerator="h100-sxm", devices=16, tp=2,
           mbs=1)
client = sextant_plan.Client()
print(client.server._process.pid, flush=True)
"""
THOUSAND = RUN + """
started = client.server._process.pid
with client:
    for _ in range(1000):
        assert client.plan("llama-3.1-8b", **RUN).plan["deviceCount"] == "16"
    try:
        client.plan("llama-3.1-8b", **{**RUN, "tokens": 0})
    except sextant.FieldError as error:
        assert error.fields[0][0] == "training.token_count", error.fields
    else:
        raise AssertionError("no error")
assert not os.path.exists(f"/proc/{started}")
client.close()
two = [sextant_plan.Client(), sextant_plan.Client()]
assert two[0].server.address != two[1].server.address
two[0].close()
assert two[1].count("gpt2")["parameters"]
two[1].close()
"""
# What the process does next, and its exit status.
ENDS = {
    "returns": ("", 0),
    "raises": ("raise SystemExit(3)", 3),
    "leaves at once": ("os._exit(4)", 4),
    "is killed": ("os.kill(os.getpid(), signal.SIGKILL)", -9),
    "is interrupted": ("os.kill(os.getpid(), signal.SIGINT)", -2),
    # A data loader that outlives its parent does not keep the planner.
    "is killed after a fork": ("if os.fork() == 0:\n    time.sleep(20)\n    os._exit(0)\n"
                               "os.kill(os.getpid(), signal.SIGKILL)", -9),
    "leaves a program": ("subprocess.Popen(['sleep', '20'])", 0),
    # The thread that started it is not the process.
    "has lost the thread": ("other = []\n"
                            "thread = threading.Thread(target=lambda: other.append("
                            "sextant_plan.Client()))\nthread.start()\nthread.join()\n"
                            "time.sleep(0.3)\nassert other[0].count('gpt2')", 0),
    # A child by fork that returns does not end its parent's.
    "goes on after a fork": ("if os.fork() == 0:\n    client.close()\n    sys.exit(0)\n"
                             "os.wait()\nassert client.count('gpt2')", 0),
}


@contextlib.contextmanager
def ended(python, text):
    """(Exit status, what it printed) of a program; what that left is still there."""
    with tempfile.TemporaryFile(mode="w+") as told:
        process = subprocess.Popen([python, "-I", "-c", text], stdout=told, text=True,
                                   stderr=subprocess.DEVNULL, start_new_session=True,
                                   env={"PATH": "/usr/bin:/bin"})
        status = process.wait(timeout=60)
        told.seek(0)
        try:
            yield status, told.read()
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def processes_below(folder):
    """Those that run a program there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            program = os.readlink(f"/proc/{pid}/exe")
        except OSError:  # it ended
            continue
        if program.startswith(folder) and "sextantd" in program:
            found.append(pid)
    return found


def check_ends(python, folder):
    for name, (text, status) in ENDS.items():
        with ended(python, RUN + text) as (left_with, told):
            assert left_with == status and told.strip().isdigit(), (name, left_with, told)
            end = time.monotonic() + 5
            while processes_below(folder) and time.monotonic() < end:
                time.sleep(0.02)
            left = processes_below(folder)
            for pid in left:
                os.kill(int(pid), signal.SIGKILL)
            assert not left, f"a process that {name} leaves its planner"


def check_command(scripts):
    version = subprocess.run([f"{scripts}/sextant", "--version"], check=True, text=True,
                             capture_output=True).stdout
    planned = subprocess.run(
        [f"{scripts}/sextant", "--local", "plan", "llama-3.1-8b", "--tokens=1e9", "--gbs=32",
         "--sequence-length=8192", "--accelerator=h100-sxm", "--devices=16"], check=True, text=True,
        capture_output=True, timeout=60, env={"PATH": "/usr/bin:/bin"}).stdout
    assert re.match(r"sextant [\d.]+", version) and planned.startswith("FITS"), (version, planned)


def check_libraries(packages):
    """Those of the wheel, not this system's."""
    listed = subprocess.run(["ldd", f"{packages}/sextant_plan/programs/bin/sextantd"], check=True,
                            text=True, capture_output=True).stdout
    for name in ("libprometheus-cpp-core", "libssl", "libcrypto"):
        assert re.search(rf"{name}\S* => \S*/sextant_plan/", listed), listed


def main():
    client.skip_without(modules=["build", "venv", "setuptools", "wheel"], programs=["objdump"])
    with tempfile.TemporaryDirectory() as folder, client.fresh_python() as (python, _):
        wheels = [subprocess.run([WHEEL, BUILD, f"{folder}/{name}"], check=True, text=True,
                                 stdout=subprocess.PIPE, env={
                                     **os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
                                 ).stdout.strip() for name in ("first", "second")]
        assert filecmp.cmp(*wheels, shallow=False), "two builds differ"
        assert os.path.getsize(wheels[0]) <= MOST_BYTES, os.path.getsize(wheels[0])
        assert "-py3-none-manylinux_2_34_" in wheels[0], wheels
        subprocess.run([python, "-m", "pip", "install", "--no-index", "--quiet", wheels[0]],
                       check=True)
        environment = os.path.dirname(os.path.dirname(python))
        check_libraries(subprocess.run(
            [python, "-c", "import sextant_plan as p; print(p.__path__[0] + '/..')"], check=True,
            text=True, capture_output=True).stdout.strip())
        check_command(os.path.dirname(python))
        client.run_python(python, THOUSAND, "127.0.0.1:1")
        check_ends(python, environment)
        print(f"{os.path.getsize(wheels[0])} bytes; 1,000 plans, {len(ENDS)} ends")
    return 0


if __name__ == "__main__":
    sys.exit(main())
