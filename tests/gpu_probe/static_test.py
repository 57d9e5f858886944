#!/usr/bin/python3
"""sextant-probe is one file: it needs libc, libm and their loader, and nothing else of a system.

Looked at: what `ldd` lists, which glibc it and the tests for GPUs need, and that it measures in a
root folder that holds the probe and those three files, without /proc, /sys, /dev, /etc and /tmp.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

BIN = os.environ.get("SEXTANT_BIN", "build/release/bin")
PROGRAM = os.path.join(BIN, "sextant-probe")
GPU_TESTS = os.path.join(BIN, "gpu_tests")
OLDEST_GLIBC = (2, 34)  # as docs/probe.md promises: RHEL 9's; Ubuntu 22.04 has 2.35
ALLOWED = {"linux-vdso.so.1", "libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2",
           "ld-linux-aarch64.so.1"}
SKIPPED = 77


def needed():
    """Path by name of all that the loader brings in; the path of the kernel's part is None."""
    listed = subprocess.run(["ldd", PROGRAM], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in listed.splitlines():
        path = re.search(r"(/\S+) \(0x", line)
        name = os.path.basename(line.split()[0])
        found[name] = path.group(1) if path else None
    return found


def glibc_versions(listed):
    """The versions of glibc's functions that `readelf -V` or `objdump -p` listed as needed."""
    named = set(re.findall(r"\bGLIBC_([\w.]+)", listed))
    odd = {name for name in named if not re.fullmatch(r"[0-9.]+", name)}
    assert not odd, f"needs of glibc what no version tells: {odd}"
    return {tuple(map(int, name.split("."))) for name in named}


def check_glibc(program):
    """The oldest glibc that `program` starts with; None where no tool tells."""
    for command in (["readelf", "-V", "-W"], ["objdump", "-p"]):
        if shutil.which(command[0]):
            listed = subprocess.run([*command, program], capture_output=True, text=True, check=True)
            newest = max(glibc_versions(listed.stdout))
            assert newest <= OLDEST_GLIBC, f"{program} needs glibc {newest}, not {OLDEST_GLIBC}"
            return ".".join(map(str, newest))
    return None


def way_into(root):
    """The command that enters `root`, or None where this user may not."""
    # By their paths: the probe is started without a single variable.
    chroot, unshare = (shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
                       for name in ("chroot", "unshare"))
    if chroot is None:
        return None
    ways = [[chroot, root]] + ([[unshare, "-r", chroot, root]] if unshare else [])
    for command in ways:
        tried = subprocess.run([*command, "/sextant-probe", "--version"], capture_output=True,
                               env={}, check=False, timeout=60)
        if tried.returncode == 0:
            return command
        if b"sextant-probe:" in tried.stderr:
            raise AssertionError(f"it does not start there: {tried.stderr.decode()}")
    return None


def check_an_empty_root(root, files):
    shutil.copy(PROGRAM, root)
    for path in filter(None, files.values()):
        target = root + path
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy(os.path.realpath(path), target)
    enter = way_into(root)
    if enter is None:
        return False

    def run(*flags):
        done = subprocess.run([*enter, "/sextant-probe", *flags], capture_output=True, text=True,
                              env={}, timeout=250, check=False)
        assert done.returncode == 0, (flags, done)
        return [json.loads(line) for line in done.stdout.splitlines()]

    listed = run("--list")
    assert len(listed) == 1 and listed[0]["device"]["uuid"], listed
    # No time is asserted: the budget only has to be enough for a slow, busy machine.
    calibration = run("--mode=quick", "--budget=60s")[-1]["calibration"]
    assert calibration["device"]["uuid"] == listed[0]["device"]["uuid"], calibration["device"]
    assert calibration["matmuls"], calibration
    for matmul in calibration["matmuls"]:
        assert matmul["engine"] == "builtin", matmul
    assert any("without a lock" in note for note in calibration["notes"]), calibration["notes"]
    return True


def main():
    if not os.path.exists(PROGRAM):
        print(f"skipped: there is no {PROGRAM}")
        return SKIPPED
    files = needed()
    if any(name.startswith(("libasan", "libubsan", "libtsan")) for name in files):
        print("skipped: built with sanitizers, whose libraries are shared")
        return SKIPPED
    assert set(files) <= ALLOWED, f"needs more than libc: {sorted(set(files) - ALLOWED)}"
    assert max(glibc_versions("Name: GLIBC_2.9\n Name: GLIBC_2.36 ")) > OLDEST_GLIBC
    glibc = check_glibc(PROGRAM)
    if os.path.exists(GPU_TESTS):
        check_glibc(GPU_TESTS)
    with tempfile.TemporaryDirectory() as root:
        entered = check_an_empty_root(root, files)
    if not entered:
        print("skipped: neither chroot nor unshare -r is allowed here; ldd is as it should be")
        return SKIPPED
    if glibc is None:
        print("skipped: neither readelf nor objdump is here to tell which glibc it needs")
        return SKIPPED
    print(f"needs {', '.join(sorted(files))} and glibc {glibc}, and measures in an empty root")
    return 0


if __name__ == "__main__":
    sys.exit(main())
