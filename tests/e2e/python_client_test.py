#!/usr/bin/python3
"""A client of another stack (Debian's python3-grpcio) against the running server.

It works the answers out for itself: counts Llama's parameters, and evaluates every step of
the derivation in Python's own arithmetic.
"""

import math
import os
import re
import sys

from sextantd import ROOT, Server
from api import grpc


def plan_run(channel, request):
    from sextant.v1 import planning_service_pb2 as api
    call = channel.unary_unary("/sextant.v1.PlanningService/PlanRun",
                               request_serializer=api.PlanRunRequest.SerializeToString,
                               response_deserializer=api.PlanRunResponse.FromString)
    return call(request, timeout=10)


def llama_request():
    from sextant.v1 import plan_options_pb2, planning_service_pb2 as api
    request = api.PlanRunRequest()
    request.model.preset = "llama-3.1-70b"
    request.training.token_count = 15 * 10**12
    request.cluster.device.accelerator = "h100-sxm"
    request.cluster.device_count = 1024
    request.economics.device_hour_price_usd = 2.5
    request.training.activation_bytes = 10**12
    request.options.assumed_mfu = 0.5
    request.options.view = plan_options_pb2.PLAN_VIEW_FULL
    request.options.include_derivation = True
    return request


def interrupted_request():
    """With all that whole_run may tell of a run without a layout."""
    request = llama_request()
    request.economics.budget_usd = 1e7
    request.economics.start_time.FromJsonString("2027-01-01T00:00:00Z")
    request.economics.deadline.FromJsonString("2027-04-01T00:00:00Z")
    interruptions = request.interruptions
    interruptions.failures_per_device_hour = 2e-5
    interruptions.restart_duration.FromSeconds(600)
    interruptions.checkpoint_write_bytes_per_second = 1e11
    interruptions.checkpoint_stall_ratio = 0.5
    interruptions.stall_ratio = 0.03
    return request


def measured_request():
    """The same run on two H100s that somebody measured, the second the slower."""
    from sextant.v1 import data_type_pb2, device_pb2, probe_pb2
    request = llama_request()
    for index, seconds in enumerate([0.0016, 0.0020]):
        calibration = request.cluster.device.calibrations.calibrations.add()
        calibration.schema_version = 2
        calibration.device.uuid = f"GPU-{index}"
        calibration.device.kind = device_pb2.DEVICE_KIND_GPU
        calibration.device.product_name = "NVIDIA H100 80GB HBM3"
        calibration.device.memory_bytes = 85 * 10**9
        calibration.measured_time.seconds = 1769860800
        calibration.probe_version = "sextant-probe 0.1.0"
        calibration.mode = probe_pb2.PROBE_MODE_STANDARD
        calibration.duration_seconds = 5
        calibration.coverage_ratio = 1
        calibration.checked_result_count = 1
        matmul = calibration.matmuls.add()
        matmul.data_type = data_type_pb2.DATA_TYPE_BF16
        matmul.m, matmul.n, matmul.k = 8192, 8192, 8192
        matmul.engine = "cublaslt 12.4"
        matmul.flops_per_second = 2 * 8192**3 / seconds
        time = matmul.time
        time.median_seconds = time.p10_seconds = time.p90_seconds = seconds
        time.relative_spread = 0.003
        time.sample_count = 12
        time.repetition_count = 1
        time.stable = True
    return request


def check_measured_plan(plan):
    from sextant.v1 import interval_pb2, note_pb2
    rate = 2 * 8192**3 / 0.0020
    seconds = 6.0 * plan.parameters.total * 15e12 / (1024 * rate)
    bound, _, measured_bound = plan.estimates
    assert measured_bound.kind == interval_pb2.ESTIMATE_KIND_MEASURED_BOUND
    assert math.isclose(measured_bound.duration_seconds.expected, seconds, rel_tol=1e-12)
    assert math.isclose(measured_bound.mfu, rate / 989.4e12, rel_tol=1e-12)
    assert math.isclose(bound.measured_fraction, 989.4e12 / rate, rel_tol=1e-12)
    assert measured_bound.measured_fraction == 1
    measured = {used.quantity: used for used in plan.rates if used.HasField("measured_time")}
    assert sorted(measured) == ["matmul_flops_per_second", "memory_bytes"]
    assert measured["matmul_flops_per_second"].device_uuid == "GPU-1"
    assert not any("nothing was measured" in note.text for note in plan.assumptions)
    kinds = [note.kind for note in plan.warnings]
    assert kinds == [note_pb2.NOTE_KIND_DEVICES_NOT_MEASURED,
                     note_pb2.NOTE_KIND_SLOWEST_DEVICE], kinds


