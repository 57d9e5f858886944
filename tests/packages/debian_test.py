#!/usr/bin/python3
"""The Debian packages in a clean bookworm: installed, served as their own user, asked, upgraded
with what a site has changed and measured, removed and purged, after which nothing is left."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from clean_root import CleanRoot
from pack_test import packed

BUILD = os.path.dirname(os.environ["SEXTANT_BIN"])
SKIPPED = 77
TOOLS = ("mmdebstrap", "unshare")
PLAN = ("plan", "llama-3.1-8b", "--tokens=1e9", "--gbs=32", "--sequence-length=8192",
        "--accelerator=h100-sxm", "--devices=16")


def newer(deb, folder):
    """The same package as the next version."""
    tree = os.path.join(folder, "tree")
    subprocess.run(["dpkg-deb", "-R", deb, tree], check=True)
    with open(f"{tree}/DEBIAN/control", encoding="utf-8") as file:
        control = file.read()
    with open(f"{tree}/DEBIAN/control", "w", encoding="utf-8") as file:
        file.write(control.replace("-0sextant1", "-0sextant2"))
    path = os.path.join(folder, "newer_" + os.path.basename(deb))
    subprocess.run(["dpkg-deb", "-Zgzip", "-z1", "-b", tree, path], check=True,
                   stdout=subprocess.DEVNULL)
    shutil.rmtree(tree)
    return path


def copy_in(root, debs):
    """Their paths inside."""
    for deb in debs:
        shutil.copy(deb, root.path("/var/cache"))
    return ["/var/cache/" + os.path.basename(deb) for deb in debs]


class Service:
    """The program that a package's unit starts, as its user and with the flags of /etc/default."""

    def __init__(self, root, name):
        self.root, self.name = root, name
        unit = "".join(root.read(path[len(root.folder):]) for path in sorted(
            glob.glob(root.path(f"/lib/systemd/system/{name}.service"))
            + glob.glob(root.path(f"/lib/systemd/system/{name}.service.d/*.conf"))))
        self.start = re.findall(r"^ExecStart=(.+)$", unit, re.MULTILINE)[-1]
        self.address = None

    def __enter__(self):
        as_user = ["runuser", "-u", self.name, "--", "env", f"STATE_DIRECTORY=/var/lib/{self.name}",
                   "sh", "-c", f". /etc/default/{self.name}; exec {self.start}"]
        # As systemd makes it.
        self.root.run("install", "-d", "-o", self.name, "-g", self.name, f"/var/lib/{self.name}")
        self.process = subprocess.Popen(self.root.command(*as_user), stderr=subprocess.PIPE,
                                        text=True)
        for line in self.process.stderr:
            if '"event":"serving"' in line:
                self.address = json.loads(line)["grpc"][0]
                return self
        raise AssertionError(f"{self.name} ended: {self.process.wait()}")

    def ask(self, *words):
        """As a stranger."""
        return self.root.run("runuser", "-u", "nobody", "--", "sextant",
                             f"--address={self.address}", *words)

    def user(self):
        """Of the innermost process, which is sextantd."""
        inner = self.process.pid
        while True:
            with open(f"/proc/{inner}/task/{inner}/children", encoding="utf-8") as file:
                below = file.read().split()
            if not below:
                break
            inner = int(below[0])
        with open(f"/proc/{inner}/comm", encoding="utf-8") as file:
            assert file.read() == "sextantd\n"
        return os.stat(f"/proc/{inner}").st_uid

    def __exit__(self, *_):
        self.process.kill()  # and with it what runs inside
        self.process.wait()
        self.process.stderr.close()


def measure(service):
    """Quickly, which takes a turn of the host's processors that other tests may have."""
    for turn in range(5):
        try:
            return service.ask("probe", "--mode=quick")
        except AssertionError as failed:
            if turn == 4 or "PROBE_TIMEOUT" not in str(failed):
                raise


def set_flags(root, name):
    """What a site changes: the flags, in the place for them."""
    path = root.path(f"/etc/default/{name}")
    text = root.read(f"/etc/default/{name}")
    assert 'FLAGS=""\n' in text, text
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(
            'FLAGS=""', f'FLAGS="--listen=127.0.0.1:0 --http_listen=none"'))


