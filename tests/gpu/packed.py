"""The size of a calibration as it travels: binary Protocol Buffers, packed by gzip. Needs protoc,
Python's protobuf and the messages' source, which a machine with a GPU may lack."""

import gzip
import os
import shutil
import subprocess
import tempfile

PROTO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "proto")
SOURCE = "sextant/v1/calibration.proto"
MESSAGE = "sextant.v1.Calibration"


class CannotPack(Exception):
    """Something that packing needs is not here."""


def message_class():
    """sextant.v1.Calibration, made from the messages' source."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError as fault:
        raise CannotPack("not computed here: Python's protobuf is missing") from fault
    if shutil.which("protoc") is None:
        raise CannotPack("not computed here: protoc is missing")
    files = descriptor_pb2.FileDescriptorSet()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "set")
        done = subprocess.run(["protoc", f"--proto_path={PROTO}", "--include_imports",
                               f"--descriptor_set_out={path}", SOURCE], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, universal_newlines=True, check=False)
        if done.returncode != 0:
            raise CannotPack(f"not computed here: protoc: {done.stderr.strip()[:200]}")
        with open(path, "rb") as file:
            files.ParseFromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName(MESSAGE)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def packed_sizes(calibrations):
    """Bytes of each, a calibration being what json.loads() gives.

    Raises CannotPack."""
    make = message_class()
    from google.protobuf import json_format
    try:
        messages = [json_format.ParseDict(each, make()) for each in calibrations]
    except json_format.ParseError as fault:
        raise CannotPack(f"no calibration of this version: {fault}") from fault
    # Level 9, without a time: the same bytes every time.
    return [len(gzip.compress(each.SerializeToString(), mtime=0)) for each in messages]
