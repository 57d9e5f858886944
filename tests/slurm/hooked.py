"""A cluster with the hooks that are shipped, and planners that do not answer as they should."""

import os
import re
import socketserver
import threading
import time
import urllib.request

from cluster import HOOKS, Cluster

# At any number of GPUs, at a multiple of 4, at 16 but not at 8, just so.
NEVER = "llama-3.1-8b tp=1 gbs=240 sequence-length=8192"
BY_FOUR = "llama-3.1-8b tp=4 gbs=240 sequence-length=8192"
ALWAYS = "llama-3.2-1b tp=1 gbs=240 sequence-length=2048"
BY_SIXTEEN = "qwen2.5-32b tp=8 gbs=64 sequence-length=4096 zero=optimizer"
PATIENT = 8000  # milliseconds
TIGHT = "llama-3.1-8b tp=2 gbs=96 sequence-length=8192 zero=optimizer mbs=2"


def lua(value):
    """A Lua literal."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {lua(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "{" + ", ".join(map(lua, value)) + "}"
    return f'"{value}"' if isinstance(value, str) else str(value)


def shipped():
    """The text of each Lua file of deploy/slurm, which is read from etc, the site's file too."""
    texts = {}
    for folder in ("", "sextant"):
        for name in os.listdir(os.path.join(HOOKS, folder)):
            if not name.endswith(".lua"):
                continue
            with open(os.path.join(HOOKS, folder, name), encoding="utf-8") as file:
                texts[os.path.join(folder, name)] = file.read()
    return texts


class HookedCluster(Cluster):
    """A cluster whose jobs the planner at `address` judges; `settings` as in the site's file.

    A busy host is slow, so that the deadline is `PATIENT`, which no test is to reach. With
    `asks_early`, sbatch, srun and salloc run cli_filter.lua."""

    def __init__(self, address, conf="", asks_early=False, nodes=2, **settings):
        plugins = "JobSubmitPlugins=lua\n" + ("CliFilterPlugins=lua\n" if asks_early else "")
        super().__init__(plugins + conf, shipped(),
                         {"SEXTANT_SLURM_FILE": "{folder}/etc/site.lua"}, nodes)
        self.settings = {"mode": "refuse", "address": address, "deadline_ms": PATIENT,
                         "devices": [{"gres": "h100", "accelerator": "h100-sxm",
                                      "gpus_per_node": 8}], **settings}

    def _write_files(self):
        self.site()
        super()._write_files()

    def site(self, **changes):
        """Writes the site's file again, with changes."""
        self.settings.update(changes)
        text = "".join(f"{name} = {lua(value)}\n" for name, value in self.settings.items())
        self.files["site.lua"] = text
        if self.daemons:
            self.write("site.lua", text)

    def sbatch(self, words, *flags, body="sleep 60", **kept):
        """Submits a script with the words in it (bytes or a text; None: no request)."""
        script = b"#!/bin/sh\n"
        if words is not None:
            script += b"#SEXTANT " + (words if isinstance(words, bytes) else words.encode()) + b"\n"
        return self.run("sbatch", "--parsable", "--output=%j.out", *flags,
                        stdin=script + body.encode() + b"\n", **kept)

    def salloc(self, words, *flags, **kept):
        """Allocates at once, without a step; its number is in `number_of`."""
        return self.run("salloc", "--no-shell", f"--comment=sextant: {words}", *flags, **kept)

    def end(self, done):
        """Cancels the job of a submission."""
        self.run("scancel", "--full", number_of(done))

    def asked(self, done):
        """Asserts that a job is queued, and gives its number."""
        assert done.returncode == 0, (done.stdout, done.stderr)
        return number_of(done)

    def jobs(self):
        """The number of jobs in the queue."""
        return len(self.run("squeue", "-h").stdout.splitlines())


def counted(server, metric, label=""):
    """What a planner's /metrics says of Slurm, of all series that have the label."""
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=5) as page:
        found = re.findall(rf"^{metric}\{{([^}}]*)\}} (\d+)", page.read().decode(), re.M)
    return sum(int(number) for labels, number in found
               if label in labels and 'caller="slurm"' in labels)


def number_of(done):
    """The job's number, of what sbatch --parsable or salloc printed."""
    found = re.search(r"^(\d+)", done.stdout) or re.search(r"job allocation (\d+)", done.stderr)
    assert found, (done.args, done.returncode, done.stdout, done.stderr)
    return found.group(1)


class StandIn:
    """A planner on loopback that answers as `answer(wire, request)` does; it counts requests."""

    def __init__(self, answer):
        outer = self
        self.requests = []

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    request = read_request(self.request)
                    outer.requests.append(request)
                    answer(self.request, request)
                except OSError:
                    pass  # the caller has left

        class Waiting(socketserver.ThreadingTCPServer):
            daemon_threads = True
            allow_reuse_address = True
            request_queue_size = 64

        self.server = Waiting(("127.0.0.1", 0), Handler)
        self.address = "127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def read_request(wire):
    """Head and body of a request, as bytes."""
    text = b""
    while b"\r\n\r\n" not in text:
        part = wire.recv(65536)
        if not part:
            return text
        text += part
    head, body = text.split(b"\r\n\r\n", 1)
    length = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1))
    while len(body) < length:
        part = wire.recv(65536)
        if not part:
            break
        body += part
    return head + b"\r\n\r\n" + body


def reply(content, status="200 OK"):
    """An answer with `content`, bytes, as its JSON."""
    def answer(wire, _):
        wire.sendall(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n"
                     b"Connection: close\r\n\r\n%s" % (status.encode(), len(content), content))
    return answer


def silent(wire, _):
    """Answers nothing until the caller leaves."""
    wire.settimeout(30)
    wire.recv(1)


def drip(wire, _):
    """Sends a byte of an answer each 50 ms."""
    for _ in range(600):
        wire.sendall(b"H")
        time.sleep(0.05)


def flood(wire, _):
    """Sends an answer without an end."""
    wire.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
    while True:
        wire.sendall(b" " * 65536)
