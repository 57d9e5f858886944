#!/usr/bin/python3
"""The command line against a server with certificates, tokens and a list (docs/security.md)."""

import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile

from sextantd import BIN, Server

SCHEDULER = "spiffe://fleet/scheduler"


def make_certificates(folder):
    """An authority, a server's certificate, and those of two callers: `NAME.pem`, `NAME.key`."""
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, cwd=folder, capture_output=True)
    new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    openssl("req", "-x509", *new_key, "-keyout", "ca.key", "-out", "ca.pem", "-days", "1",
            "-subj", "/CN=fleet")
    for name, other_names in (("server", "DNS:localhost,IP:127.0.0.1"),
                              ("scheduler", "URI:" + SCHEDULER), ("stranger", "DNS:stranger")):
        openssl("req", *new_key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj",
                f"/CN={name}")
        with open(os.path.join(folder, "names"), "w", encoding="utf-8") as file:
            file.write(f"subjectAltName={other_names}\n")
        openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                "-CAcreateserial", "-days", "1", "-extfile", "names", "-out", f"{name}.pem")


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def sextant(server, *arguments):
    return subprocess.run([os.path.join(BIN, "sextant"), f"--address={server.address}", *arguments],
                          capture_output=True, text=True, check=False,
                          env={"PATH": os.environ["PATH"]})


def check_certificates(folder):
    access = write(folder, "access", f"# who may call what\n* {SCHEDULER}\n")
    flags = [f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key",
             f"--tls_client_ca={folder}/ca.pem", f"--access_file={access}"]
    with Server(*flags) as server:
        def call(name, *command):
            own = [] if name is None else [f"--tls-certificate={folder}/{name}.pem",
                                           f"--tls-key={folder}/{name}.key"]
            return sextant(server, f"--tls-ca={folder}/ca.pem", *own, *command)

        known = call("scheduler", "models", "llama-2-7b")
        assert known.returncode == 0 and "llama-2-7b" in known.stdout, known
        assert server.log_line()["caller"] == SCHEDULER
        assert call(None, "models").returncode == 4
        stranger = call("stranger", "models")
        assert stranger.returncode == 5 and "stranger" in stranger.stderr, stranger
        probe = call("scheduler", "probe")
        assert probe.returncode == 5 and "RunProbe" in probe.stderr, probe
        assert sextant(server, "models").returncode == 4  # in plain text


# What `openssl ca` needs to sign a list of revoked certificates.
AUTHORITY = """[ca]
default_ca = fleet
[fleet]
database = index
certificate = ca.pem
private_key = ca.key
default_md = sha256
default_crl_days = 1
"""


def revoke(folder, *names):
    """Puts a list `crl.pem` in place that has the certificates of `names`."""
    write(folder, "authority", AUTHORITY)
    write(folder, "index", "")
    def authority(*arguments):
        subprocess.run(["openssl", "ca", "-config", "authority", *arguments], check=True,
                       cwd=folder, capture_output=True)
    for name in names:
        authority("-revoke", f"{name}.pem")
    authority("-gencrl", "-out", "crl.new")
    os.rename(os.path.join(folder, "crl.new"), os.path.join(folder, "crl.pem"))


def http_answer(server, folder, name):
    """The start of what the HTTP port answers to that caller; empty where the handshake fails."""
    context = ssl.create_default_context(cafile=f"{folder}/ca.pem")
    context.check_hostname = False
    context.load_cert_chain(f"{folder}/{name}.pem", f"{folder}/{name}.key")
    host, port = server.http.split(":")
    try:
        with socket.create_connection((host, int(port)), timeout=60) as plain, \
                context.wrap_socket(plain) as connection:
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return connection.recv(15).decode()
    except (ssl.SSLError, ConnectionError):
        return ""


def check_revocation(folder):
    """A revoked certificate fails in the handshake of both ports, once the list has it."""
    revoke(folder)
    flags = [f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key",
             f"--tls_client_ca={folder}/ca.pem", f"--tls_client_crl={folder}/crl.pem"]
    with Server(*flags) as server:
        def call(name):
            return sextant(server, f"--tls-ca={folder}/ca.pem",
                           f"--tls-certificate={folder}/{name}.pem",
                           f"--tls-key={folder}/{name}.key", "models", "llama-2-7b").returncode

        assert call("scheduler") == 0 and call("stranger") == 0
        assert http_answer(server, folder, "stranger") == "HTTP/1.1 200 OK"
        revoke(folder, "stranger")
        for _ in range(600):  # it is looked at once a second
            if call("stranger") != 0:
                break
        assert call("stranger") == 4 and call("scheduler") == 0
        assert http_answer(server, folder, "stranger") == ""
        assert http_answer(server, folder, "scheduler") == "HTTP/1.1 200 OK"


