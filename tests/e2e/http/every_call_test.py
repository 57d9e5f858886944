#!/usr/bin/python3
"""Every call, by gRPC and over HTTP, in protobuf and JSON: the same answer, or the same error.

Each is made with the requests of docs/examples, or the ones below, and with an empty one.
"""

import base64
import json
import os
import re
import sys
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from sextantd import GOOD_REQUEST, ROOT, Server  # noqa: E402
from api import grpc, json_format, message_class  # noqa: E402
from google.protobuf import descriptor_pool  # noqa: E402
from google.rpc import status_pb2  # noqa: E402

REQUESTS = {
    "DescribeDataType": [{"dataType": "DATA_TYPE_BF16"}],
    "DescribeTokens": [{"tokenCount": 10**12, "vocabularySize": 128256}],
    "AnalyzeTensor": [{"tensor": {"shape": [4, 128], "dataType": "DATA_TYPE_BF16"},
                       "steps": [{"contiguous": {}}]}],
    "GetKernelRates": [{"device": {"accelerator": "h200-sxm"}}],
    "GetLinkTimes": [{"nodes": {"nodeType": "dgx-h100"},
                      "operations": ["COLLECTIVE_OPERATION_ALL_REDUCE"]}],
    "RunProbe": [{"devices": ["GPU-unknown"]}, {"mode": "PROBE_MODE_QUICK"}],
    "WatchPlanRun": [{**GOOD_REQUEST, "training": {"tokenCount": 10**12, "sequenceLength": 8192},
                      "layout": {"globalBatchSize": 2048}}],
    "Admit": [{"words": "llama-3.1-8b --tokens=1T --sequence-length=8192 --gbs=64 --mbs=1",
               "deviceCount": 16, "accelerator": "h100-sxm"}],
    "ImportRun": [{"files": [{"name": "ds.json", "content": '{"train_batch_size": 64}'}],
                   "request": {"model": {"preset": "gpt2"}}}, {"files": [{"content": "{"}]}],
    "ExportRun": [{"request": {**GOOD_REQUEST, "layout": {"globalBatchSize": 2048}},
                   "launcher": "deepspeed"}],
    "ReportProgress": [{"jobId": "1", "startTime": "2026-01-01T00:00:00Z", "tokenCount": 1000,
                        "deviceCount": 1, "gpuUuids": ["host"], "modelFlopsPerToken": 1e9}],
}
SERVICES = ("AccountingService", "HardwareService", "PlanningService", "TelemetryService")


def methods():
    pool = descriptor_pool.Default()
    found = [method for name in SERVICES
             for method in pool.FindServiceByName(f"sextant.v1.{name}").methods]
    # What it measures, others show.
    return sorted(found, key=lambda method: method.name != "RunProbe")


def examples():
    """The requests of docs/examples, by method."""
    folder = os.path.join(ROOT, "docs", "examples")
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        rows = re.findall(r"\[(\w+\.json)\]\(\1\) \| `\w+/(\w+)`", file.read())
    out = {}
    for name, method in rows:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            out.setdefault(method, []).append(json.load(file))
    return out


def by_grpc(channel, method, request):
    """(code, details, answers)."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    form = {"request_serializer": type(request).SerializeToString,
            "response_deserializer": message_class(method.output_type).FromString}
    try:
        if method.server_streaming:
            answers = list(channel.unary_stream(path, **form)(request, timeout=60))
        else:
            answers = [channel.unary_unary(path, **form)(request, timeout=60)]
    except grpc.RpcError as error:
        trailers = dict(error.trailing_metadata() or ())
        status = status_pb2.Status.FromString(trailers.get("grpc-status-details-bin", b""))
        details = [(each.type_url.rpartition("/")[2], each.value) for each in status.details]
        return error.code().name, error.details(), details, []
    return "OK", "", [], answers


def envelopes(content):
    while content:
        size = int.from_bytes(content[1:5], "big")
        yield content[0], content[5:5 + size]
        content = content[5 + size:]


def by_connect(server, method, request, is_json):
    """As by_grpc()."""
    form = "json" if is_json else "proto"
    body = json_format.MessageToJson(request).encode() if is_json else request.SerializeToString()
    if method.server_streaming:
        form = f"connect+{form}"
        body = b"\0" + len(body).to_bytes(4, "big") + body
    question = urllib.request.Request(
        f"http://{server.http}/{method.containing_service.full_name}/{method.name}", body,
        {"Content-Type": f"application/{form}"})
    error, contents = None, []
    try:
        with urllib.request.urlopen(question, timeout=60) as answer:
            contents = [answer.read()]
    except urllib.error.HTTPError as refused:
        assert not method.server_streaming, (method.name, refused.status)
        error = json.load(refused)
    if method.server_streaming:
        *messages, (flag, end) = envelopes(contents[0])
        assert flag == 2 and not any(each for each, _ in messages), method.name
        contents = [content for _, content in messages]
        error = json.loads(end).get("error")
    parse = (lambda text: json_format.Parse(text, message_class(method.output_type)())) if is_json \
        else message_class(method.output_type).FromString
    answers = [parse(content) for content in contents] if error is None or contents else []
    if error is None:
        return "OK", "", [], answers
    code = {"canceled": "CANCELLED"}.get(error["code"], error["code"].upper())
    details = [(each["type"], base64.b64decode(each["value"] + "=" * (-len(each["value"]) % 4)))
               for each in error.get("details", [])]
    return code, error.get("message", ""), details, answers


def comparable(result, method):
    """What has to be alike: of a stream the last answer, since how far a search has come depends on
    the time; of a probe, which measures other figures each time, the kinds of its events."""
    code, text, details, answers = result
    if method.name == "RunProbe":
        answers = sorted({event.WhichOneof("event") for event in answers})
    elif method.server_streaming:
        answers = answers[-1:]
    elif method.name in ("ListDevices", "GetCalibration"):  # how long ago it was measured
        answers = [re.sub(r"age_seconds: .*", "", str(answer)) for answer in answers]
    return code, text, details, answers


def in_time(call):
    """The result of `call`, asked again while a probe on a busy host runs out of time."""
    for _ in range(10):
        result = call()
        if "PROBE_TIMEOUT" not in str(result[2]):
            break
    return result


def main():
    given = examples()
    table = []
    with Server("--log_calls=none") as server, grpc.insecure_channel(server.address) as channel:
        for method in methods():
            empty = [] if method.name == "RunProbe" else [{}]  # another probe of seconds
            for content in [*REQUESTS.get(method.name, []), *given.get(method.name, []), *empty]:
                request = json_format.ParseDict(content, message_class(method.input_type)())
                expected = comparable(in_time(lambda: by_grpc(channel, method, request)), method)
                for is_json in (False, True):
                    got = comparable(
                        in_time(lambda: by_connect(server, method, request, is_json)), method)
                    assert got == expected, (method.name, is_json, content, got, expected)
                table.append((method.name, expected[0]))
    for row in table:
        print(f"{row[0]:20} {row[1]:20} alike in gRPC, Connect proto, Connect JSON")
    answered = {name for name, code in table if code == "OK"}
    missing = {method.name for method in methods()} - answered
    assert not missing, missing
    return 0


if __name__ == "__main__":
    sys.exit(main())
