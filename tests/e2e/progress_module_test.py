#!/usr/bin/python3
"""client/python: what the module sends, read by the real protobuf decoder; that it never disturbs a
training loop; and its examples, on stand-ins for torch and transformers, which are not installed
where this runs.
"""

import concurrent.futures
import contextlib
import importlib
import logging
import os
import socket
import sys
import time
import types

from sextantd import ROOT
from api import grpc

import sextant  # protoc's, for the tests; the reporter's module becomes one of the same package

sextant.__path__.append(os.path.join(ROOT, "client/python/sextant"))
sys.path.insert(0, os.path.join(ROOT, "client/python/examples"))
from sextant import progress as sextant_progress  # noqa: E402

METHOD = "/sextant.v1.TelemetryService/ReportProgress"
ENVIRONMENT = ("SLURM_JOB_ID", "SLURM_NTASKS", "TORCHELASTIC_RUN_ID", "WORLD_SIZE")
AN_HOUR = 3600


class FakeServer(grpc.GenericRpcHandler):
    """Keeps the requests, and answers each with `answer`."""

    def __init__(self, answer=b"\x08\x01"):
        self.answer = answer
        self.requests = []
        self.address = None

    def service(self, details):
        assert details.method == METHOD, details
        return grpc.unary_unary_rpc_method_handler(self._report)

    def _report(self, request, _):
        from sextant.v1 import telemetry_service_pb2 as api
        self.requests.append(api.ReportProgressRequest.FromString(request))
        return self.answer

    @contextlib.contextmanager
    def serving(self):
        serving = grpc.server(concurrent.futures.ThreadPoolExecutor(2), [self])
        self.address = f"127.0.0.1:{serving.add_insecure_port('127.0.0.1:0')}"
        serving.start()
        yield self
        serving.stop(None).wait()


class Warnings(logging.Handler):
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
def environment(**variables):
    """These variables alone of those that the module reads."""
    former = {name: os.environ.pop(name, None) for name in ENVIRONMENT}
    os.environ.update(variables)
    yield
    for name in ENVIRONMENT:
        os.environ.pop(name, None)
        if former[name] is not None:
            os.environ[name] = former[name]


@contextlib.contextmanager
def modules(**stand_ins):
    """Modules under these names, with `_` for a dot."""
    names = {name.replace("_", "."): module for name, module in stand_ins.items()}
    former = {name: sys.modules.get(name) for name in names}
    sys.modules.update(names)
    yield
    for name, module in former.items():
        del sys.modules[name]
        if module is not None:
            sys.modules[name] = module


def fake_torch(uuid="01010101-0202-0303-0404-050505050505", world_size=4):
    """As much of torch as the module and the loop use."""
    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(
        is_available=lambda: True,
        current_device=lambda: 3,
        get_device_properties=lambda index: types.SimpleNamespace(uuid=f"{uuid[:-1]}{index}"))
    torch.distributed = types.ModuleType("torch.distributed")
    torch.distributed.get_world_size = lambda: world_size
    return torch


def progress_of(server, **changes):
    arguments = {"model_flops_per_token": 4.2e11, "job_id": "job", "gpu_uuids": ["GPU-a"],
                 "device_count": 8, "address": server.address, "interval": AN_HOUR}
    return sextant_progress.Progress(**{**arguments, **changes})


def check_what_is_sent():
    """Every field, as protobuf reads it; a first report at once, and one at the end."""
    with FakeServer().serving() as server:
        before = time.time_ns()
        progress = progress_of(server, job_id="4711_3", gpu_uuids=["GPU-a", "GPU-b"],
                               device_count=1_000_000)
        for _ in range(1000):
            progress.add(10**15 - 1)
        progress.close()
    first, last = server.requests[0], server.requests[-1]
    assert len(server.requests) == 2, server.requests
    for request in (first, last):
        assert request.job_id == "4711_3"
        assert before <= request.start_time.ToNanoseconds() <= time.time_ns()
        assert request.device_count == 1_000_000
        assert list(request.gpu_uuids) == ["GPU-a", "GPU-b"]
        assert request.model_flops_per_token == 4.2e11
        assert not request.HasField("telemetry")
        assert not request.UnknownFields(), "protobuf knows every field"
    assert first.start_time == last.start_time
    assert first.token_count <= last.token_count == 1000 * (10**15 - 1)
    assert not WARNINGS.take()


