#!/usr/bin/python3
"""The Debian packages: the same bytes twice, what they should have in them, sound to lintian. The
tests that follow take them from the build folder."""

import filecmp
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.dirname(os.environ["SEXTANT_BIN"])
FOLDER = os.path.join(BUILD, "tests", "packages", "debs")
SKIPPED = 77
TOOLS = ("lintian", "help2man", "cpack", "dpkg-deb")
CONTACT = "A Site <sextant@packages.debian.org>"
MOST_CLIENT_BYTES = 8_000_000


def packed():
    """Paths by name of package; none where this test was skipped."""
    return {os.path.basename(path).split("_")[0]: path for path in glob.glob(f"{FOLDER}/*.deb")}


def pack(folders):
    """Made at once in each folder; they have to be the same."""
    running = [subprocess.Popen(
        ["cpack", "--config", f"{BUILD}/CPackConfig.cmake", "-B", folder,
         "-D", f"CPACK_PACKAGE_CONTACT={CONTACT}"], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}) for folder in folders]
    for process in running:
        told = process.communicate()[0]
        assert process.returncode == 0, told
    names = sorted(os.path.basename(path) for path in glob.glob(f"{folders[0]}/*.deb"))
    same, *others = filecmp.cmpfiles(*folders, names, shallow=False)
    assert len(same) == 5 and not any(others), (same, others)
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    for name in names:
        shutil.copy(os.path.join(folders[0], name), FOLDER)


def check_lintian(debs):
    told = subprocess.run(["lintian", "--fail-on=error,warning", "--allow-root", *debs.values()],
                          check=False, capture_output=True, text=True)
    assert told.returncode == 0, told.stdout + told.stderr


def contents(deb):
    listed = subprocess.run(["dpkg-deb", "-c", deb], check=True, capture_output=True, text=True)
    return {line.split()[5][1:] for line in listed.stdout.splitlines()}


def check_contents(debs):
    helped = subprocess.run([f"{BUILD}/bin/sextant", "--help"], check=True, capture_output=True,
                            text=True).stdout
    commands = re.findall(r"^  ([a-z-]+)  ", helped.split("Subcommands:")[1].split("\n\n")[0],
                          re.MULTILINE)
    assert {"plan", "probe"} <= set(commands), commands
    wanted = {f"/usr/share/man/man1/sextant-{command}.1.gz" for command in commands} | {
        "/usr/bin/sextant", "/usr/share/bash-completion/completions/sextant",
        "/usr/share/zsh/vendor-completions/_sextant", "/usr/share/doc/sextant/NOTICE",
        "/usr/share/sextant/proto/sextant/v1/planning_service.proto"}
    assert wanted <= contents(debs["sextant"]), wanted - contents(debs["sextant"])
    assert os.path.getsize(debs["sextant"]) <= MOST_CLIENT_BYTES
    libraries = [path for deb in debs.values() for path in contents(deb) if ".so" in path]
    assert not libraries, libraries


def main():
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        print(f"skipped: no {', '.join(missing)}")
        shutil.rmtree(FOLDER, ignore_errors=True)
        return SKIPPED
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        pack([first, second])
    debs = packed()
    check_contents(debs)
    check_lintian(debs)
    print("\n".join(f"{os.path.getsize(path)} {path}" for path in debs.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
