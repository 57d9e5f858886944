#!/usr/bin/python3
"""The tarball: the same bytes twice; nothing in it asks for newer libraries than those of RHEL 9
and Ubuntu 22.04; it plans in a clean trixie, and says in a clean bullseye what that lacks."""

import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile

from clean_root import CleanRoot

BUILD = os.path.dirname(os.environ["SEXTANT_BIN"])
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SKIPPED = 77
# RHEL 9 has glibc 2.34 and GCC 11's libstdc++; libstdc++'s manual, "ABI Policy and Guidelines",
# lists which versions of symbols came with which GCC.
NEWEST = {"GLIBC": (2, 34), "GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (11, 0, 0)}
PLAN = ("--local", "plan", "llama-3.1-8b", "--tokens=1e9", "--gbs=32", "--sequence-length=8192",
        "--accelerator=h100-sxm", "--devices=16")


def too_new(file):
    """The symbols that `file` asks for, and an older system lacks."""
    listed = subprocess.run(["readelf", "--dyn-syms", "-W", file], check=True, text=True,
                            capture_output=True).stdout
    asked = re.findall(r" UND (\S+)@([A-Z]+)_([\d.]+)", listed)
    assert any(library == "GLIBC" for _, library, _ in asked), (file, listed)
    return [f"{name}@{library}_{version}" for name, library, version in asked
            if library in NEWEST and tuple(map(int, version.split("."))) > NEWEST[library]]


def pack(folder):
    """Two tarballs of one build, which have to be the same."""
    packed = [subprocess.run([f"{ROOT}/deploy/tarball.sh", BUILD, f"{folder}/{name}"], check=True,
                             text=True, stdout=subprocess.PIPE,
                             env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}).stdout.strip()
              for name in ("first", "second")]
    assert filecmp.cmp(*packed, shallow=False), packed
    return packed[0]


def check_floor(unpacked):
    programs = sorted(os.listdir(f"{unpacked}/libexec"))
    assert programs == ["sextant", "sextant-probe", "sextantd"], programs
    assert sorted(os.listdir(f"{unpacked}/bin")) == sorted(
        programs + ["sextant-sbatch", "sextant-slurm"])
    libraries = sorted(os.listdir(f"{unpacked}/lib/sextant"))
    assert libraries
    for file in ([f"{unpacked}/libexec/{name}" for name in programs]
                 + [f"{unpacked}/lib/sextant/{name}" for name in libraries]):
        assert not too_new(file), (file, too_new(file))
    # The check sees what is too new: Debian bookworm's own.
    own = subprocess.run(["g++", "-print-file-name=libstdc++.so.6"], check=True, text=True,
                         capture_output=True).stdout.strip()
    assert too_new(own), own
    print(f"RHEL 9's libraries do for {', '.join(programs + libraries)}")


def check_units(unpacked):
    for name in ("sextant-planner.service", "sextant-agent.service"):
        with open(f"{unpacked}/lib/systemd/system/{name}", encoding="utf-8") as file:
            starts = re.findall(r"^ExecStart=(\S+)", file.read(), re.MULTILINE)
        assert starts == ["/opt/sextant/libexec/sextantd"], starts


def run_in(suite, tarball, folder, fails):
    """What the command says in a clean system that has unpacked the tarball."""
    place = os.path.join(folder, suite)
    os.mkdir(place)
    root = CleanRoot(BUILD, place, suite)
    shutil.copy(tarball, root.path("/opt/sextant.tar.gz"))
    root.run("tar", "-C", "/opt", "-xf", "/opt/sextant.tar.gz")
    name = os.path.basename(tarball)[:-len(".tar.gz")]
    root.run("ln", "-s", f"/opt/{name}/bin/sextant", "/usr/bin/sextant")
    told = root.run("sextant", *PLAN, fails=fails)
    for other in ("sextantd", "sextant-probe"):
        root.run(f"/opt/{name}/bin/{other}", "--version", fails=fails)
    shutil.rmtree(place)
    return told


def missing_tool():
    if not os.path.exists("/usr/bin/readelf"):
        return "no readelf"
    return None if os.uname().machine == "x86_64" else "not x86-64"


def main():
    if missing := missing_tool():
        print(f"skipped: {missing}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        tarball = pack(folder)
        subprocess.run(["tar", "-C", folder, "-xf", tarball], check=True)
        unpacked = os.path.join(folder, os.path.basename(tarball)[:-len(".tar.gz")])
        check_floor(unpacked)
        check_units(unpacked)
        if os.geteuid() != 0 or not shutil.which("mmdebstrap"):
            print("skipped: clean systems, which root makes by mmdebstrap")
            return SKIPPED
        try:
            planned = run_in("trixie", tarball, folder, fails=False)
            refused = run_in("bullseye", tarball, folder, fails=True)
        except subprocess.CalledProcessError as failed:
            print(f"skipped: no clean system from the mirror: {failed}")
            return SKIPPED
        assert planned.startswith("FITS"), planned
        assert "takes glibc 2.34" in refused and "GLIBC_2.34' not found" in refused, refused
        print(f"{os.path.getsize(tarball)} bytes; plans in trixie; in bullseye: {refused}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
