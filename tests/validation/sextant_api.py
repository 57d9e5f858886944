"""The messages of the API, and a sextantd that answers them."""

import concurrent.futures
import glob
import importlib
import os
import subprocess
import sys
import tempfile
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))

from sextantd import SKIPPED, Server  # pylint: disable=wrong-import-position

try:
    import google
    import google.protobuf  # noqa: F401
    import grpc
except ImportError as missing:
    print(f"skipped: {missing} (deploy/install-deps.sh tests)")
    sys.exit(SKIPPED)

BATCH = 256  # the most runs of a BatchPlanRuns
CALLS_AT_A_TIME = 4
TIMEOUT = 120  # seconds


def generated_messages() -> types.SimpleNamespace:
    """Every message and enum of sextant.v1."""
    folder = os.path.join(ROOT, "proto")
    found = glob.glob("google/rpc/*.proto", root_dir=folder)
    protos = sorted(found + glob.glob("sextant/v1/*.proto", root_dir=folder))
    out = types.SimpleNamespace()
    with tempfile.TemporaryDirectory() as generated:
        subprocess.run(["protoc", "-I", folder, f"--python_out={generated}", *protos], check=True)
        sys.path.insert(0, generated)
        # google.protobuf is installed as a plain package; google/rpc is in another folder.
        google.__path__.append(os.path.join(generated, "google"))
        for name in protos:
            module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
            if name.startswith("sextant/"):
                vars(out).update({k: v for k, v in vars(module).items() if k[0].isupper()})
                for service in module.DESCRIPTOR.services_by_name.values():
                    for call in service.methods:
                        PATHS[call.name] = f"/{service.full_name}/{call.name}"
        sys.path.remove(generated)
    return out


PATHS: dict[str, str] = {}  # of calls, by their names
api = generated_messages()


class Refused(Exception):
    """The server's message for a request that it refuses."""

    def __init__(self, error: grpc.RpcError):
        super().__init__(error.details())
        self.code = error.code()


class Sextantd(Server):
    """A sextantd of its own, on a host without calibrations; use it as a context."""

    def __init__(self):
        super().__init__("--log_calls=none")

    def __enter__(self):
        super().__enter__()
        options = [("grpc.max_receive_message_length", -1)]
        self.channel = grpc.insecure_channel(self.address, options)
        return self

    def __exit__(self, *error):
        self.channel.close()
        super().__exit__(*error)

    def call(self, method: str, request):
        """The answer to a call such as "PlanRun"."""
        invoke = self.channel.unary_unary(
            PATHS[method],
            request_serializer=type(request).SerializeToString,
            response_deserializer=getattr(api, f"{method}Response").FromString,
        )
        try:
            return invoke(request, timeout=TIMEOUT)
        except grpc.RpcError as error:
            raise Refused(error) from None

    def plan(self, request):
        return self.call("PlanRun", request)

    def plans(self, requests: list) -> list:
        """Answers to PlanRun, in order; of a request that is refused, a Refused."""

        def ask(request):
            try:
                return self.plan(request)
            except Refused as refused:
                return refused

        with concurrent.futures.ThreadPoolExecutor(CALLS_AT_A_TIME) as pool:
            return list(pool.map(ask, requests))

    def batch(self, requests: list) -> list:
        """A PlannedRun for each request, in order."""
        out = []
        for first in range(0, len(requests), BATCH):
            runs = requests[first : first + BATCH]
            out += self.call("BatchPlanRuns", api.BatchPlanRunsRequest(runs=runs)).runs
        return out
