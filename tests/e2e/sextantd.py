"""Starts the built sextantd for one test, and talks to it as a stranger would."""

import json
import os
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("SEXTANT_BIN", os.path.join(ROOT, "build", "release", "bin"))
SKIPPED = 77
sys.path.insert(0, os.path.join(ROOT, "tests", "support"))  # for `from api import grpc`


class Server:
    """A sextantd on free loopback ports; use it as a context.

    It keeps no calibrations unless `flags` say where. Its probes' locks are its own: they
    do not wait for, or stop, those of other programs on the host. `starter` is the start of
    the command line: a program that becomes the one that follows. `http` is the HTTP address, for
    a server that follows another one. `stdin` is its standard input, as Popen takes it.
    """

    def __init__(self, *flags, starter=(), http="127.0.0.1:0", stdin=None):
        self.http = http
        self.stdin = stdin
        self.flags = flags
        self.starter = starter
        if not any(flag.startswith("--calibration_directory") for flag in flags):
            self.flags += ("--calibration_directory=none",)

    def __enter__(self):
        self.log = tempfile.TemporaryFile(mode="w+")
        self.runtime_folder = tempfile.TemporaryDirectory()
        self.process = subprocess.Popen(
            [*self.starter, os.path.join(BIN, "sextantd"), "--listen=127.0.0.1:0",
             f"--http_listen={self.http}", *self.flags], stdin=self.stdin,
            stderr=subprocess.PIPE, text=True,
            env={**os.environ, "SEXTANT_LOCK_FOLDER": self.runtime_folder.name})
        self.events = []  # up to the one that says where it listens
        started = {}
        while started.get("event") != "serving":  # it may log calls before that
            started = self.log_line()
            self.events.append(started)
        self.address = started["grpc"][0]
        self.http = started["http"]
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stderr.close()
        self.log.close()
        self.runtime_folder.cleanup()

    def log_line(self):
        """The next line of its log, as JSON."""
        return json.loads(self.process.stderr.readline())

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)


GOOD_REQUEST = {
    "model": {"preset": "llama-3.1-70b"},
    "training": {"tokenCount": "15000000000000"},
    "cluster": {"device": {"accelerator": "h100-sxm"}, "deviceCount": "1024"},
}