def check_package(root, debs, name, folder):
    """From a clean root to a clean root; `name` is the package of a service."""
    before = root.files()
    packages = ["sextant", "sextant-server", name]
    enabled = f"/etc/systemd/system/multi-user.target.wants/{name}.service"
    root.apt("install", *copy_in(root, [debs[package] for package in packages]))
    assert root.exists(enabled)
    loads = subprocess.run(["readelf", "-d", root.path("/usr/bin/sextantd")], check=True,
                           capture_output=True, text=True).stdout
    assert "NEEDED" in loads and "PATH" not in loads, loads  # Debian's libraries, no others
    set_flags(root, name)
    with Service(root, name) as service:
        assert f"{name}:x:{service.user()}:" in root.read("/etc/passwd"), service.user()
        assert service.ask(*PLAN).startswith("FITS"), service.ask(*PLAN)
        if name == "sextant-agent":
            measure(service)
    kept = glob.glob(root.path(f"/var/lib/{name}/calibrations/*.json"))
    assert len(kept) == (name == "sextant-agent"), kept

    flags = root.read(f"/etc/default/{name}")
    root.apt("install", *copy_in(root, [newer(debs[package], folder) for package in packages]))
    assert "-0sextant2" in root.run("dpkg-query", "-W", name)
    assert root.read(f"/etc/default/{name}") == flags and root.exists(enabled)
    with Service(root, name) as service:
        assert service.ask(*PLAN).startswith("FITS")
        if kept:
            assert "host" in service.ask("calibration"), service.ask("calibration")

    root.apt("remove", *packages)
    assert root.read(f"/etc/default/{name}") == flags and not root.exists("/usr/bin/sextantd")
    assert all(os.path.exists(path) for path in kept)
    root.apt("purge", name)
    root.apt("autoremove", "--purge")
    after = root.files()
    assert after == before, (sorted(after - before), sorted(before - after))


def check_slurm_hooks(root, debs, folder):
    """As above, of what no service runs: the site's file is what it has changed."""
    before = root.files()
    site = "/etc/sextant/slurm.lua"
    root.apt("install", *copy_in(root, [debs["sextant-slurm"]]))
    with open(root.path(site), "a", encoding="utf-8") as file:
        file.write('mode = "refuse"\n')
    changed = root.read(site)
    root.apt("install", *copy_in(root, [newer(debs["sextant-slurm"], folder)]))
    assert "-0sextant2" in root.run("dpkg-query", "-W", "sextant-slurm")
    assert root.read(site) == changed
    # There is no Slurm, no product in the file, and no planner: that is all. No module is missing.
    told = root.run("sextant-slurm", "doctor", fails=True)
    faults = re.findall(r"^FAIL +(.*)$", told, re.MULTILINE)
    for word in ("scontrol", "devices is empty", "the planner at"):
        assert sum(word in fault for fault in faults) == 1, (word, told)
    assert len(faults) == 3, told
    assert f"ok    {site}: mode refuse" in told, told
    root.apt("remove", "sextant-slurm")
    assert root.read(site) == changed and not root.exists("/usr/share/sextant")
    root.apt("purge", "sextant-slurm")
    root.apt("autoremove", "--purge")
    after = root.files()
    assert after == before, (sorted(after - before), sorted(before - after))


def missing_tool():
    if os.geteuid() != 0:
        return "not root, who makes a clean system"
    missing = [tool for tool in TOOLS if not shutil.which(tool)]
    if not packed():
        missing.append("packages, which packages.pack makes")
    return f"no {', '.join(missing)}" if missing else None


def main():
    if missing := missing_tool():
        print(f"skipped: {missing}")
        return SKIPPED
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        place = os.path.join(folder, "root")
        os.mkdir(place)
        try:
            root = CleanRoot(BUILD, place)
            root.apt("update")
        except (subprocess.CalledProcessError, AssertionError) as failed:
            print(f"skipped: no clean bookworm from the mirror: {failed}")
            return SKIPPED
        for name in ("sextant-planner", "sextant-agent"):
            check_package(root, packed(), name, folder)
            print(f"{name} came and went after {time.monotonic() - started:.0f} s")
        check_slurm_hooks(root, packed(), folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
