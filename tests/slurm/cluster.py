"""A small Slurm on loopback for one test: munged, slurmctld, two slurmd with eight GPUs each.

The GPUs are character devices that read as /dev/null. All files are in a temporary folder, all
ports are free ones, and each process is ended by its pid: several clusters may run on one host.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOOKS = os.path.join(ROOT, "deploy", "slurm")
SKIPPED = 77
PATH = os.environ.get("PATH", "") + ":/usr/local/sbin:/usr/sbin:/sbin"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "salloc", "scontrol", "setpriv")
GPUS = 8  # of each node
NULL_DEVICE = os.makedev(1, 3)

SLURM_CONF = """
ClusterName=mini
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={control_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/run/socket
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/run/slurmctld.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdSpoolDir={folder}/spool/%n
SlurmdPidFile={folder}/run/slurmd.%n.pid
SlurmdLogFile={folder}/log/slurmd.%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
KillWait=1
GresTypes=gpu
{lines}
NodeName=node[1-{nodes}] NodeHostname={host} NodeAddr=127.0.0.1 Port={ports} CPUs=16 \
Gres=gpu:{gres_type}:{gpus} State=UNKNOWN
PartitionName=train Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=debug Nodes=ALL MaxTime=INFINITE State=UP
PartitionName=whole Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE
"""


def why_not():
    """Why no cluster can be started here, or None."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    if missing:
        return f"{', '.join(missing)} not installed (deploy/install-deps.sh tests)"
    if os.geteuid() != 0:
        return "not root: slurmd and munged have users of their own"
    with tempfile.TemporaryDirectory() as folder:
        device = os.path.join(folder, "gpu")
        try:
            os.mknod(device, 0o600 | 0o020000, NULL_DEVICE)
            os.close(os.open(device, os.O_RDWR))
        except OSError as error:
            return f"a character device for a GPU is refused: {error.strerror}"
    return None


def run_or_skip(test):
    """The exit code of the program: 77, aloud, where no cluster can be started."""
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    test()
    return 0


def free_ports(count):
    """Ports on loopback that nobody listens on, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def wait_for(condition, what, seconds=30):
    """The first true value of `condition`, which is asked again and again."""
    ends = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < ends, f"not within {seconds} s: {what}"
        time.sleep(0.05)


class Cluster:
    """A running cluster; use it as a context.

    `conf` are lines for slurm.conf, in which {folder} is `self.folder`, e.g.
    "JobSubmitPlugins=lua"; `files` are texts by name in `folder`/etc, where Slurm looks for its
    scripts (a name that ends in .sh becomes executable). `environment` is added to that of the
    daemons and of what `run` starts.
    """

    def __init__(self, conf="", files=None, environment=None, nodes=2, gres_type="h100"):
        self.conf = conf
        self.files = files or {}
        self.environment = environment or {}
        self.nodes = [f"node{number}" for number in range(1, nodes + 1)]
        self.gres_type = gres_type
        self.daemons = []  # (name, process), in the order of their start
        self.written = int(time.time())

    def __enter__(self):
        # Paths of Unix sockets are short, so the folder is near the root.
        self.temporary = tempfile.TemporaryDirectory(prefix="slurm.", ignore_cleanup_errors=True)
        self.folder = self.temporary.name
        # Hooks and jobs see what these tests set, not what the tests themselves are told.
        inherited = {name: value for name, value in os.environ.items()
                     if not name.startswith("SEXTANT_")}
        self.env = {**inherited, "PATH": PATH, "LC_ALL": "C",
                    "SLURM_CONF": f"{self.folder}/etc/slurm.conf",
                    **{name: value.format(folder=self.folder)
                       for name, value in self.environment.items()}}
        try:
            self._write_files()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        # Asked to end, slurmctld would wait for the nodes first. Nothing of it is kept.
        for _, process in reversed(self.daemons):
            process.kill()
            process.wait()
        self._end_steps()
        self.daemons = []
        self.temporary.cleanup()

    def _write_files(self):
        os.chmod(self.folder, 0o755)
        for name in ("etc", "state", "log", "run", "spool", "dev", "munge"):
            os.mkdir(os.path.join(self.folder, name), 0o755)
        os.chmod(f"{self.folder}/run", 0o777)  # where jobs of all users write
        for number in range(GPUS):
            os.mknod(f"{self.folder}/dev/gpu{number}", 0o666 | 0o020000, NULL_DEVICE)
        for node in self.nodes:
            os.mkdir(f"{self.folder}/spool/{node}", 0o755)
        key = os.path.join(self.folder, "munge", "key")
        with open(key, "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(key, 0o400)
        os.mkdir(os.path.join(self.folder, "munge", "run"), 0o755)
        for name in ("munge", "munge/key", "munge/run"):
            shutil.chown(os.path.join(self.folder, name), "munge", "munge")
        control, *ports = free_ports(1 + len(self.nodes))
        self.write("slurm.conf", SLURM_CONF.format(
            folder=self.folder, control_port=control, ports=",".join(map(str, ports)),
            nodes=len(self.nodes), host=socket.gethostname().split(".")[0], gpus=GPUS,
            gres_type=self.gres_type, lines=self.conf.replace("{folder}", self.folder)))
        self.write("gres.conf", f"NodeName={','.join(self.nodes)} Name=gpu Type={self.gres_type} "
                                f"File={self.folder}/dev/gpu[0-{GPUS - 1}]\n")
        for name, text in self.files.items():
            self.write(name, text)

    def _start(self):
        runtime = f"{self.folder}/munge/run"
        self._daemon("munged", "setpriv", "--reuid=munge", "--regid=munge", "--clear-groups",
                     "--pdeathsig=KILL", "munged", "--foreground", f"--socket={runtime}/socket",
                     f"--key-file={self.folder}/munge/key", f"--log-file={runtime}/log",
                     f"--pid-file={runtime}/pid", f"--seed-file={runtime}/seed")
        wait_for(lambda: os.path.exists(f"{runtime}/socket"), "munged's socket")
        self._daemon("slurmctld", "setpriv", "--pdeathsig=KILL", "slurmctld", "-D", "-c")
        wait_for(lambda: self.run("scontrol", "ping").returncode == 0 or self._dead(),
                 "slurmctld's answer")
        for node in self.nodes:
            self._daemon(node, "setpriv", "--pdeathsig=KILL", "slurmd", "-D", "-N", node)
        wait_for(lambda: set(self.states().values()) == {"idle"} or self._dead(), "idle nodes")
        assert not self._dead(), f"{self._dead()} ended:\n" + self.output(self._dead())

    def _daemon(self, name, *command):
        with open(f"{self.folder}/log/{name}.out", "wb") as output:
            self.daemons.append((name, subprocess.Popen(
                command, env=self.env, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, cwd=self.folder)))

    def _dead(self):
        """The name of a daemon that has ended, or None."""
        return next((name for name, process in self.daemons if process.poll() is not None), None)

    def _end_steps(self):
        """Ends what slurmd started for jobs: it outlives slurmd."""
        conf = f"SLURM_CONF={self.folder}/".encode()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    ours = int(pid) != os.getpid() and conf in file.read()
                if ours:
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                pass  # it has ended

    def output(self, name):
        """What a daemon logged: "slurmctld", or a node's name; or wrote, where it has no log."""
        for path in (f"{name}.log", f"slurmd.{name}.log", f"{name}.out"):
            try:
                with open(f"{self.folder}/log/{path}", encoding="utf-8", errors="replace") as file:
                    return file.read()
            except FileNotFoundError:
                pass
        return ""

    def write(self, name, text):
        """Writes a file into etc. Slurm reads a script again if its mtime, in whole seconds,
        differs: each file gets another one."""
        path = os.path.join(self.folder, "etc", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path + ".new", "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path + ".new", 0o755 if name.endswith(".sh") else 0o644)
        self.written += 1
        os.utime(path + ".new", (self.written, self.written))
        os.replace(path + ".new", path)
        return path

    def run(self, *command, stdin="", env=None, user=None, timeout=60):
        """Runs a command of Slurm's as root or as `user`, from the folder "run"; the texts of its
        result are decoded."""
        if user:
            command = ("setpriv", f"--reuid={user}", "--clear-groups", *command)
        if isinstance(stdin, str):
            stdin = stdin.encode()
        done = subprocess.run(command, input=stdin, env={**self.env, **(env or {})},
                              capture_output=True, cwd=f"{self.folder}/run", timeout=timeout,
                              check=False)
        done.stdout = done.stdout.decode(errors="replace")
        done.stderr = done.stderr.decode(errors="replace")
        return done

    def states(self):
        """Each node's state, such as "idle" or "drained"."""
        lines = self.run("sinfo", "-h", "-N", "-p", "train", "-o", "%N %t").stdout.splitlines()
        return dict(line.split() for line in lines)

    def job(self, number):
        """What `scontrol show job` says, by name."""
        shown = self.run("scontrol", "-o", "show", "job", str(number))
        assert shown.returncode == 0, shown.stderr
        return dict(word.split("=", 1) for word in shown.stdout.split() if "=" in word)

    def gpus(self, number):
        """How many GPUs Slurm gave a running job, by `scontrol -d show job`."""
        shown = self.run("scontrol", "-d", "show", "job", str(number))
        assert shown.returncode == 0, shown.stderr
        found = re.search(r"\bJOB_GRES=(\S+)", shown.stdout)
        return sum(map(int, re.findall(r"gpu:[^:,(]+:(\d+)", found.group(1)))) if found else 0

    def wait_for_job(self, number, *states):
        """The job once it is in one of the states, by default ended."""
        wanted = states or ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")

        def look():
            job = self.job(number)
            return job if job["JobState"] in wanted else None
        return wait_for(look, f"job {number} in {' or '.join(wanted)}")


def main():
    with Cluster() as cluster:
        done = cluster.run("srun", "--gres=gpu:8", "--nodes=2", "sh", "-c", "echo $SLURM_STEP_GPUS")
        assert done.stdout == "0,1,2,3,4,5,6,7\n" * 2, done
        print(cluster.states())


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
