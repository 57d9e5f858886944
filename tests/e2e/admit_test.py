#!/usr/bin/python3
"""A scheduler's hook under attack: words of a job's user can't make sextantd open a file.

Thousands of lines that name files, addresses and outputs go to Admit over gRPC while strace, where
it may trace, writes down what the server opens. The command line asks the same question, with its
exit codes.
"""

import json
import os
import random
import subprocess
import sys
import tempfile

from sextantd import BIN, SKIPPED, Server
from api import grpc

LINES = 3000
SECRET = "xyzzy-secret-xyzzy"

# Opened by the server itself: its own memory, now and then; by Abseil, once, the clock's rate and
# the time zone.
OWN = ("/proc/self/statm", "/sys/devices/system/cpu/", "/etc/localtime")


def can_trace():
    try:
        return subprocess.run(["strace", "-o", "/dev/null", "true"], capture_output=True,
                              check=False).returncode == 0
    except OSError:
        return False


def admit(channel, words):
    """The answer to `words`, or the error."""
    from sextant.v1 import admit_pb2 as api
    call = channel.unary_unary("/sextant.v1.PlanningService/Admit",
                               request_serializer=api.AdmitRequest.SerializeToString,
                               response_deserializer=api.AdmitResponse.FromString)
    request = api.AdmitRequest(words=words, device_count=8, accelerator="h100-sxm")
    request.caller.scheduler = api.AdmitCaller.SCHEDULER_SLURM
    request.budget.FromSeconds(10)  # strace slows the server down
    try:
        return call(request, timeout=30)
    except grpc.RpcError as error:
        return error


def hostile_lines(secret, victim):
    """Lines that would read or write a file, if words could."""
    chance = random.Random(49)
    flags = ("config", "hugging-face-config", "request", "transformer", "architecture",
             "calibration", "measured-step", "from-megatron", "from-torchtitan", "from-deepspeed",
             "token-file", "tls-ca", "tls-key", "tls-certificate", "model", "preset", "software",
             "unmodelled", "emit-to", "emit", "svg", "output", "address", "save")
    places = (secret, victim, f"file://{secret}", f"@{secret}", f"<{secret}", f">{victim}",
              f"$(cat {secret})", f"`cat {secret}`", f"../../../../../..{secret}", "/etc/shadow",
              "/dev/tcp/127.0.0.1/1", "http://127.0.0.1:1/", "-", "/proc/self/environ",
              f"{secret}\\0.json", f"'{secret}'", f"\"{secret}\"")
    good = "llama-3.1-8b tp=8 gbs=64 sequence-length=8192"
    for _ in range(LINES):
        place = chance.choice(places)
        flag = chance.choice(flags)
        word = chance.choice((f"--{flag}={place}", f"{flag}={place}", f"--{flag} {place}", place))
        yield chance.choice((word, f"{good} {word}", f"{word} {good}"))


def opened(trace, start):
    """The files that the trace names from `start` on, but those that the server itself reads."""
    with open(trace, encoding="utf-8", errors="replace") as file:
        file.seek(start)
        lines = file.read().splitlines()
    names = [line.split('"')[1] for line in lines if '"' in line]
    return [name for name in names if not name.startswith(OWN)]


def check_no_file_is_opened(folder):
    secret = os.path.join(folder, "secret")
    victim = os.path.join(folder, "victim")
    trace = os.path.join(folder, "trace")
    with open(secret, "w", encoding="utf-8") as file:
        file.write(SECRET)
    with open(victim, "w", encoding="utf-8") as file:
        file.write("keep")
    traced = can_trace()
    starter = ("strace", "-D", "-f", "-qq", "-o", trace, "-e",
               "trace=open,openat,openat2,creat,execve,rename,unlink") if traced else ()
    with Server("--role=planner", starter=starter) as server:
        channel = grpc.insecure_channel(server.address)
        assert admit(channel, "llama-3.1-8b tp=8 gbs=64 sequence-length=8192").verdict == 1
        if traced:
            assert "libc.so" in " ".join(opened(trace, 0)), "strace saw nothing"
        start = os.path.getsize(trace) if traced else 0
        refused = 0
        for words in hostile_lines(secret, victim):
            answer = admit(channel, words)
            text = str(answer)
            assert SECRET not in text, words
            if isinstance(answer, grpc.RpcError):
                assert answer.code() == grpc.StatusCode.INVALID_ARGUMENT, (words, text)
                refused += 1
        assert refused > 0.8 * LINES, refused
        names = opened(trace, start) if traced else []
        assert not names, names
    with open(victim, encoding="utf-8") as file:
        assert file.read() == "keep"
    return traced