def check_varints():
    for value in (0, 1, 127, 128, 300, 2**31, 10**18, 2**63 - 1):
        from sextant.v1 import telemetry_service_pb2 as api
        read = api.ReportProgressRequest.FromString(sextant_progress.field(3, value))
        assert read.token_count == value, (read, value)


def check_plans():
    """The block as `sextant plan --output=json` prints it, and as it did in snake_case."""
    from google.protobuf import json_format
    from sextant.v1 import data_type_pb2, whole_run_pb2
    plan = whole_run_pb2.TelemetryPlan(
        model_flops_per_token=4.2e11, planned_mfu=0.41, peak_flops_per_second=989.4e12,
        compute_data_type=data_type_pb2.DATA_TYPE_BF16, planned_tokens_per_second=9.7e5)
    for peak_type, snake_case in (("BF16", False), ("BF16", True), ("FP8", False)):
        plan.compute_data_type = data_type_pb2.DataType.Value(f"DATA_TYPE_{peak_type}")
        as_json = json_format.MessageToDict(plan, preserving_proto_field_name=snake_case)
        with FakeServer().serving() as server:
            progress_of(server, plan=as_json).close()
        sent = server.requests[-1].telemetry
        assert sent.model_flops_per_token == 4.2e11
        assert sent.HasField("planned_mfu") == (peak_type == "BF16")
        if peak_type == "BF16":
            assert sent.planned_mfu == 0.41
            assert sent.compute_data_type == plan.compute_data_type
    assert not WARNINGS.take()


def check_defaults():
    """The job, its GPUs and this process' own, where they are not given."""
    cases = [({"SLURM_JOB_ID": "77", "SLURM_NTASKS": "16", "TORCHELASTIC_RUN_ID": "x"}, "77", 16),
             ({"TORCHELASTIC_RUN_ID": "run", "WORLD_SIZE": "4"}, "run", 4),
             ({"SLURM_JOB_ID": "78"}, "78", 1)]
    for variables, job_id, device_count in cases:
        for uuid in ("01010101-0202-0303-0404-050505050505", "GPU-0101"):
            with environment(**variables), modules(torch=fake_torch(uuid)), \
                    FakeServer().serving() as server:
                progress_of(server, job_id=None, device_count=None, gpu_uuids=None).close()
            sent = server.requests[-1]
            assert (sent.job_id, sent.device_count) == (job_id, device_count), sent
            assert list(sent.gpu_uuids) == ["GPU-" + uuid.replace("GPU-", "")[:-1] + "3"], sent
    assert not WARNINGS.take()


def check_builds_for_processors():
    """They raise where they are asked for a GPU: the host's processor is reported."""
    def refuse(*_):
        raise AssertionError("Torch not compiled with CUDA enabled")

    torch = types.ModuleType("torch")
    torch.cuda = types.SimpleNamespace(is_available=lambda: False, current_device=refuse,
                                       get_device_properties=refuse)
    with environment(), modules(torch=torch), FakeServer().serving() as server:
        progress_of(server, gpu_uuids=None).close()
    assert list(server.requests[-1].gpu_uuids) == ["host"], server.requests
    assert not WARNINGS.take()


def check_it_disturbs_nothing():
    """Whatever is wrong, the calls of the loop return, and one warning says what."""
    broken_torch = fake_torch()
    del broken_torch.cuda
    silent = socket.create_server(("127.0.0.1", 0))  # takes connections, and says nothing
    with environment(), modules(torch=broken_torch), \
            FakeServer(b"\x08\x03").serving() as ignoring, \
            FakeServer(b"").serving() as empty:
        cases = {"nobody serves": ({"address": "127.0.0.1:1"}, "a report failed"),
                 "no address": ({"address": "\0"}, "a report failed"),
                 "hangs": ({"address": "127.0.0.1:%d" % silent.getsockname()[1]}, "failed"),
                 "ignored": ({}, "a report was ignored"),
                 "empty answer": ({"address": empty.address}, "a report was ignored"),
                 "no job": ({"job_id": None}, "TORCHELASTIC_RUN_ID"),
                 "no FLOPs": ({"model_flops_per_token": None}, "no progress is reported"),
                 "bad plan": ({"plan": {"plannedMfu": 1}}, "modelflopspertoken"),
                 "no GPU": ({"gpu_uuids": None}, "cuda"),
                 "no number": ({"device_count": "many"}, "many")}
        for name, (changes, warning) in cases.items():
            progress = progress_of(ignoring, **changes)
            progress.add(100)
            progress.close()
            progress.close()
            texts = WARNINGS.take()
            assert len(texts) >= 1 and warning in texts[0], (name, texts)
        progress = progress_of(ignoring)
        progress.add("no number")
        progress.close()
        assert any("tokens were not counted" in text for text in WARNINGS.take())
    silent.close()


