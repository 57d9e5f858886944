#!/usr/bin/python3
"""Which drivers load the kernels in sextant-probe, by what is in their images.

A driver of CUDA 12.0 has to find, of each file of kernels and uncompressed: PTX of at most version
7.8, and machine code of ELF's ABI version 7 for A100 and H100. The images are read here; where an
older CUDA's cuobjdump is, it is asked as well.
"""

import glob
import os
import re
import struct
import subprocess
import sys

BUILD = os.path.dirname(os.environ.get("SEXTANT_BIN", "build/release/bin"))
FOLDER = os.path.join(BUILD, "gpu_probe", "cuda", "kernels")
PROGRAM = os.path.join(BUILD, "bin", "sextant-probe")
SOURCES = "gpu_probe/cuda/kernels"
SKIPPED = 77
NEWEST_PTX = (7, 8)  # which CUDA 11.8 brought
NEWEST_ABI = 7       # of machine code that drivers before R580 load; nvcc 13 writes 8
OLDER_GPUS = (80, 90)
PTX, ELF = 1, 2


def entries(image):
    """Kind, compute capability and bytes of all that is in a container of `fatbinary`.

    NVIDIA does not publish the format. Read here: a header of magic, version, its own size and that
    of what follows; then entries of kind, version, own header's size, size and, 28 bytes in, the
    compute capability. A compressed entry tells its compressed size 16 bytes in.
    """
    magic, _, start, size = struct.unpack_from("<IHHQ", image)
    assert magic == 0xBA55ED50 and start + size <= len(image), (hex(magic), start, size, len(image))
    at, end, found = start, start + size, []
    while at < end:
        kind, _, header, length, compressed = struct.unpack_from("<HHIQI", image, at)
        capability, = struct.unpack_from("<I", image, at + 28)
        assert compressed == 0, f"an entry for {capability} is compressed"
        found.append((kind, capability, image[at + header:at + header + length]))
        at += header + length
    assert at == end, (at, end)
    return found


def abi_version(elf):
    assert elf[:4] == b"\x7fELF" and elf[18] == 190, "no machine code of CUDA (EM_CUDA is 190)"
    return elf[8]  # EI_ABIVERSION


def check_ptx(name, text, kernels):
    version = re.search(rb"^\s*\.version (\d+)\.(\d+)$", text, re.MULTILINE)
    assert version, f"{name}: no PTX in plain text"
    assert tuple(map(int, version.groups())) <= NEWEST_PTX, f"{name}: {version.group(0)}"
    assert re.search(rb"^\.target sm_80$", text, re.MULTILINE), name
    found = re.findall(rb"\.visible \.entry (\w+)\(", text)
    assert {kernel.decode() for kernel in found} == kernels, (name, found, kernels)


def check_older_machine_code(name, contents, kernels):
    for gpu in OLDER_GPUS:
        elves = [data for kind, capability, data in contents if (kind, capability) == (ELF, gpu)]
        assert len(elves) == 1, f"{name} has {len(elves)} times machine code for {gpu}"
        assert abi_version(elves[0]) <= NEWEST_ABI, f"{name}: ABI {abi_version(elves[0])} for {gpu}"
        for kernel in kernels:
            assert b".text." + kernel.encode() + b"\0" in elves[0], (name, gpu, kernel)


def kernels_of(name):
    """The names of a source file's kernels, of which macros make some: as nvcc wrote them."""
    with open(os.path.join(FOLDER, f"{name}.ptx"), encoding="utf-8") as file:
        return set(re.findall(r"\.visible \.entry (\w+)\(", file.read()))


def check_with_cuobjdump(cuobjdump, path, name):
    listed = subprocess.run([cuobjdump, "-lelf", "-lptx", path], capture_output=True, text=True,
                            check=True).stdout
    elves = re.findall(r"ELF file +\d+: \S+\.sm_(\d+)\.cubin", listed)
    texts = re.findall(r"PTX file +\d+: \S+\.sm_(\d+)\.ptx", listed)
    assert sorted(map(int, elves)) == list(OLDER_GPUS) and texts == ["80"], (name, listed)


def check_file(name, program, cuobjdump):
    """Whether the portable image has machine code too. The images are those of the program."""
    kernels = kernels_of(name)
    assert kernels, name
    fatbin, ptx = (os.path.join(FOLDER, f"{name}.portable.{kind}") for kind in ("fatbin", "ptx"))
    has_machine_code = read(fatbin) in program if os.path.exists(fatbin) else False
    if has_machine_code:
        contents = entries(read(fatbin))
        check_older_machine_code(name, contents, kernels)
        texts = [data for kind, _, data in contents if kind == PTX]
        assert len(texts) == 1, (name, len(texts))
        check_ptx(name, texts[0].rstrip(b"\0"), kernels)
        if cuobjdump:
            check_with_cuobjdump(cuobjdump, fatbin, name)
    else:
        assert read(ptx) + b"\0" in program, f"the program has no portable image of {name}"
        check_ptx(name, read(ptx), kernels)
    current = read(os.path.join(FOLDER, f"{name}.current.fatbin"))
    assert current in program, f"the program has no current image of {name}"
    covered = {capability for kind, capability, _ in entries(current) if kind == ELF}
    assert covered == {100, 120} | (set() if has_machine_code else set(OLDER_GPUS)), (name, covered)
    return has_machine_code


def read(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    if not os.path.exists(PROGRAM):
        print(f"skipped: there is no {PROGRAM}")
        return SKIPPED
    names = sorted(os.path.basename(path)[:-3] for path in glob.glob(f"{SOURCES}/*.cu"))
    assert len(names) >= 8, names
    cuobjdump = next(filter(os.path.exists, ("build/tools/older-cuda/cuobjdump",
                                             "/usr/bin/cuobjdump")), None)
    program = read(PROGRAM)
    with_machine_code = [check_file(name, program, cuobjdump) for name in names]
    assert len(set(with_machine_code)) == 1, with_machine_code
    if not with_machine_code[0]:
        print(f"skipped: the PTX of {len(names)} files is old enough, and no older ptxas made "
              "machine code of it (deploy/install-deps.sh kernels)")
        return SKIPPED
    if not cuobjdump:
        print("skipped: no cuobjdump is here to confirm that the images are as they should be")
        return SKIPPED
    print(f"{len(names)} files of kernels load with a driver of CUDA 12.0")
    return 0


if __name__ == "__main__":
    sys.exit(main())
