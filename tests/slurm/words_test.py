#!/usr/bin/python3
"""Words of a job's user under attack: they reach no shell, file, address or line of a log."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from cluster import run_or_skip
from hooked import BY_FOUR, NEVER, HookedCluster, StandIn, reply
from sextantd import Server

FITS = reply(b'{"verdict":"VERDICT_FITS","message":"FITS: it"}')


def check_named(cluster):
    """What names a file, an output or an address is refused, and shown."""
    for words, shown in (("/etc/shadow", "/etc/shadow"), (f"{BY_FOUR} /etc/shadow", "/etc/shadow"),
                         (f"{BY_FOUR} --emit-to=/tmp/x", "emit-to"), (f"{BY_FOUR} --svg=x", "svg"),
                         (f"{BY_FOUR} --config=/etc/shadow", "--config"),
                         ("http://127.0.0.1:1/", "http://127.0.0.1:1/"),
                         (f"{BY_FOUR} http://x", "http://x")):
        done = cluster.sbatch(words, "--gres=gpu:8")
        assert done.returncode == 1 and shown in done.stderr, (words, done.stderr)
        assert "root:" not in done.stderr, done.stderr


def check_injection(cluster):
    """No shell reads script, comment, environment or job name."""
    victim = os.path.join(cluster.folder, "run", "victim")
    for text in (f"'; touch {victim}; '", f"$(touch {victim})", f"`touch {victim}`",
                 f'"; os.execute("touch {victim}") --', f"| touch {victim}", f"&& touch {victim}",
                 f"]] os.execute('touch {victim}') --[[", f"%s%n%d$(touch {victim})"):
        for kept in ({"words": text}, {"words": f"{BY_FOUR} {text}"},
                     {"words": None, "env": {"SEXTANT_PLAN": text}},
                     {"words": None, "comment": f"sextant: {text}"},
                     {"words": BY_FOUR, "name": text}):
            flags = [f"--{flag}={kept.pop(key)}" for key, flag in
                     (("comment", "comment"), ("name", "job-name")) if key in kept]
            done = cluster.sbatch(kept.pop("words"), "--gres=gpu:8", "--hold", *flags, **kept)
            judged = "FITS: llama-3.1-8b" in done.stderr
            assert judged == any("job-name" in flag for flag in flags), (text, flags, done.stderr)
            assert (done.returncode == 0) == judged, (text, done.stderr)
    assert not os.path.exists(victim)
    cluster.run("scancel", "--state=PENDING")


def check_fields_stay_fields(cluster):
    """Quotes in words and names do not end the JSON text that they stand in."""
    import json
    with StandIn(FITS) as planner:
        cluster.site(address=planner.address)
        evil = 'a","deviceCount":"1000000","x":"'
        done = cluster.sbatch(f"{evil} \\", "--gres=gpu:8", "--hold", f"--job-name={evil}")
        cluster.asked(done)
        request = json.loads(planner.requests[0].split(b"\r\n\r\n", 1)[1])
        assert int(request["deviceCount"]) == 8, request
        assert request["words"].strip() == f"{evil} \\" and request["caller"]["jobName"] == evil
        # A carriage return ends no head.
        planner.requests.clear()
        cluster.sbatch(f"x\r\rEvil: 1 {NEVER}", "--gres=gpu:8", "--hold")
        head = planner.requests[0].split(b"\r\n\r\n", 1)[0]
        assert b"Evil" not in head, head


def check_long(cluster):
    """4 KiB are judged; more is let through aloud."""
    with StandIn(FITS) as planner:
        cluster.site(address=planner.address)
        done = cluster.sbatch("x" * 4096, "--gres=gpu:8", "--hold")
        cluster.asked(done)
        assert len(planner.requests) == 1 and b"x" * 4096 in planner.requests[0]
        for size in (4097, 200_000):
            done = cluster.sbatch("x" * size, "--gres=gpu:8", "--hold")
            cluster.asked(done)
            assert "4096" in done.stderr and str(size) in done.stderr, done.stderr
            assert len(done.stderr) < 1000, len(done.stderr)
        assert len(planner.requests) == 1
        # In the environment, where no line has an end, it is the same.
        done = cluster.sbatch(None, "--gres=gpu:8", "--hold",
                              env={"SEXTANT_PLAN": "x" * 100_000})
        cluster.asked(done)
        assert "4096" in done.stderr, done.stderr
        # A long script has no weight of its own.
        done = cluster.sbatch("x", "--gres=gpu:8", "--hold", body="# x\n" * 500_000)
        cluster.asked(done)
        assert len(planner.requests) == 2


def check_no_text(cluster):
    """Bytes that are no UTF-8 are asked for as question marks, and shown so."""
    words = b"llama-3.1-8b \xff\xfe\xc0\xaf\xed\xa0\x80 tp=4"
    done = cluster.sbatch(words, "--gres=gpu:8", "--hold")
    assert done.returncode == 1 and "?" in done.stderr, done.stderr
    done = cluster.sbatch(b"\x1b[31m\x07\x00\x01 tp=4", "--gres=gpu:8", "--hold")
    assert "\x1b" not in done.stderr and "\x07" not in done.stderr, done.stderr
    log = cluster.output("slurmctld")
    assert "\x1b[31m" not in log, "a user's bytes in slurmctld's log"


def main():
    with Server("--role=planner") as server, HookedCluster(server.http) as cluster:
        check_named(cluster)
        check_injection(cluster)
        check_no_text(cluster)
        check_fields_stay_fields(cluster)
        check_long(cluster)


if __name__ == "__main__":
    sys.exit(run_or_skip(main))
