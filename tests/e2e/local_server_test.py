#!/usr/bin/python3
"""Without a server the command line starts its own for one call, and leaves nothing behind."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from sextantd import BIN

PLAN = ["plan", "gpt2", "--tokens=1B", "--accelerator=h100-sxm", "--devices=1"]
STATE_FITS, RETRY_LATER = 8, 4


def run(program, folder, *args, **env):
    return subprocess.run([program, *args], capture_output=True, text=True, timeout=60,
                          env={"XDG_RUNTIME_DIR": folder, "HOME": folder, **env})


def servers_in(folder):
    """Command lines of the servers that listen below it."""
    return subprocess.run(["pgrep", "-f", f"--listen=unix:{folder}"], capture_output=True,
                          text=True).stdout.split()


def check_answers(folder):
    ran = run(os.path.join(BIN, "sextant"), folder, "--local", *PLAN)
    assert ran.returncode == STATE_FITS, ran
    assert ran.stdout.startswith("STATE FITS: gpt2") and not ran.stderr, ran
    assert os.listdir(folder) in ([], [".local"]), os.listdir(folder)
    assert not servers_in(folder)


def check_completes_names(folder):
    """A completion script has the names that the server knows, and says nothing of that server."""
    for shell in ("bash", "zsh", "fish"):
        ran = run(os.path.join(BIN, "sextant"), folder, "--local", "completion", shell)
        assert ran.returncode == 0 and not ran.stderr, ran
        for name in ("llama-3.1-70b", "h100-sxm", "dgx-h100"):
            assert f" {name} " in ran.stdout, (shell, name)


def check_sends_nothing(folder):
    """With --print-request nothing is sent: no plan, and no probe, which would take seconds."""
    probe = ["probe", "--mode=quick"]
    for words, part in ((PLAN, '"preset": "gpt2"'), (probe, "PROBE_MODE_QUICK")):
        ran = run(os.path.join(BIN, "sextant"), folder, "--print-request", "--address=127.0.0.1:1",
                  *words)
        assert ran.returncode == 0 and part in ran.stdout and not ran.stderr, ran


def check_needs_program(folder):
    """A client without a sextantd beside it, or in $PATH, fails as it did without --local."""
    alone = shutil.copy(os.path.join(BIN, "sextant"), folder)
    ran = run(alone, folder, "--local", "--address=127.0.0.1:1", *PLAN, PATH="/nowhere")
    assert ran.returncode == RETRY_LATER, ran
    assert "no sextantd next to this program" in ran.stderr, ran
    # One in $PATH will do.
    ran = run(alone, folder, "--local", *PLAN, PATH=BIN)
    assert ran.returncode == STATE_FITS, ran
    os.unlink(alone)


def check_interrupted(folder):
    """Ctrl-C while the server works ends both, and removes the folder."""
    search = ["search", "llama-3.1-405b", "--tokens=1T", "--accelerator=h100-sxm",
              "--node-type=dgx-h100", "--devices=16384", "--gbs=4096", "--sequence-length=8192",
              "--tensor-across-nodes"]
    client = subprocess.Popen([os.path.join(BIN, "sextant"), "--local", *search],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env={"XDG_RUNTIME_DIR": folder, "HOME": folder})
    while client.poll() is None and not servers_in(folder):
        time.sleep(0.001)
    client.send_signal(signal.SIGINT)
    client.wait(timeout=60)
    for _ in range(6000):
        if not servers_in(folder):
            break
        time.sleep(0.01)
    assert not servers_in(folder)
    assert not [name for name in os.listdir(folder) if name.startswith("sextant-")]


def main():
    for check in (check_answers, check_completes_names, check_sends_nothing, check_needs_program,
                  check_interrupted):
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
    print("a private server answers and goes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
