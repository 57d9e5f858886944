#!/usr/bin/python3
"""The image: the same bytes twice, its bill of materials names what is installed, and on a
read-only root, as nobody in particular, it serves its own loopback alone until flags say who may
call."""

import filecmp
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

from pack_test import FOLDER, packed

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SKIPPED = 77
MOST_BYTES = 24_000_000
PLAN = ("plan", "llama-3.1-8b", "--tokens=1e9", "--gbs=32", "--sequence-length=8192",
        "--accelerator=h100-sxm", "--devices=16")
# As a runtime starts it: a read-only root, devices and processes beside it, and a network that has
# nothing but its own loopback.
START = """mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && mount --rbind /dev "$0/dev" &&
mount -t proc proc "$0/proc" && chroot "$0" /bin/busybox ip link set lo up &&
exec chroot --userspec="$1" "$0" "${@:2}" """


def make(folder):
    """Two images of the same packages, which have to be the same."""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    archives = [f"{folder}/{name}.tar" for name in ("first", "second")]
    for archive in archives:
        subprocess.run([f"{ROOT}/deploy/image.sh", FOLDER, archive], env=environment, check=True,
                       stdout=subprocess.DEVNULL)
    assert filecmp.cmp(*archives, shallow=False)
    assert os.path.getsize(archives[0]) <= MOST_BYTES, os.path.getsize(archives[0])
    return archives[0]


def unpack(archive, folder):
    """Its root, and its configuration."""
    layout, root = f"{folder}/layout", f"{folder}/root"
    os.mkdir(layout)
    os.mkdir(root)
    subprocess.run(["tar", "-C", layout, "-xf", archive], check=True)

    def blob(digest):
        return os.path.join(layout, "blobs", *digest["digest"].split(":"))

    def read(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)

    manifest = read(blob(read(f"{layout}/index.json")["manifests"][0]))
    for layer in manifest["layers"]:
        subprocess.run(["tar", "-C", root, "-xf", blob(layer)], check=True)
    return root, read(blob(manifest["config"]))["config"]


def check_contents(root):
    installed = dict(re.findall(r"^Package: (\S+)\n(?:.+\n)*?Version: (\S+)$",
                                open(f"{root}/var/lib/dpkg/status", encoding="utf-8").read(),
                                re.MULTILINE))
    assert {"sextant", "sextant-server", "libssl3", "libc6"} <= set(installed), installed
    with open(f"{root}/usr/share/doc/sextant/image.cdx.json", encoding="utf-8") as file:
        listed = {each["name"]: each["version"] for each in json.load(file)["components"]}
    assert installed.items() <= listed.items(), (installed, listed)
    assert "libgrpc-dev" in listed, listed
    for left in ("etc/resolv.conf", "etc/hostname", "etc/apt"):
        assert not os.path.lexists(f"{root}/{left}"), left
    assert not glob.glob(f"{root}/tmp/*") and not glob.glob(f"{root}/dev/*")
    odd = subprocess.run(
        ["find", root, "(", "-perm", "-0002", "!", "-type", "l", "!", "-perm", "-1000", ")",
         "-o", "(", "-type", "f", "-perm", "/6000", ")", "-o", "!", "-uid", "0"], check=True,
        capture_output=True, text=True).stdout
    assert not odd, odd


class Container:
    """The image's entry point with `flags`, in a container that has ended with the `with`."""

    def __init__(self, root, config, *flags):
        self.root, self.user = root, config["User"]
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "bash", "-c", START,
             root, self.user, *config["Entrypoint"], *flags], stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.kill(self.first(), signal.SIGKILL)
        self.process.wait()
        self.process.stderr.close()

    def first(self):
        """The process that is 1 within: the end of it ends all others."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="utf-8") as file:
            return int(file.read().split()[0])

    def events(self):
        """What it says until it serves, or ends."""
        said = []
        for line in self.process.stderr:
            assert line[0] == "{", line + self.process.stderr.read()
            said.append(json.loads(line))
            if said[-1]["event"] == "serving":
                break
        return said

    def inside(self, *words, chroot=True):
        within = ["chroot", f"--userspec={self.user}", self.root] if chroot else []
        return subprocess.run(["nsenter", f"--target={self.first()}", "--net", "--mount", "--pid",
                               *within, *words], text=True, check=False, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout

    def listens_at(self):
        """Addresses of TCP, IPv4, as /proc has them: 127.0.0.1 is 0100007F."""
        table = self.inside("cat", "/proc/net/tcp", chroot=False)
        return {found[1] for found in re.finditer(r"^ *\d+: (\w+):\w+ \w+:\w+ 0A ", table,
                                                  re.MULTILINE)}


def check_container(root, config):
    assert config["User"] == "65532:65532", config
    with Container(root, config) as container:
        said = container.events()
        assert [line["event"] for line in said] == ["listens_on_loopback", "serving"], said
        assert container.listens_at() == {"0100007F"}, container.listens_at()
        told = container.inside("/usr/bin/sextant", *PLAN)
        assert told.startswith("FITS"), told
        told = container.inside("/bin/busybox", "wget", "-qO-", "http://127.0.0.1:9464/readyz")
        assert told == "ready\n", told
        told = container.inside("touch", f"{root}/etc/new", chroot=False)
        assert "Read-only file system" in told, told
        os.kill(container.first(), signal.SIGTERM)
        assert container.process.wait(timeout=30) == 0
    with Container(root, config, "--insecure_allow_remote") as container:
        said = container.events()
        assert [line["event"] for line in said][-1] == "serving", said
        assert container.listens_at() == {"00000000"}, container.listens_at()
    with Container(root, config, "--listen=0.0.0.0:50051") as container:
        refused = container.process.stderr.read()
        assert "--tls_certificate and --tls_key with" in refused, refused
        assert container.process.wait(timeout=10) != 0


def missing():
    if os.geteuid() != 0:
        return "root, who makes a system"
    tools = [tool for tool in ("buildah", "mmdebstrap") if not shutil.which(tool)]
    if not packed():
        tools.append("packages, which packages.pack makes")
    return ", ".join(tools)


def main():
    if what := missing():
        print(f"skipped: no {what}")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        try:
            subprocess.run(["unshare", "--mount", "--net", "true"], check=True)
            archive = make(folder)
        except subprocess.CalledProcessError as failed:
            print(f"skipped: no image from the mirror: {failed}")
            return SKIPPED
        root, config = unpack(archive, folder)
        check_contents(root)
        check_container(root, config)
        print(f"{os.path.getsize(archive)} bytes, which serve")
    return 0


if __name__ == "__main__":
    sys.exit(main())
