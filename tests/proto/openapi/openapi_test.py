#!/usr/bin/python3
"""The OpenAPI document, by two public validators, and by the requests of docs/examples and their
answers.

  tests/proto/openapi/openapi_test.py DOCUMENT

DOCUMENT is the built one. What the generator makes of descriptors is tested on a small API.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(FOLDER)))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import examples_test  # noqa: E402
import api  # noqa: E402, F401 (makes the messages)
from sextantd import BIN, SKIPPED, Server  # noqa: E402

TOOLS = os.path.join(ROOT, "build", "tools", "openapi")
FRAME = os.path.join(ROOT, "proto", "openapi", "frame.json")

SMALL_API = '''
syntax = "proto3";
package small.v1;
import "google/protobuf/descriptor.proto";
import "google/protobuf/duration.proto";

message Unit { string symbol = 1; }
extend google.protobuf.FieldOptions {
  Unit unit = 50001;
  string alias = 50002;
}

// Weighs things.
service Scale {
  // Weighs one. And says so.
  // buf:lint:ignore RPC_REQUEST_STANDARD_NAME
  rpc Weigh(Thing) returns (Weight) { option idempotency_level = NO_SIDE_EFFECTS; }
  // Weighs for a while.
  rpc Watch(Thing) returns (stream Weight);
}

// A thing.
message Thing {
  // Its name.
  string name_of_it = 1;
  // Exactly one.
  oneof shape {
    double sphere = 2;
    double cube = 3;
  }
  map<string, int64> parts = 4;
  google.protobuf.Duration time = 5 [deprecated = true];
  bytes picture = 6;
}

// A weight.
message Weight {
  int64 grams = 1 [(unit) = { symbol: "g" }, (alias) = "mass"];
  Mood mood = 2;  // How it feels.
}

// A mood.
enum Mood {
  // None.
  MOOD_UNSPECIFIED = 0;
  // Of two
  // lines.
  MOOD_GOOD = 1;
}
'''

# Calls that a link can hold.
GETS = {"PlanRun", "Admit", "ImportRun", "ExportRun", "ListDataTypes", "DescribeDataType",
        "DescribeTokens", "CountModel", "ListModels", "ListAccelerators", "ListDevices",
        "ListNodeTypes"}


def small_document(folder, text=SMALL_API):
    """The document of a small API, and the source that holds it compressed."""
    paths = {name: os.path.join(folder, name) for name in ("x.proto", "x.binpb", "x.json", "x.cc")}
    with open(paths["x.proto"], "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["protoc", "-I", folder, "--include_imports", "--include_source_info",
                    f"--descriptor_set_out={paths['x.binpb']}", "x.proto"], check=True)
    subprocess.run([os.path.join(BIN, "openapi_generator"), FRAME, paths["x.binpb"], "1.2",
                    paths["x.json"], paths["x.cc"]], check=True, capture_output=True)
    with open(paths["x.json"], "rb") as document, open(paths["x.cc"], "rb") as source:
        return document.read(), source.read()


def check_small_api(folder):
    content, source = small_document(folder)
    assert small_document(folder) == (content, source), "two runs differ"
    numbers = re.search(rb"kGzip\[\] = \{(.*?)\}", source, re.S).group(1)
    assert gzip.decompress(bytes(int(n) for n in re.findall(rb"\d+", numbers))) == content
    document = json.loads(content)
    assert document["info"]["version"] == "1.2"
    assert document["tags"] == [{"name": "Scale", "description": "Weighs things."}]
    weigh = document["paths"]["/small.v1.Scale/Weigh"]
    assert set(weigh) == {"get", "post"}
    assert weigh["post"]["summary"] == "Weighs one."
    assert weigh["post"]["description"] == "Weighs one. And says so."
    watch = document["paths"]["/small.v1.Scale/Watch"]
    assert set(watch) == {"post"}
    stream = watch["post"]["responses"]["200"]["content"]
    assert list(stream) == ["application/connect+json"], stream
    schemas = document["components"]["schemas"]
    double = {"$ref": "#/components/schemas/double"}
    assert schemas["small.v1.Thing"] == {
        "type": "object", "additionalProperties": False,
        "description": "A thing.\n\nOf `sphere`, `cube`: Exactly one.",
        "properties": {
            "nameOfIt": {"type": "string", "description": "Its name."},
            "sphere": double, "cube": double,
            "parts": {"type": "object",
                      "additionalProperties": {"type": ["string", "integer"], "format": "int64",
                                               "pattern": "^-?[0-9]+$"}},
            "time": {"$ref": "#/components/schemas/google.protobuf.Duration", "deprecated": True},
            "picture": {"type": "string", "contentEncoding": "base64"}},
        "allOf": [{"anyOf": [{"properties": {"cube": False}},
                             {"properties": {"sphere": False}}]}]}, schemas["small.v1.Thing"]
    # Of an answer alone: one form.
    assert schemas["small.v1.Weight"]["properties"] == {
        "grams": {"type": "string", "format": "int64", "pattern": "^-?[0-9]+$",
                  "x-small.v1.unit": {"symbol": "g"}, "x-small.v1.alias": "mass"},
        "mood": {"$ref": "#/components/schemas/small.v1.Mood", "description": "How it feels."}}
    assert schemas["small.v1.Mood"] == {
        "type": "string", "enum": ["MOOD_UNSPECIFIED", "MOOD_GOOD"],
        "description": "A mood.\n\n"
                       "- `MOOD_UNSPECIFIED` (0): None.\n- `MOOD_GOOD` (1): Of two lines."}


def check_new_field(folder):
    """A field that is added to a message appears with its comment, and changes nothing else."""
    before = json.loads(small_document(folder)[0])
    text = SMALL_API.replace("bytes picture = 6;",
                             "bytes picture = 6;\n  // In metres.\n  bool long_one = 7;")
    after = json.loads(small_document(folder, text)[0])
    fields = after["components"]["schemas"]["small.v1.Thing"]["properties"]
    assert fields.pop("longOne") == {"type": "boolean", "description": "In metres."}
    assert after == before


def check_unknown_form(folder):
    """A message of google.protobuf whose form in JSON is not known makes no document."""
    text = SMALL_API.replace("duration", "field_mask").replace("protobuf.Duration",
                                                               "protobuf.FieldMask")
    try:
        small_document(folder, text)
    except subprocess.CalledProcessError as error:
        assert b"google.protobuf.FieldMask" in error.stderr, error.stderr
        return
    raise AssertionError("a FieldMask has no form in JSON, and a schema")


def check_calls(document):
    """Every call is there, and by GET those that a link can hold."""
    from sextant.v1 import (accounting_service_pb2, hardware_service_pb2, planning_service_pb2,
                            telemetry_service_pb2)
    services = [service for module in (accounting_service_pb2, hardware_service_pb2,
                                       planning_service_pb2, telemetry_service_pb2)
                for service in module.DESCRIPTOR.services_by_name.values()]
    calls = {f"/{service.full_name}/{method.name}":
             {"get", "post"} if method.name in GETS else {"post"}
             for service in services for method in service.methods}
    assert {path: set(item) for path, item in document["paths"].items()} == calls


def post(server, path, body):
    """The answer to a call over HTTP, of whatever status."""
    question = urllib.request.Request(f"http://{server.http}{path}", body,
                                      {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(question, timeout=60) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as refused:
        return json.load(refused)


def example_cases(document, text):
    """The requests of docs/examples and their answers over HTTP, by a server that offers `document`
    as `text`; and errors."""
    with open(os.path.join(examples_test.FOLDER, "README.md"), encoding="utf-8") as file:
        rows = [row.groupdict() for row in examples_test.ROW.finditer(file.read())]
    reference = re.compile(r"#/components/schemas/(.*)")
    with Server("--log_calls=none") as server:
        with urllib.request.urlopen(f"http://{server.http}/openapi.json", timeout=60) as page:
            assert page.read() == text, "the server offers another document"
        for row in rows:
            with open(os.path.join(examples_test.FOLDER, row["file"]), "rb") as file:
                body = file.read()
            path = f"/sextant.v1.{row['service']}/{row['method']}"
            call = document["paths"][path]["post"]
            for kind, content, value in (
                    ("asked", call["requestBody"]["content"], json.loads(body)),
                    ("answered", call["responses"]["200"]["content"], post(server, path, body))):
                schema = reference.match(content["application/json"]["schema"]["$ref"])[1]
                yield {"name": f"{row['file']}, {kind}", "schema": schema, "value": value,
                       "valid": True}
        plan = "/sextant.v1.PlanningService/PlanRun"
        for path, body in ((plan, b"{}"), (plan, b'{"model": {"presett": 1}}'), (plan, b"["),
                           ("/sextant.v1.PlanningService/Plan", b"{}"), ("/nowhere", b"{}")):
            yield {"name": f"error of {body} at {path}", "schema": "connect.Error",
                   "value": post(server, path, body), "valid": True}


def cases_by_hand():
    """Values that schemas take, and that they refuse."""
    for schema, value, valid in (
            ("TrainingSpec", {"tokenCount": "5"}, True),
            ("TrainingSpec", {"tokenCount": 5}, True),
            ("TrainingSpec", {"tokenCount": 5.5}, False),
            ("TrainingSpec", {"tokenCount": "five"}, False),
            ("TrainingSpec", {"token_count": "5"}, False),
            ("TrainingSpec", {"recompute": "RECOMPUTE_POLICY_NONE"}, True),
            ("TrainingSpec", {"recompute": 1}, True),
            ("TrainingSpec", {"recompute": "NONE"}, False),
            ("PlanRunRequest", {"modle": {}}, False),
            ("DescribeDataTypeRequest", {"values": ["-Infinity", "NaN", -2, 0.5]}, True),
            ("DescribeDataTypeRequest", {"values": ["nan"]}, False),
            ("WatchPlanRunResponse", {}, True),
            ("WatchPlanRunResponse", {"progress": {}}, True),
            ("WatchPlanRunResponse", {"answer": {}, "progress": {}}, False),
            # Of answers alone, which have one form.
            ("SearchProgress", {"evaluatedCount": 5}, False),
            ("AllocateComputeRequest", {"duration": "604800s"}, True),
            ("AllocateComputeRequest", {"duration": "0.5s"}, True),
            ("AllocateComputeRequest", {"duration": "7d"}, False)):
        yield {"name": f"{schema} {value}", "schema": f"sextant.v1.{schema}", "value": value,
               "valid": valid}
    detail = {"type": "google.rpc.BadRequest", "value": "CgYKAWESAWI",
              "debug": {"fieldViolations": [{"field": "a", "description": "b"}]}}
    for code, details, valid in (
            ("invalid_argument", [detail], True), ("canceled", [], True),
            ("cancelled", [], False), ("internal", [{"type": "google.rpc.BadRequest"}], False),
            ("internal", [{**detail, "debug": {"field": "a"}}], False)):
        yield {"name": f"error {code} {details}", "schema": "connect.Error",
               "value": {"code": code, "message": "m", "details": details}, "valid": valid}


def problems_of(path, cases, folder):
    """What the validators find in the document at `path`, and in `cases` by its schemas."""
    listed = os.path.join(folder, "cases.json")
    with open(listed, "w", encoding="utf-8") as file:
        json.dump(cases, file, allow_nan=False)
    with open(os.path.join(FOLDER, "validate.mjs"), encoding="utf-8") as script:
        judged = subprocess.run(["node", "--input-type=module", "-", path, listed], stdin=script,
                                cwd=TOOLS, capture_output=True, text=True, check=False)
    assert judged.returncode == 0, judged.stderr[-2000:]
    linted = subprocess.run(
        [os.path.join(TOOLS, "node_modules/.bin/redocly"), "lint", "--extends=recommended",
         "--format=json", path], capture_output=True, text=True, check=False, cwd=folder,
        env={**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"})
    found = json.loads(linted.stdout)
    problems = [f"{each['ruleId']}: {each['message']}: {each['location'][0].get('pointer')}"
                for each in found["problems"]]
    assert bool(problems) == bool(sum(found["totals"].values())), found["totals"]
    return judged.stdout.splitlines() + problems


def check_bounds(path):
    """What a field's option says is in its schema, as bounds and in words."""
    with open(path, encoding="utf-8") as file:
        schemas = json.load(file)["components"]["schemas"]
    tokens = schemas["sextant.v1.TrainingSpec"]["properties"]["tokenCount"]
    assert (tokens["minimum"], tokens["maximum"]) == (1, 1e18), tokens
    assert tokens["description"].startswith("Required, 1 to 1e18. Tokens"), tokens
    power = schemas["sextant.v1.EconomicsSpec"]["properties"]["devicePowerWatts"]
    assert (power["exclusiveMinimum"], power["maximum"]) == (0, 1e6), power
    assert power["description"].startswith("Optional, above 0 to 1000000. Power"), power
    ahead = schemas["sextant.v1.StateSharding"]["properties"]["prefetchedUnitCount"]
    assert ahead["description"].endswith(" Default: 1."), ahead


def check_document(path, folder):
    with open(path, "rb") as file:
        text = file.read()
    document = json.loads(text)
    check_calls(document)
    cases = [*cases_by_hand(), *example_cases(document, text)]
    problems = problems_of(path, cases, folder)
    assert not problems, "\n".join(problems)
    # The validators do judge: a document with a fault.
    broken = os.path.join(folder, "broken.json")
    del document["info"]["title"]
    with open(broken, "w", encoding="utf-8") as file:
        json.dump(document, file)
    problems = problems_of(broken, [], folder)
    assert len(problems) >= 2, problems
    return len(cases)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_small_api(folder)
        check_new_field(folder)
        check_unknown_form(folder)
        check_bounds(os.path.abspath(sys.argv[1]))
        if not shutil.which("node") or not os.path.isdir(os.path.join(TOOLS, "node_modules")):
            print("skipped: no validators (deploy/install-deps.sh tests)")
            return SKIPPED
        count = check_document(os.path.abspath(sys.argv[1]), folder)
    print(f"two validators find nothing, and {count} messages are judged as they should be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
