#!/usr/bin/python3
"""sextant.policies on objects of the shape that SkyPilot, dstack, Airflow and Ray document (the
projects themselves are not installed here), with a planner that answers, hangs, is killed, or never
was there: a launch goes on with one warning, or is refused with Admit's line."""

import contextlib
import http.server
import importlib
import json
import logging
import os
import signal
import socket
import sys
import threading
import types

import client
from client import PACKAGE, Server

sys.path[:0] = [PACKAGE, os.path.join(PACKAGE, "examples")]

FITS = "llama-3.1-8b --tp=2 --gbs=64 --mbs=1 --zero=optimizer --sequence-length=8192"
TOO_LARGE = "llama-3.1-8b --tp=2 --gbs=64 --mbs=1 --sequence-length=8192"
WRONG = "llama-3.1-8b --tpp=2"
GPUS = {"devices": 16, "accelerator": "h100-sxm"}


class Thing(types.SimpleNamespace):
    """An object with these attributes."""


class Task(Thing):
    """As much of sky.Task as the policy uses."""

    def update_envs(self, envs):
        self.envs = {**(self.envs or {}), **envs}


class Failed(Exception):
    """AirflowFailException."""


def stand_ins():
    """The projects' modules."""
    sky = types.ModuleType("sky")
    sky.AdminPolicy = type("AdminPolicy", (), {})
    sky.MutatedUserRequest = lambda task, config: Thing(task=task, skypilot_config=config)
    dstack, plugins = types.ModuleType("dstack"), types.ModuleType("dstack.plugins")
    plugins.ApplyPolicy, plugins.Plugin = type("ApplyPolicy", (), {}), type("Plugin", (), {})
    airflow, exceptions = types.ModuleType("airflow"), types.ModuleType("airflow.exceptions")
    exceptions.AirflowFailException = Failed
    ray = types.ModuleType("ray")
    ray.started = []
    ray.init = lambda runtime_env: ray.started.append(runtime_env["env_vars"])
    ray.remote = lambda num_gpus: lambda work: Thing(remote=work)
    ray.get = list
    return {"sky": sky, "dstack": dstack, "dstack.plugins": plugins, "airflow": airflow,
            "airflow.exceptions": exceptions, "ray": ray}


sys.modules.update(stand_ins())
from sextant import policies  # noqa: E402


class Warnings(logging.Handler):
    """What is logged."""

    def __init__(self):
        super().__init__()
        self.texts = []
        logging.getLogger("sextant").addHandler(self)
        logging.getLogger("sextant").propagate = False

    def emit(self, record):
        self.texts.append(record.getMessage())

    def take(self):
        texts, self.texts = self.texts, []
        return texts


WARNINGS = Warnings()


@contextlib.contextmanager
def planner_at(address):
    """The policies ask there, and have asked nobody yet."""
    os.environ["SEXTANT_HTTP_ADDRESS"] = address
    policies._client, policies._asked_again_at = None, 0.0
    yield
    if policies._client is not None:
        policies._client.close()


def by_skypilot(words):
    """The environment that the task starts with."""
    task = Task(envs={"SEXTANT_PLAN": words, "OTHER": "1"} if words else None, name="train",
                num_nodes=2, resources={Frozen(accelerators={"H100": 8})})
    request = Thing(task=task, skypilot_config={"a": 1})
    answer = importlib.import_module("sextant.policies.skypilot").SextantPolicy \
        .validate_and_mutate(request)
    assert answer.skypilot_config == {"a": 1} and answer.task is task
    return task.envs


class Frozen(Thing):
    """sky.Resources are members of a set."""
    __hash__ = object.__hash__


class Env(dict):
    """dstack's Env: a mapping of names to texts."""


def dstack_spec(words, count=8):
    gpu = Thing(name=["H100"], count=Thing(min=count, max=8))
    return Thing(run_name="train", configuration=Thing(
        env=Env({"SEXTANT_PLAN": words} if words else {}), nodes=2, resources=Thing(gpu=gpu)))


def by_dstack(words):
    plugin = importlib.import_module("sextant.policies.dstack").SextantPlugin()
    spec = dstack_spec(words)
    [policy] = plugin.get_apply_policies()
    assert policy.on_run_apply(user="ann", project="main", spec=spec) is spec
    return dict(spec.configuration.env)


def by_airflow(words):
    return importlib.import_module("sextant.policies.airflow").check_fit(
        words, devices=16, accelerator="h100-sxm") if words else {}


def by_ray(words):
    if not words:
        return {}
    sys.modules["ray"].started.clear()
    importlib.import_module("ray_driver").launch(words)
    [environment] = sys.modules["ray"].started
    return environment