def run(server, *args):
    done = subprocess.run([os.path.join(BIN, "sextant"), *args], capture_output=True, text=True,
                          env={**os.environ, "SEXTANT_ADDRESS": server.address}, check=False)
    return done.returncode, done.stdout, done.stderr


def check_command_line():
    """The exit codes that docs/admit.md has, and one line on each stream."""
    job = ("admit", "--devices=8", "--accelerator=h100-sxm", "--scheduler=slurm", "--budget=10s")
    fits = "llama-3.1-8b tp=8 gbs=64 sequence-length=8192"
    with Server() as server:
        code, out, _ = run(server, *job, "--", fits)
        assert code == 0 and out.startswith("FITS: llama-3.1-8b") and out.count("\n") == 1, out
        code, out, _ = run(server, *job, "--", *fits.split())
        assert code == 0 and out.startswith("FITS: "), out
        code, out, _ = run(server, *job, "--", "llama-3.1-8b", "--tp=1", "--gbs=64",
                           "--sequence-length=8192")
        assert code == 1 and out.startswith("DOES NOT FIT: ") and out.count("\n") == 2, out
        # The change makes it fit: a user adds it to the line.
        change = out.splitlines()[1]
        added = [setting.split(" (now")[0] for setting in change.split(" and ")]
        code, out, _ = run(server, *job, "--", "llama-3.1-8b", "--gbs=64",
                           "--sequence-length=8192", *(["--tp=1"] if "--tp" not in change else []),
                           *added)
        assert code == 0, (change, out)
        code, out, _ = run(server, *job, "--", "llama-3.1-8b")
        assert code == 10 and out.startswith("UNKNOWN: no layout is given"), out
        code, out, error = run(server, *job, "--", "--config=/etc/shadow")
        assert code == 3 and not out and "--config names a file" in error, error
        code, out, _ = run(server, "--output=json", *job, "--", fits)
        assert code == 0 and json.loads(out)["layout"]["SEXTANT_TP"] == "8", out
        # The same line as the command's for people.
        flags = [f"--{word}" if "=" in word else word for word in fits.split()]
        code, line, _ = run(server, "plan", *flags, "--tokens=1T", "--devices=8",
                            "--accelerator=h100-sxm", "--output=line")
        assert code == 0 and line.startswith("FITS: llama-3.1-8b, 8 x h100-sxm; "), line
        code, judged, _ = run(server, *job, "--", f"{fits} tokens=1T")
        assert judged == line.replace("h100-sxm;", "h100-sxm: 1 node x 8;"), (judged, line)
        assert line.count("\n") == 1 and len(line) <= 401, line
        code, memory, _ = run(server, "memory", *flags, "--devices=8", "--accelerator=h100-sxm",
                              "--output=line")
        assert code == 0 and memory.strip() == line.split(" usable;")[0] + " usable", memory
        code, _, error = run(server, "count", "gpt2", "--output=line")
        assert code == 2 and "no verdict" in error, error
    # A hook starts no server.
    done = subprocess.run([os.path.join(BIN, "sextant"), *job, "--", fits], capture_output=True,
                          text=True, env={**os.environ, "SEXTANT_ADDRESS": "127.0.0.1:1"},
                          check=False)
    assert done.returncode == 4, done


def main():
    if grpc is None:
        print("skipped: no gRPC for Python")
        return SKIPPED
    check_command_line()
    with tempfile.TemporaryDirectory() as folder:
        traced = check_no_file_is_opened(folder)
    print("no file was opened" if traced else "strace can't trace here: answers alone were checked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
