#!/usr/bin/python3
"""The programs load nothing that a plain Debian lacks, and are hardened, as built and as installed.

Each is a position-independent executable whose relocations are read-only from the start, and checks
its stack, the sizes of its copies and the bounds of its containers. Each of our units is compiled
for that, and for processors that check where calls and returns go. Programs themselves are not
marked for such processors: Debian's archives that they link are not.
"""

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import tempfile

# Of the packages that apt and dpkg themselves need.
PLAIN = {"libc.so.6", "libm.so.6", "libgcc_s.so.1", "libstdc++.so.6", "libz.so.1",
         "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


PROGRAMS = ("sextantd", "sextant", "sextant-probe")
# Where sextantd finds the libraries that are installed beside it. Any other entry, an empty one
# too, would have a program load what someone else put there.
RUN_PATHS = {"sextantd": ["$ORIGIN/../lib/sextant"]}

UNIT_FLAGS = {"-fstack-protector-strong", "-fstack-clash-protection", "-D_GLIBCXX_ASSERTIONS",
              "-D_FORTIFY_SOURCE=3"}
X86_FLAGS = {"-fcf-protection=full"}
WEAKENING = re.compile(r"-fno-(stack|pi[ec])|-fcf-protection=(?!full)|-O0|-fstack-protector$|"
                       r"-[DU]_FORTIFY_SOURCE=?[012]?$")
# What code calls that found its stack overwritten, a copy too long, an index out of bounds.
CHECKS = ("__stack_chk_fail", "_chk@", "__glibcxx_assert_fail")


def readelf(option, *files):
    return subprocess.run(["readelf", "--wide", option, *files], check=True, text=True,
                          capture_output=True).stdout


def is_x86():
    return platform.machine() == "x86_64"


def command_faults(arguments):
    """What a unit's command line lacks. One -U_FORTIFY_SOURCE, of a compiler's own, comes first."""
    wanted = UNIT_FLAGS | (X86_FLAGS if is_x86() else set())
    faults = [f"has no {flag}" for flag in sorted(wanted - set(arguments))]
    if not {"-fPIE", "-fPIC"} & set(arguments):
        faults.append("has no -fPIE")
    if "-U_FORTIFY_SOURCE" in arguments:
        arguments = list(arguments)
        arguments.remove("-U_FORTIFY_SOURCE")
    return faults + [f"has {flag}" for flag in arguments if WEAKENING.match(flag)]


def is_marked(notes):
    """Whether an object has both marks: targets of jumps, and shadow stacks."""
    return re.search(r"x86 feature: IBT, SHSTK", notes) is not None


def unit_faults(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        units = json.load(file)
    assert len(units) > len(PROGRAMS), units
    commands = [shlex.split(unit["command"]) for unit in units]
    objects = [os.path.join(build, command[command.index("-o") + 1]) for command in commands]
    faults = [f"{path} {fault}" for path, command in zip(objects, commands)
              for fault in command_faults(command)]
    built = [path for path in objects if os.path.exists(path)]
    assert len(built) > len(PROGRAMS), built
    for path in built if is_x86() else ():
        # What is optimised across files is compiled when it is linked.
        if not is_marked(readelf("--notes", path)) and ".gnu.lto_" not in readelf("-S", path):
            faults.append(f"{path} has no marks for control flow")
    return faults


def needed(file):
    return set(re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", file)))


def run_paths(dynamic):
    return re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic)


def hardening_faults(file):
    dynamic = readelf("--dynamic", file)
    checks = {"is not position-independent": r"FLAGS_1.*\bPIE\b",
              "binds late": r"FLAGS_1.*\bNOW\b"}
    faults = [fault for fault, pattern in checks.items() if not re.search(pattern, dynamic)]
    if "GNU_RELRO" not in readelf("--segments", file):
        faults.append("has writable relocations")
    if re.search(r"GNU_STACK.*\bRWE\b", readelf("--segments", file)):
        faults.append("has an executable stack")
    paths = run_paths(dynamic)
    if paths != RUN_PATHS.get(os.path.basename(file), []):
        faults.append(f"looks for libraries in {paths}")
    symbols = readelf("--symbols", file)
    return faults + [f"never calls {check}" for check in CHECKS if check not in symbols]


def check_itself():
    """The checks find what they are for."""
    good = [*UNIT_FLAGS, *X86_FLAGS, "-fPIE", "-U_FORTIFY_SOURCE", "-O1"]
    assert not command_faults(good), command_faults(good)
    for flag in good[:-2]:
        if flag not in X86_FLAGS or is_x86():
            assert command_faults([other for other in good if other != flag]), flag
    for flag in ("-O0", "-U_FORTIFY_SOURCE", "-fno-stack-protector", "-fcf-protection=none"):
        assert command_faults([*good, flag]), flag
    assert run_paths(" 0xf (RPATH)  Library rpath: [::::]") == ["::::"]
    assert run_paths(" 0x1d (RUNPATH)  Library runpath: []") == [""]
    assert not is_marked("GNU 0x10 NT_GNU_PROPERTY_TYPE_0 Properties: x86 feature: SHSTK")


def main():
    check_itself()
    build = os.path.dirname(os.environ["SEXTANT_BIN"])
    faults = unit_faults(build)
    faults += [f"{name}, as built, {fault}" for name in PROGRAMS
               for fault in hardening_faults(os.path.join(build, "bin", name))]
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["cmake", "--install", build, "--prefix", root], check=True,
                       stdout=subprocess.DEVNULL)
        folder = os.path.join(root, "lib/sextant")
        beside = set(os.listdir(folder))
        for name in PROGRAMS:
            file = os.path.join(root, "bin", name)
            found = PLAIN | (beside if name == "sextantd" else set())
            faults += [f"{name} loads {library}" for library in sorted(needed(file) - found)]
            faults += [f"{name} {fault}" for fault in hardening_faults(file)]
        for library in beside:
            faults += [f"{library} loads {other}" for other in
                       sorted(needed(os.path.join(folder, library)) - PLAIN - beside)]
        ran = subprocess.run([os.path.join(root, "bin/sextantd"), "--version"], text=True,
                             capture_output=True, check=False)
        if not ran.stdout.startswith("sextantd "):
            faults.append(f"bin/sextantd --version: {ran.stderr}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
