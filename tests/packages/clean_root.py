"""A Debian with nothing but apt, to install packages into."""

import os
import shutil
import subprocess

# What running and installing anything at all leaves behind: apt's and dpkg's own lists and logs,
# caches, and the copies that are kept of the lists of users.
NOT_OURS = ("/var/cache/", "/var/lib/apt/", "/var/lib/dpkg/", "/var/log/", "/proc/", "/run/",
            "/etc/ld.so.cache", "/etc/passwd-", "/etc/group-", "/etc/shadow-", "/etc/gshadow-",
            "/etc/subuid-", "/etc/subgid-")


class CleanRoot:
    """Unpacked into `folder`, from an archive that is made once and kept in `kept`.

    CalledProcessError where this host can't make it, or run anything in it."""

    def __init__(self, kept, folder, suite="bookworm"):
        archive = os.path.join(kept, f"{suite}.tar")
        if not os.path.exists(archive):
            made = f"{archive}.{os.getpid()}.tar"  # another test may be making it, too
            subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", suite,
                            made], check=True, stdin=subprocess.DEVNULL)
            os.rename(made, archive)
        self.folder = folder
        subprocess.run(["tar", "-xf", archive, "-C", folder, "--numeric-owner"], check=True)
        shutil.copy("/etc/resolv.conf", self.path("/etc/resolv.conf"))
        # Containers may not have their own processes here.
        subprocess.run(self.command("/bin/true"), check=True, stdin=subprocess.DEVNULL)

    def path(self, inside):
        return self.folder + inside

    def read(self, inside):
        with open(self.path(inside), encoding="utf-8") as file:
            return file.read()

    def exists(self, inside):
        return os.path.lexists(self.path(inside))

    def command(self, *words):
        """A command line that runs `words` inside, as root, with processes of its own."""
        return ["unshare", "--mount", "--pid", "--fork", "--kill-child", "/bin/sh", "-c",
                'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', self.folder, *words]

    def run(self, *words, fails=False):
        """Its output, both kinds together."""
        done = subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              timeout=200, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
                                                "LC_ALL": "C.UTF-8",
                                                "DEBIAN_FRONTEND": "noninteractive"})
        assert (done.returncode != 0) == fails, (words, done.returncode, done.stdout)
        return done.stdout

    def apt(self, *words):
        return self.run("apt-get", "-q", "-y", "--no-install-recommends", *words)

    def files(self):
        """Every path, and what the lists of users and groups say."""
        found = set()
        for place, folders, names in os.walk(self.folder):
            inside = place[len(self.folder):] + "/"
            if inside.startswith(NOT_OURS):
                folders.clear()
                continue
            found.update(inside + name for name in folders + names)
        users = self.read("/etc/passwd").splitlines() + self.read("/etc/group").splitlines()
        return {path for path in found if not path.startswith(NOT_OURS)} | set(users)
