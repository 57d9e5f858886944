#!/usr/bin/python3
"""A planner that is away, stopped, slow or mad costs Slurm little, and refuses no job."""

import os
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import free_ports, run_or_skip
from hooked import (NEVER, PATIENT, HookedCluster, StandIn, counted, drip, flood, reply,
                    silent)
from sextantd import Server

MANY = 8
SHORT = 300  # milliseconds of a deadline, the shipped one


def passes(cluster, *texts):
    """A job is queued, and its user is told that nobody judged it; seconds that it took."""
    began = time.monotonic()
    done = cluster.sbatch(NEVER, "--gres=gpu:8", "--hold")
    took = time.monotonic() - began
    cluster.asked(done)
    for text in ("not planned", *texts):
        assert text in done.stderr, (text, done.stderr)
    return took


def check_killed(cluster):
    with Server("--role=planner") as server:
        cluster.site(address=server.http)
        assert cluster.sbatch(NEVER, "--gres=gpu:8").returncode == 1
        server.process.kill()  # while the deadline is a long one
        server.process.wait()
        passes(cluster)


def check_stopped(cluster):
    with Server("--role=planner") as server:
        cluster.site(address=server.http, breaker_s=1)
        assert cluster.sbatch(NEVER, "--gres=gpu:8").returncode == 1
        metric = "sextant_admissions_unanswered_total"
        before = counted(server, metric)  # of the check before
        server.process.send_signal(signal.SIGSTOP)
        cluster.site(deadline_ms=SHORT)
        passes(cluster)
        cluster.site(deadline_ms=PATIENT)
        server.process.send_signal(signal.SIGCONT)
        # Asked again when the time is over, and told of that job.
        time.sleep(1.1)
        for _ in range(2):
            assert cluster.sbatch(NEVER, "--gres=gpu:8").returncode == 1
            assert counted(server, metric) == before + 1


def check_wrong_port(cluster):
    cluster.site(address=f"127.0.0.1:{free_ports(1)[0]}", breaker_s=30)
    passes(cluster)


def check_eight_at_once(cluster):
    """One request alone waits for a planner that does not answer."""
    with StandIn(silent) as planner:
        cluster.site(address=planner.address, deadline_ms=SHORT, breaker_s=30)
        threads = [threading.Thread(target=passes, args=(cluster,)) for _ in range(MANY)]
        for thread in threads:
            thread.start()
        began = time.monotonic()
        assert cluster.run("sinfo").returncode == 0
        waited = time.monotonic() - began
        for thread in threads:
            thread.join()
        assert len(planner.requests) == 1, len(planner.requests)
        assert waited < 8 * 0.3, waited  # as long as it took without a breaker
        print(f"sinfo beside {MANY} submissions to a silent planner: {1000 * waited:.0f} ms")


def check_half_open(cluster):
    """After the time one request asks, and others do not wait meanwhile."""
    with StandIn(silent) as planner:
        cluster.site(address=planner.address, deadline_ms=SHORT, breaker_s=1)
        passes(cluster)
        passes(cluster)
        assert len(planner.requests) == 1, len(planner.requests)
        time.sleep(1.1)
        passes(cluster)
        passes(cluster)
        assert len(planner.requests) == 2, len(planner.requests)


def check_odd_answers(cluster):
    """Slow and endless answers open the breaker as silence does; wrong ones do not: one user's
    words could then switch the check off for all."""
    for answer in (drip, flood):
        with StandIn(answer) as planner:
            cluster.site(address=planner.address, deadline_ms=SHORT, breaker_s=30)
            took = passes(cluster)
            assert took < 3, took
    busy = b'{"code":"resource_exhausted","message":"busy"}'
    for answer in (reply(b"{"), reply(b"[]"), reply(b"null"), reply(b'"FITS"'), reply(b""),
                   reply(b"\xff\xfe\0"), reply(b'{"verdict":7,"message":[],"layout":3}'),
                   reply(b"[" * 60000), reply(busy, "429 Too Many Requests"),
                   reply(b"<html>", "502 Bad Gateway"), reply(b"{}", "404 Not Found"),
                   reply(b'{"code":"invalid_argument"}', "500 Internal Server Error")):
        with StandIn(answer) as planner:
            cluster.site(address=planner.address, deadline_ms=PATIENT, breaker_s=30)
            for _ in range(2):
                passes(cluster)
            assert len(planner.requests) == 2, len(planner.requests)


def check_older_planner(cluster):
    """One that does not know the counts of what was not judged judges jobs nevertheless."""
    def answer(wire, request):
        if b"Count\":" in request.replace(b"deviceCount", b""):
            reply(b'{"code":"invalid_argument","message":"caller.unansweredCount: not known"}',
                  "400 Bad Request")(wire, request)
        else:
            reply(b'{"verdict":"VERDICT_DOES_NOT_FIT","message":"DOES NOT FIT: it"}')(wire, request)
    with StandIn(answer) as planner:
        cluster.site(address=planner.address, deadline_ms=PATIENT)
        for _ in range(2):
            done = cluster.sbatch(NEVER, "--gres=gpu:8")
            assert done.returncode == 1 and "DOES NOT FIT: it" in done.stderr, done.stderr
        assert len(planner.requests) == 4, planner.requests  # each is asked once more


def check_hostile_answer(cluster):
    """What a stranger on the planner's port says reaches the user as printable text, and sets only
    names of ours."""
    content = (b'{"verdict":"VERDICT_FITS","message":"FITS: %s\\u001b[31m\\n\\u0007 %s",'
               b'"layout":{"LD_PRELOAD":"x.so","SEXTANT_TP":"4","SEXTANT_X":"a\\nB=1"}}')
    with StandIn(reply(content)) as planner:
        cluster.site(address=planner.address, deadline_ms=PATIENT)
        done = cluster.sbatch(NEVER, "--gres=gpu:8", body="env")
        number = cluster.asked(done)
        assert "\x1b" not in done.stderr and "\x07" not in done.stderr, done.stderr
        assert "%s" in done.stderr, done.stderr
        cluster.wait_for_job(number)
        with open(f"{cluster.folder}/run/{number}.out", encoding="utf-8") as file:
            env = file.read().splitlines()
        assert "SEXTANT_TP=4" in env and "B=1" not in env, env
        assert not any(line.startswith("LD_PRELOAD") for line in env), env


def main():
    with HookedCluster("127.0.0.1:9") as cluster:
        check_killed(cluster)
        check_stopped(cluster)
        check_wrong_port(cluster)
        check_eight_at_once(cluster)
        check_half_open(cluster)
        check_odd_answers(cluster)
        check_older_planner(cluster)
        check_hostile_answer(cluster)


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
