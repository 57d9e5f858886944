"""Sextant's API for Python's tests: messages made by protoc, and calls to a running server.

Needs Debian's python3-grpcio, python3-protobuf and protobuf-compiler; without them the importing
script ends as skipped.
"""

import contextlib
import importlib
import os
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROTO = os.path.join(ROOT, "proto")

try:
    import grpc
    from google.protobuf import descriptor_pool, json_format, message_factory  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing} (deploy/install-deps.sh tests)")
    sys.exit(SKIPPED)


def generate_messages(folder):
    """Puts the messages' modules into `folder`: `from sextant.v1 import plan_pb2` works then."""
    names = [
        f"{package}/{name}"
        for package in ("google/rpc", "sextant/v1")
        for name in sorted(os.listdir(os.path.join(PROTO, package)))
    ]
    subprocess.run(["protoc", "-I", PROTO, f"--python_out={folder}", *names], check=True)
    sys.path.insert(0, folder)
    # google.protobuf is installed as a plain package; ours lie in another folder.
    import google

    google.__path__.append(os.path.join(folder, "google"))
    return [name[: -len(".proto")].replace("/", ".") + "_pb2" for name in names]


@contextlib.contextmanager
def messages():
    """The same in a folder of its own, all read, so that messages are found by name."""
    with tempfile.TemporaryDirectory() as folder:
        for module in generate_messages(folder):
            importlib.import_module(module)
        yield


def method(name):
    """Descriptor of a method, e.g. "PlanningService/PlanRun"."""
    service, _, call = name.partition("/")
    found = descriptor_pool.Default().FindServiceByName(f"sextant.v1.{service}")
    return found.methods_by_name[call]


def message_class(descriptor):
    """The Python class of a message's descriptor."""
    return message_factory.MessageFactory().GetPrototype(descriptor)


class Client:
    """Calls the server at `address` with messages; use it as a context."""

    def __init__(self, address):
        self.channel = grpc.insecure_channel(
            address, options=[("grpc.max_receive_message_length", 64 << 20)]
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

    def call(self, name, request, timeout=60):
        """The response; raises grpc.RpcError."""
        return self.stub(name)(request, timeout=timeout)