def check_negative_counts_are_not_sent():
    with FakeServer().serving() as server:
        progress = progress_of(server)
        while not server.requests:
            time.sleep(0.01)
        progress.token_count = -5
        progress.close()
    assert [request.token_count for request in server.requests] == [0], server.requests
    assert "a report failed" in WARNINGS.take()[0]


class FakeTensor:
    """A batch, a loss, and what is between them."""
    shape = (8, 2048, 4096)

    def square(self):
        return self

    def mean(self):
        return self

    def backward(self):
        pass


def check_pytorch_example():
    torch = fake_torch(world_size=4)
    with modules(torch=torch, torch_distributed=torch.distributed), \
            FakeServer().serving() as server:
        loop = importlib.import_module("pytorch_loop")
        progress = progress_of(server)
        optimizer = types.SimpleNamespace(step=lambda: None, zero_grad=lambda: None)
        loop.train(lambda batch: batch, optimizer, [FakeTensor()] * 3, progress)
        progress.close()
    assert server.requests[-1].token_count == 3 * 8 * 2048 * 4, server.requests[-1]


def check_trainer_example():
    transformers = types.ModuleType("transformers")
    transformers.TrainerCallback = object
    with modules(transformers=transformers), FakeServer().serving() as server:
        example = importlib.import_module("hf_trainer")
        callback = example.SextantCallback(
            sequence_length=4096, model_flops_per_token=4.2e11, job_id="job",
            gpu_uuids=["GPU-a"], address=server.address, interval=AN_HOUR)
        args = types.SimpleNamespace(train_batch_size=2, gradient_accumulation_steps=16,
                                     world_size=64)
        state = types.SimpleNamespace(global_step=500)  # resumed
        callback.on_train_begin(args, state, None, model=None)
        for _ in range(3):
            state.global_step += 1
            callback.on_step_end(args, state, None, model=None)
        callback.on_train_end(args, state, None, model=None)
    assert server.requests[-1].token_count == 3 * 2 * 16 * 64 * 4096
    assert server.requests[-1].device_count == 64


MEGATRON_LOG = """\
training ...
 [2026-11-27 01:00:00] iteration       10/  500000 | consumed samples:        10240 | elapsed time \
per iteration (ms): 5310.4 | learning rate: 1.200000E-05 | global batch size:  1024 | lm loss: 9.5 |
 [2026-11-27 01:00:52] iteration       20/  500000 | consumed samples:        20480 | skipped \
samples:            0 | elapsed time per iteration (ms): 5210.4 | throughput per GPU \
(TFLOP/s/GPU): 401.2 | learning rate: 1.2E-05 | global batch size:  1024 | lm loss: 9.1 |
saving checkpoint at iteration      20
 [2026-11-27 01:10:52] iteration       20/  500000 | consumed samples:        15360 | elapsed time
 [2026-11-27 01:11:52] iteration       25/  500000 | consumed samples:        20480 | elapsed time
"""


def check_megatron_example():
    """10 iterations of 1024 samples, a return to an older checkpoint, and 5 more."""
    with FakeServer().serving() as server:
        example = importlib.import_module("megatron_log")
        progress = progress_of(server)
        example.follow(MEGATRON_LOG.splitlines(), progress, sequence_length=8192)
        progress.close()
    assert server.requests[-1].token_count == (10240 + 5120) * 8192, server.requests[-1]


def main():
    with open(os.path.join(ROOT, "client/python/sextant/progress.py"), encoding="utf-8") as file:
        assert len(file.readlines()) < 105, "short enough to read before it is copied"
    check_what_is_sent()
    check_varints()
    check_plans()
    check_defaults()
    check_builds_for_processors()
    check_it_disturbs_nothing()
    check_negative_counts_are_not_sent()
    check_pytorch_example()
    check_trainer_example()
    check_megatron_example()
    print("the module reports, and disturbs nothing; its examples count what they should")
    return 0


if __name__ == "__main__":
    sys.exit(main())