def check_few_descriptors():
    """With 64 descriptors, and more connections than that, HTTP still answers."""
    with Server(starter=("prlimit", "--nofile=64:64")) as server:
        (warned,) = [line for line in server.events if line["event"] == "few_descriptors"]
        assert warned["level"] == "warning" and warned["grpc_connections"] == "16", warned
        host, port = server.address.split(":")
        held = [socket.create_connection((host, int(port)), timeout=60) for _ in range(80)]
        host, port = server.http.split(":")
        answer = b""
        while not answer.startswith(b"HTTP/1.1 503"):  # once they are counted
            with socket.create_connection((host, int(port)), timeout=60) as http:
                http.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                answer = http.recv(12)
                assert answer, "no answer"
        for each in held:
            each.close()
        known = sextant(server, "models", "llama-2-7b")
        for _ in range(600):
            if known.returncode == 0:
                break
            known = sextant(server, "models", "llama-2-7b")
        assert known.returncode == 0, known


def check_tokens(folder):
    tokens = write(folder, "tokens", "slurm 0123456789abcdef\n")
    with Server(f"--token_file={tokens}") as server:
        right = write(folder, "right", "0123456789abcdef\n")
        answered = sextant(server, f"--token-file={right}", "models")
        assert answered.returncode == 0, answered
        assert server.log_line()["caller"] == "slurm"
        for flags in ([], [f"--token-file={write(folder, 'wrong', '0123456789abcdeX')}"]):
            refused = sextant(server, *flags, "--output=json", "models")
            assert refused.returncode == 5, refused
            assert json.loads(refused.stderr)["reason"] == "IDENTITY_MISSING", refused


def check_no_token_is_shown(folder):
    """Files that hold no token, for the client and for the server: nothing of them is shown."""
    for text in ("0123456789abcdef\n0123456789abcdef\n", "0123456789abcdef\xe9\n",
                 "0123456789abcdef extra"):
        ended = subprocess.run([os.path.join(BIN, "sextant"), "--address=127.0.0.1:1",
                                f"--token-file={write(folder, 'none', text)}", "models"],
                               capture_output=True, text=True, check=False)
        assert ended.returncode == 2 and ended.stderr.count("\n") == 1, ended
        assert "0123" not in ended.stderr and "30 31 32 33" not in ended.stderr, ended
    secret = write(folder, "secret", "0123456789abcdef\n")
    for flag in (f"--token_file={secret}", "--token_file=/",
                 "--fleet_prometheus_url=me:0123456789abcdef@metrics:9090"):
        ended = subprocess.run([os.path.join(BIN, "sextantd"), "--listen=127.0.0.1:0",
                                "--http_listen=none", flag], capture_output=True, text=True,
                               check=False, timeout=60)
        assert ended.returncode == 1 or ended.returncode == 2, ended
        assert "0123" not in ended.stdout + ended.stderr, ended


def check_usage(folder):
    """Flags that would leave the server open, or name what can't be read."""
    daemon = os.path.join(BIN, "sextantd")
    certificate = [f"--tls_certificate={folder}/server.pem", f"--tls_key={folder}/server.key"]
    for flags, says in (
            (["--listen=0.0.0.0:0"], "--insecure_allow_remote"),
            (["--listen=0.0.0.0:0", *certificate], "--tls_client_ca or --token_file"),
            (["--tls_key=x"], "needs --tls_certificate"),
            (["--tls_client_ca=x"], "needs --tls_certificate"),
            (["--tls_client_crl=x"], "needs --tls_client_ca"),
            (["--access_file=x"], "needs --tls_client_ca or --token_file"),
            (["--listen=0.0.0.0:0", "--token_file=x", "--insecure_allow_remote"],
             "needs --tls_certificate"),
            (["--listen=127.0.0.1:0", "--token_file=/no/such"], "--token_file=/no/such")):
        ended = subprocess.run([daemon, "--http_listen=none", *flags], capture_output=True,
                               text=True, check=False, timeout=60)
        assert ended.returncode != 0 and says in ended.stderr, (flags, ended)
    for flags, says in ((["--tls-ca=/no/such"], "--tls-ca"),
                        (["--tls-key=/dev/null"], "--tls-certi"),
                        (["--address=planner:50051", "--token-file=/dev/null"], "plain text"),
                        (["--tls-certificate=/dev/null", "--tls-key=/dev/null"], "--tls-ca")):
        ended = subprocess.run([os.path.join(BIN, "sextant"), *flags, "models"], text=True,
                               capture_output=True, check=False)
        assert ended.returncode == 2 and says in ended.stderr, (flags, ended)


def main():
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        check_certificates(folder)
        check_revocation(folder)
        check_tokens(folder)
        check_no_token_is_shown(folder)
        check_usage(folder)
    check_few_descriptors()
    return 0


if __name__ == "__main__":
    sys.exit(main())