def check_plan(plan):
    from sextant.v1 import interval_pb2
    layers, h, f, q, kv, vocabulary = 80, 8192, 28672, 64 * 128, 8 * 128, 128256
    n = 2 * vocabulary * h + layers * (2 * q * h + 2 * kv * h + 3 * f * h + 2 * h) + h
    assert plan.parameters.total == n == 70553706496
    flops = 6.0 * n * 15e12
    seconds = flops / (1024 * 989.4e12 * 0.5)
    bound, textbook = plan.estimates
    assert bound.kind == interval_pb2.ESTIMATE_KIND_LOWER_BOUND
    assert textbook.kind == interval_pb2.ESTIMATE_KIND_TEXTBOOK
    assert math.isclose(textbook.duration_seconds.expected, seconds, rel_tol=1e-12)
    assert math.isclose(bound.duration_seconds.expected, seconds / 2, rel_tol=1e-12)
    assert math.isclose(textbook.cost_usd, 1024 * seconds / 3600 * 2.5, rel_tol=1e-12)
    assert math.isclose(textbook.energy_joules, 1024 * 700 * seconds, rel_tol=1e-12)
    assert plan.memory.state.state_bytes == 16 * n
    assert plan.memory.peak_bytes.expected == -(-(16 * n + 10**12) // 1024)


def check_derivation(plan):
    allowed = re.compile(r"(?:[-+*/(). ]|\d|e\+?|ceil|floor|sqrt|expm1|exp)*")
    assert len(plan.derivation) > 30
    for step in plan.derivation:
        assert allowed.fullmatch(step.substitution), step.substitution
        names = {name: getattr(math, name) for name in ("ceil", "floor", "sqrt", "exp", "expm1")}
        names["__builtins__"] = {}
        value = eval(step.substitution, names)  # pylint: disable=eval-used
        assert math.isclose(value, step.value, rel_tol=1e-12), step


def name_of(entry):
    """What tells one entry of a list from the others."""
    from sextant.v1 import interval_pb2, model_count_pb2
    fields = {field.name for field in entry.DESCRIPTOR.fields}
    if "convention" in fields:
        convention = model_count_pb2.FlopsConvention.Name(entry.convention)
        return convention.replace("FLOPS_CONVENTION_", "").lower()
    if "mfu_basis" in fields:
        return interval_pb2.EstimateKind.Name(entry.kind).replace("ESTIMATE_KIND_", "").lower()
    return entry.quantity if "quantity" in fields else entry.name


def numbers_of(message, path=""):
    """Every number of a message that is set, by its path; the derivation itself left out."""
    for field, value in message.ListFields():
        here = f"{path}.{field.name}" if path else field.name
        if here in ("derivation", "warnings", "assumptions"):
            continue
        if field.type == field.TYPE_MESSAGE and field.message_type.name == "Interval":
            assert value.low == value.expected == value.high, (here, value)
            yield f"{here}.expected", value.expected
            continue
        if field.label == field.LABEL_REPEATED and field.type == field.TYPE_MESSAGE:
            for entry in value:
                yield from numbers_of(entry, f"{here}.{name_of(entry)}")
        elif field.type == field.TYPE_MESSAGE:
            yield from numbers_of(value, here)
        elif field.cpp_type in (field.CPPTYPE_INT64, field.CPPTYPE_DOUBLE):
            yield here, value


def check_every_number_is_derived(plan):
    derived = {step.symbol: step.value for step in plan.derivation}
    numbers = list(numbers_of(plan))
    assert len(numbers) > 40, len(numbers)
    for path, number in numbers:
        assert path in derived, f"no step derives {path} = {number}"
        assert derived[path] == float(number), (path, number, derived[path])


def documented_reader():
    """The function that docs/errors.md shows."""
    with open(os.path.join(ROOT, "docs/errors.md"), encoding="utf-8") as file:
        code = re.search(r"```python\n(.*?)```", file.read(), re.DOTALL)[1]
    names = {"grpc": grpc}
    exec(code, names)  # pylint: disable=exec-used
    return names["field_violations"]


def check_refusal(channel):
    from google.rpc import error_details_pb2, status_pb2
    request = llama_request()
    request.cluster.device_count = 0
    request.options.assumed_mfu = float("nan")
    try:
        plan_run(channel, request)
        raise AssertionError("not refused")
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.INVALID_ARGUMENT
        trailers = dict(error.trailing_metadata())
        violations = documented_reader()(error)
    wire = status_pb2.Status.FromString(trailers["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    assert wire.details[0].Unpack(info)
    assert (info.domain, info.reason) == ("sextant", "FIELD_INVALID")
    fields = [field for field, _ in violations]
    assert fields == ["cluster.device_count", "options.assumed_mfu"], fields


def main():
    with Server() as server, grpc.insecure_channel(server.address) as channel:
        first = plan_run(channel, llama_request())
        again = plan_run(channel, llama_request())
        assert first.SerializeToString() == again.SerializeToString()
        check_plan(first.plan)
        check_derivation(first.plan)
        check_every_number_is_derived(first.plan)
        interrupted = plan_run(channel, interrupted_request())
        check_derivation(interrupted.plan)
        check_every_number_is_derived(interrupted.plan)
        measured = plan_run(channel, measured_request())
        check_measured_plan(measured.plan)
        check_derivation(measured.plan)
        check_every_number_is_derived(measured.plan)
        assert measured.rates_fingerprint != first.rates_fingerprint
        check_refusal(channel)
    count = len(first.plan.derivation) + len(measured.plan.derivation)
    print(f"{count} derivation steps evaluate to their values")
    return 0


if __name__ == "__main__":
    sys.exit(main())
