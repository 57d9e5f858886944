"""Sextant's API for Python's tests: messages made by protoc, and calls to a running server.

Every message and enum of sextant.v1 is an attribute: api.PlanRunRequest, api.DATA_TYPE_BF16.
`from sextant.v1 import plan_pb2` works after this is imported. Needs Debian's python3-grpcio,
python3-protobuf and protobuf-compiler; without them the importing script ends as skipped.
"""

import concurrent.futures
import contextlib
import glob
import importlib
import os
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))

from sextantd import BIN, ROOT, SKIPPED, Server  # noqa: E402, F401

try:
    import google
    import grpc
    from google.protobuf import descriptor_pool, json_format, message_factory  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing} (deploy/install-deps.sh tests)")
    sys.exit(SKIPPED)

PROTO = os.path.join(ROOT, "proto")
CALLS_AT_A_TIME = 4


def generated_messages():
    """The messages and enums of sextant.v1, by name."""
    names = sorted(glob.glob("google/rpc/*.proto", root_dir=PROTO))
    names += sorted(glob.glob("sextant/v1/*.proto", root_dir=PROTO))
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["protoc", "-I", PROTO, f"--python_out={folder}", *names], check=True)
        sys.path.insert(0, folder)
        # google.protobuf is installed as a plain package; google/rpc is in another folder.
        google.__path__.append(os.path.join(folder, "google"))
        for name in names:
            module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
            if name.startswith("sextant/"):
                out |= {key: value for key, value in vars(module).items() if key[0].isupper()}
        sys.path.remove(folder)
    return out


globals().update(generated_messages())


def method(name):
    """Descriptor of a method, e.g. "PlanningService/PlanRun"."""
    service, _, call = name.partition("/")
    found = descriptor_pool.Default().FindServiceByName(f"sextant.v1.{service}")
    return found.methods_by_name[call]


def message_class(descriptor):
    """The Python class of a message's descriptor."""
    return message_factory.MessageFactory().GetPrototype(descriptor)


class Client:
    """Calls the server at `address` with messages, by TLS if `credentials` are for it; use it as a
    context."""

    def __init__(self, address, credentials=None):
        options = [("grpc.max_receive_message_length", -1)]
        self.channel = (
            grpc.secure_channel(address, credentials, options)
            if credentials
            else grpc.insecure_channel(address, options)
        )
        self.calls = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close()

    def stub(self, name):
        """What to call, with future() too: a request to a response of `name`."""
        if name not in self.calls:
            found = method(name)
            self.calls[name] = self.channel.unary_unary(
                f"/sextant.v1.{name}",
                request_serializer=lambda message: message.SerializeToString(deterministic=True),
                response_deserializer=message_class(found.output_type).FromString,
            )
        return self.calls[name]

    def call(self, name, request, timeout=120):
        """The response; raises grpc.RpcError."""
        return self.stub(name)(request, timeout=timeout)

    def answers(self, calls):
        """The response to each (name, request), or the grpc.RpcError; several at a time."""

        def answer(call):
            try:
                return self.call(*call)
            except grpc.RpcError as refused:
                return refused

        with concurrent.futures.ThreadPoolExecutor(CALLS_AT_A_TIME) as pool:
            return list(pool.map(answer, calls))


@contextlib.contextmanager
def own_server():
    """A Client of a sextantd of its own, on a host without calibrations."""
    with Server("--log_calls=none") as server, Client(server.address) as client:
        yield client