LAUNCHERS = (by_skypilot, by_dstack, by_airflow, by_ray)
REFUSALS = (ValueError, Failed, SystemExit)


def check_answers(address):
    """A planner that answers decides."""
    for launch in LAUNCHERS:
        with planner_at(address):
            environment = launch(FITS)
            assert environment["SEXTANT_TP"] == "2", (launch, environment)
            assert environment["SEXTANT_DEVICES"] == "16", (launch, environment)
            launch("")
            for words, reasons in ((TOO_LARGE, ("DOES NOT FIT", "--zero=optimizer")),
                                   (WRONG, ("tpp",))):
                try:
                    launch(words)
                except REFUSALS as refusal:
                    assert all(reason in str(refusal) for reason in reasons), refusal
                else:
                    raise AssertionError((launch, words))
            assert not WARNINGS.take()
            launch("llama-3.1-8b")  # no layout: doubt, which stops nothing
            assert len(WARNINGS.take()) == 1


def check_choices(address):
    """Resources that leave a choice of GPUs are not judged by a count that may be wrong."""
    skypilot = importlib.import_module("sextant.policies.skypilot")
    dstack = importlib.import_module("sextant.policies.dstack")
    both = {Frozen(accelerators={"H100": 8}), Frozen(accelerators={"A100": 8})}
    assert skypilot.gpus_of(Thing(resources=both, num_nodes=1)) == ("", None)
    assert skypilot.gpus_of(Thing(resources={Frozen(accelerators=None)}, num_nodes=1)) == ("", None)
    assert dstack.gpus_of(dstack_spec("", count=1).configuration) == ("", None)
    assert dstack.gpus_of(Thing(nodes=1)) == ("", None)
    with planner_at(address):
        assert policies.check(FITS).verdict == "UNKNOWN"  # nobody says how many devices
    assert len(WARNINGS.take()) == 1


def check_fails_open(address):
    """Nobody answers: the job starts, with one warning however many there are."""
    for launch in LAUNCHERS:
        for words in (FITS, TOO_LARGE):
            with planner_at(address):
                for _ in range(5):
                    environment = launch(words)
                    assert "SEXTANT_TP" not in environment, environment
                texts = WARNINGS.take()
                assert len(texts) == 1 and "not planned" in texts[0], texts


class Busy(http.server.BaseHTTPRequestHandler):
    """A planner with too much to do."""
    asked = 0

    def do_POST(self):
        Busy.asked += 1
        body = json.dumps({"code": "resource_exhausted", "message": "busy", "details": [
            {"type": "google.rpc.ErrorInfo", "debug": {"reason": "SERVER_BUSY"}}]}).encode()
        self.send_response(429)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def check_busy():
    """Its answer is no silence: it is asked for each job."""
    with http.server.HTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with planner_at("127.0.0.1:%d" % server.server_port):
            for _ in range(3):
                assert policies.check(TOO_LARGE, **GPUS) is None
        server.shutdown()
    assert Busy.asked == 3, Busy.asked
    assert all("busy" in text for text in WARNINGS.take())


def check_asks_again(address):
    """The pause ends."""
    with planner_at("127.0.0.1:1"):
        assert policies.check(TOO_LARGE) is None
        WARNINGS.take()
        policies._client = None
        os.environ["SEXTANT_HTTP_ADDRESS"] = address
        assert policies.check(TOO_LARGE) is None, "asked within the pause"
        policies._asked_again_at -= policies.PAUSE
        try:
            policies.check(TOO_LARGE, **GPUS)
        except policies.Refused:
            return
    raise AssertionError("not asked after the pause")


def main():
    client.skip_without()
    with Server("--log_calls=none") as server:
        check_answers(server.http)
        check_choices(server.http)
        check_asks_again(server.http)
        server.process.send_signal(signal.SIGSTOP)
        os.waitpid(server.process.pid, os.WUNTRACED)  # all of its threads have stopped
        check_fails_open(server.http)
        server.process.send_signal(signal.SIGCONT)
        with planner_at(server.http):
            assert policies.check(FITS, **GPUS).verdict == "FITS"
            server.process.kill()
            server.process.wait()
            assert policies.check(TOO_LARGE, **GPUS) is None, "on the connection that was kept"
            assert len(WARNINGS.take()) == 1
        check_fails_open(server.http)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        check_fails_open("127.0.0.1:%d" % silent.getsockname()[1])
    check_fails_open("planner.invalid:9464")
    check_busy()
    with planner_at("no address"):
        assert policies.check(TOO_LARGE) is None
        assert "HOST:PORT" in WARNINGS.take()[0]
    print("launches are refused with a line, or go on with a warning")
    return 0


if __name__ == "__main__":
    sys.exit(main())
