"""Starts haproxy with deploy/haproxy.cfg before planners, for one test."""

import os
import shutil
import socket
import subprocess
import tempfile

from sextantd import ROOT

CONFIGURATION = os.path.join(ROOT, "deploy", "haproxy.cfg")
PROGRAM = shutil.which("haproxy", path=os.environ["PATH"] + ":/usr/sbin")


def with_key(folder, name):
    """The path of one file with the certificate and key of that name in `folder`."""
    path = os.path.join(folder, f"{name}_with_key.pem")
    with open(path, "w", encoding="utf-8") as both:
        for end in ("pem", "key"):
            with open(os.path.join(folder, f"{name}.{end}"), encoding="utf-8") as part:
                both.write(part.read())
    return path


class FrontDoor:
    """An haproxy on free loopback ports before `planners`, two at most; use it as a context.

    `folder` has the certificates of make_certificates(). `environment` is for the configuration.
    """

    def __init__(self, folder, *planners, **environment):
        self.environment = {**os.environ, "FRONT_CERTIFICATE": with_key(folder, "server"),
                            "FRONT_CLIENT_CA": os.path.join(folder, "ca.pem"),
                            "FRONT_LOG": "stderr", **environment}
        if os.geteuid() != 0:
            self.environment["FRONT_KEEPS_USER"] = "1"
        for i, planner in enumerate(planners):
            self.environment[f"PLANNER_{i + 1}"] = planner.address
            self.environment[f"PLANNER_{i + 1}_HTTP_PORT"] = planner.http.rsplit(":", 1)[1]

    def __enter__(self):
        self.log = tempfile.TemporaryFile(mode="w+")
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        for name, each in zip(("FRONT_LISTEN", "FRONT_METRICS"), sockets):
            self.environment[name] = f"fd@{each.fileno()}"
        self.address, self.metrics = ["%s:%d" % each.getsockname() for each in sockets]
        self.process = subprocess.Popen([PROGRAM, "-db", "-f", CONFIGURATION], stderr=self.log,
                                        env=self.environment,
                                        pass_fds=[each.fileno() for each in sockets])
        for each in sockets:
            each.close()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def said(self):
        """What it has written to its log."""
        self.log.seek(0)
        return self.log.read()
