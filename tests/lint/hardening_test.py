#!/usr/bin/python3
"""The installed programs load nothing that a plain Debian lacks, and are hardened.

Each is a position-independent executable whose relocations are read-only from the start. The server
checks its stack and the sizes of its copies.
"""

import os
import re
import subprocess
import sys
import tempfile

# Of the packages that apt and dpkg themselves need.
PLAIN = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1",
         "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


def readelf(option, file):
    return subprocess.run(["readelf", "--wide", option, file], check=True, text=True,
                          capture_output=True).stdout


def needed(file):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", file)))


def hardening_faults(file):
    dynamic = readelf("--dynamic", file)
    checks = {"is not position-independent": r"FLAGS_1.*\bPIE\b",
              "binds late": r"FLAGS_1.*\bNOW\b"}
    faults = [fault for fault, pattern in checks.items() if not re.search(pattern, dynamic)]
    if "GNU_RELRO" not in readelf("--segments", file):
        faults.append("has writable relocations")
    if re.search(r"GNU_STACK.*\bRWE\b", readelf("--segments", file)):
        faults.append("has an executable stack")
    return faults


def main():
    build = os.path.dirname(os.environ["SEXTANT_BIN"])
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["cmake", "--install", build, "--prefix", root], check=True,
                       stdout=subprocess.DEVNULL)
        folder = os.path.join(root, "lib/sextant")
        beside = set(os.listdir(folder))
        faults = []
        for name in ("bin/sextantd", "bin/sextant", "bin/sextant-probe"):
            file = os.path.join(root, name)
            found = PLAIN | (beside if name == "bin/sextantd" else set())
            faults += [f"{name} loads {library}" for library in sorted(needed(file) - found)]
            faults += [f"{name} {fault}" for fault in hardening_faults(file)]
        for library in beside:
            faults += [f"{library} loads {other}" for other in
                       sorted(needed(os.path.join(folder, library)) - PLAIN - beside)]
        symbols = readelf("--dyn-syms", os.path.join(root, "bin/sextantd"))
        faults += [f"bin/sextantd has no {symbol}" for symbol in ("__stack_chk_fail", "_chk@")
                   if symbol not in symbols]
        ran = subprocess.run([os.path.join(root, "bin/sextantd"), "--version"], text=True,
                             capture_output=True, check=False)
        if not ran.stdout.startswith("sextantd "):
            faults.append(f"bin/sextantd --version: {ran.stderr}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
