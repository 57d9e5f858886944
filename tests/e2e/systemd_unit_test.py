#!/usr/bin/python3
"""deploy/sextantd.service, alone and with the drop-in for hosts with devices: systemd reads them,
the service can do little to its host, and sextantd serves under their filters of system calls."""

import ctypes
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from sextantd import BIN, ROOT, SKIPPED, Server

MOST_EXPOSURE = 1.5
SECCOMP_ERROR = 0x00050000 | 1     # SCMP_ACT_ERRNO(EPERM), of libseccomp's seccomp.h
SECCOMP_ALLOW = 0x7fff0000         # SCMP_ACT_ALLOW
NO_NEW_PRIVILEGES = 38             # PR_SET_NO_NEW_PRIVS, and below PR_SET_MDWE, of linux/prctl.h
DENY_WRITE_EXECUTE = 65


def unit_text(*names):
    texts = []
    for name in names:
        with open(os.path.join(ROOT, "deploy", name), encoding="utf-8") as file:
            texts.append(file.read())
    return "\n".join(texts)


PLANNER = unit_text("sextantd.service")
AGENT = unit_text("sextantd.service", "sextantd-agent.conf")


def setting(unit, name):
    """The values of a setting, one a line; an empty one takes back those before it."""
    values = re.findall(rf"^{name}=(.*)$", unit, re.MULTILINE)
    return values[max((i + 1 for i, value in enumerate(values) if not value), default=0):]


def calls_of(name):
    """The system calls of a group."""
    if not name.startswith("@"):
        return {name}
    listed = subprocess.run(["systemd-analyze", "syscall-filter", name], text=True, check=True,
                            capture_output=True).stdout
    words = [line.strip() for line in listed.splitlines()[1:]]
    return set().union(*(calls_of(word) for word in words if word and word[0] != "#"))


def allowed_calls(unit):
    """A list that begins with names allows them; "~" takes away (man systemd.exec)."""
    allowed = set()
    for line in setting(unit, "SystemCallFilter"):
        calls = set().union(*(calls_of(name) for name in line.lstrip("~").split()))
        allowed = allowed - calls if line.startswith("~") else allowed | calls
    return allowed


def become(calls, denies_write_execute, command):
    """Restricts this process as systemd would, and becomes `command`."""
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0) == 0
    if denies_write_execute:
        libc.prctl(DENY_WRITE_EXECUTE, 1, 0, 0, 0)  # from Linux 6.3 on
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ctypes.c_uint32(SECCOMP_ERROR)))
    for name in calls:
        number = seccomp.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # else this processor has no such call
            assert seccomp.seccomp_rule_add(context, ctypes.c_uint32(SECCOMP_ALLOW), number, 0) == 0
    assert seccomp.seccomp_load(context) == 0
    os.execv(command[0], command)


def starter(unit):
    """The start of a command line that runs under the unit's filter."""
    denies = setting(unit, "MemoryDenyWriteExecute")[-1] == "yes"
    return [sys.executable, os.path.abspath(__file__), "--become",
            json.dumps([sorted(allowed_calls(unit)), denies])]


def check_exposure(folder, unit):
    path = os.path.join(folder, "sextantd.service")
    with open(path, "w", encoding="utf-8") as file:
        file.write(unit.replace("/usr/bin/sextantd", os.path.join(BIN, "sextantd")))
    verified = subprocess.run(["systemd-analyze", "verify", path], text=True, check=False,
                              capture_output=True)
    assert verified.returncode == 0 and path not in verified.stderr, verified
    told = subprocess.run(["systemd-analyze", "security", "--offline=true", path], text=True,
                          check=False, capture_output=True)
    exposure = float(re.search(r"exposure level for \S+: ([\d.]+)", told.stdout).group(1))
    assert exposure <= MOST_EXPOSURE, told.stdout
    # systemd does not count these.
    assert all(setting(unit, f"{what}Max") for what in ("Memory", "Tasks"))


def flags_of(unit):
    return [flag for flag in setting(unit, "ExecStart")[-1].split()[1:] if flag != "$FLAGS"]


def call(server, *command):
    return subprocess.run([os.path.join(BIN, "sextant"), f"--address={server.address}", *command],
                          capture_output=True, text=True, check=False, timeout=120)


def check_planner():
    with Server(*flags_of(PLANNER), starter=starter(PLANNER)) as server:
        searched = call(server, "search", "llama-3.1-8b", "--tokens=1e9", "--gbs=32",
                        "--sequence-length=8192", "--accelerator=h100-sxm", "--devices=16")
        assert searched.returncode == 0, searched
        # The threads that search, which have given way: the filter lets them.
        threads = f"/proc/{server.process.pid}/task"
        nice = set()
        for thread in os.listdir(threads):
            with open(f"{threads}/{thread}/stat", encoding="utf-8") as file:
                nice.add(int(file.read().rsplit(")", 1)[1].split()[16]))
        assert 10 in nice, nice
        server.terminate()
        assert server.process.wait(timeout=30) == 0


def check_agent(folder):
    """It lists this host's processor, and its probe measures it, in what time that takes."""
    with Server(*flags_of(AGENT), starter=starter(AGENT)) as server:
        listed = call(server, "devices")
        assert listed.returncode == 0 and "host" in listed.stdout, listed
    subprocess.run([*starter(AGENT), os.path.join(BIN, "sextant-probe"), "--backend=host",
                    "--mode=quick", "--budget=2m"], check=True, capture_output=True,
                   env={**os.environ, "SEXTANT_LOCK_FOLDER": folder})


def check_filter():
    """What any user may else do is refused: to be pinned to cores, and to write code to memory."""
    attempt = ("import mmap, os\n"
               "for attempt in (lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)),\n"
               "                lambda: mmap.mmap(-1, 4096, prot=7)):\n"
               "  try: attempt(); print('done')\n"
               "  except OSError: print('refused')\n")
    pinned, wrote = subprocess.run([*starter(PLANNER), sys.executable, "-c", attempt], text=True,
                                   check=True, capture_output=True).stdout.split()
    assert pinned == "refused", pinned
    release = tuple(int(part) for part in os.uname().release.split(".")[:2])
    assert wrote == "refused" or release < (6, 3), wrote


def main():
    if sys.argv[1:2] == ["--become"]:
        become(*json.loads(sys.argv[2]), sys.argv[3:])
    if not shutil.which("systemd-analyze"):
        print("skipped: no systemd-analyze")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        for unit in (PLANNER, AGENT):
            check_exposure(folder, unit)
        check_filter()
        check_planner()
        check_agent(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
