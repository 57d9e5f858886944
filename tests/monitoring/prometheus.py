"""Starts a real Prometheus for one test or measurement, serves what it scrapes, and asks its HTTP
API."""

import http.server
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MONITORING = os.path.join(ROOT, "deploy", "monitoring")
RULE_FILES = [os.path.join(MONITORING, name) for name in ("recording_rules.yml", "alerts.yml")]
SKIPPED = 77


def why_absent(*programs):
    """The reason to skip a test, or None where all programs are installed."""
    absent = [program for program in programs if shutil.which(program) is None]
    return f"skipped: not installed: {', '.join(absent)}" if absent else None


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Exporter(http.server.ThreadingHTTPServer):
    """Serves `page`(path), bytes that gzip may have packed, on a free loopback port; use it as a
    context."""
    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, page):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.page = page
        self.address = f"127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        page = self.server.page(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        if page.startswith(b"\x1f\x8b"):
            self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_):
        pass


class Prometheus:
    """A Prometheus on a free loopback port; use it as a context.

    `scrape_configs` is a list as prometheus.yml has it; JSON is YAML.
    """

    def __init__(self, scrape_configs, rule_files=(), interval="1s", flags=()):
        self.configuration = {
            "global": {"scrape_interval": interval, "scrape_timeout": interval,
                       "evaluation_interval": interval},
            "rule_files": list(rule_files), "scrape_configs": scrape_configs}
        self.flags = flags
        # Known beforehand, so that a server may be started that will read from it.
        self.address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="sextant-prometheus-")
        path = os.path.join(self.folder.name, "prometheus.yml")
        with open(path, "w", encoding="utf-8") as out:
            json.dump(self.configuration, out)
        self.log_path = os.path.join(self.folder.name, "log")
        self.start()
        return self

    def start(self):
        """Starts it, or starts it again with what it stored."""
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["prometheus", f"--config.file={self.folder.name}/prometheus.yml",
                 f"--storage.tsdb.path={self.folder.name}/data",
                 f"--web.listen-address={self.address}", *self.flags], stdout=log, stderr=log)
        self.wait_for(self._is_ready, "Prometheus is ready")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def _is_ready(self):
        try:
            self.get("/-/ready")
        except OSError:
            return False
        return True

    def log(self):
        with open(self.log_path, encoding="utf-8") as log:
            return log.read()

    def wait_for(self, condition, what, seconds=60):
        """Polls until `condition()` is true, and returns that; fails at the deadline."""
        deadline = time.monotonic() + seconds
        while True:
            result = condition()
            if result:
                return result
            if self.process.poll() is not None:
                raise AssertionError(f"Prometheus ended: {self.log()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {seconds} s: {what}")
            time.sleep(0.1)

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=120) as answer:
            return answer.read().decode()

    def post(self, path, **fields):
        """The raw answer to a form in the body, in which a query may be long."""
        body = urllib.parse.urlencode(fields).encode()
        try:
            with urllib.request.urlopen(self.url + path, body, timeout=120) as answer:
                return answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{fields}: {error.read().decode()}") from error

    def query(self, expression):
        """The samples of an instant query: (labels, value)."""
        data = json.loads(self.post("/api/v1/query", query=expression))["data"]
        if data["resultType"] == "scalar":
            return [({}, float(data["result"][1]))]
        return [(each["metric"], float(each["value"][1])) for each in data["result"]]

    def query_range(self, expression, seconds=60, step=1):
        """The series of a range query that ends now: (labels, values)."""
        now = time.time()
        data = json.loads(self.post("/api/v1/query_range", query=expression, start=now - seconds,
                                    end=now, step=step))["data"]
        return [(each["metric"], [float(value) for _, value in each["values"]])
                for each in data["result"]]
