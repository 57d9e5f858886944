#!/usr/bin/python3
"""Writes the parts of the package that follow from the .proto files and the catalogue.

    generate.py --descriptors=FILE --accelerators=FILE --catalogue=FILE --version=X.Y.Z --output=DIR

DIR becomes the folder to build the wheel from: the sources beside this file, and types.py, raw.py,
fields.py, catalogue.py and version.py. Needs python3-protobuf, which the package does not.
"""

import argparse
import json
import keyword
import os
import re
import shutil

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

HERE = os.path.dirname(os.path.abspath(__file__))
HEAD = '"""{}\n\nMade by generate.py of the .proto files: not to be edited."""\nfrom __future__ ' \
    'import annotations\n\n'
PACKAGES = ("sextant.v1", "google.rpc")
# Messages that proto JSON writes in a form of their own.
WELL_KNOWN = {".google.protobuf.Duration": "Duration", ".google.protobuf.Timestamp": "Timestamp",
              ".google.protobuf.Any": "Dict[str, Any]"}
FIELD = descriptor_pb2.FieldDescriptorProto
WHOLE = (FIELD.TYPE_INT64, FIELD.TYPE_UINT64, FIELD.TYPE_SINT64, FIELD.TYPE_FIXED64,
         FIELD.TYPE_SFIXED64)
SCALARS = {FIELD.TYPE_DOUBLE: "float", FIELD.TYPE_FLOAT: "float", FIELD.TYPE_BOOL: "bool",
           FIELD.TYPE_STRING: "str", FIELD.TYPE_BYTES: "str", FIELD.TYPE_INT32: "int",
           FIELD.TYPE_UINT32: "int", **{kind: "Int64" for kind in WHOLE}}
# The requests of which the client takes fields as keywords.
KEYWORDS = {"PlanFields": "PlanRunRequest", "CountFields": "CountModelRequest",
            "SizeClusterFields": "SizeClusterRequest"}


class Api:
    """The messages, enums and services of a descriptor set, by their full names."""

    def __init__(self, descriptors):
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptors)
        # The option's message, of the set itself.
        pool = descriptor_pool.DescriptorPool()
        for file in files.file:
            pool.Add(file)
        options = pool.FindMessageTypeByName("google.protobuf.FieldOptions")
        self._options = message_factory.MessageFactory(pool).GetPrototype(options)
        self._option = pool.FindExtensionByName("sextant.v1.field")
        self._options.RegisterExtension(self._option)
        self.messages, self.enums, self.services, self.comments = {}, {}, [], {}
        for file in files.file:
            if file.package in PACKAGES:
                self._add_file(file)

    def _add_file(self, file):
        for place in file.source_code_info.location:
            self.comments[(file.name, *place.path)] = place.leading_comments.strip()
        for index, message in enumerate(file.message_type):
            self._add_message("." + file.package, message, (file.name, 4, index))
        for enum in file.enum_type:
            self.enums[f".{file.package}.{enum.name}"] = enum
        for index, service in enumerate(file.service):
            self.services.append((file, index, service))

    def _add_message(self, prefix, message, path):
        name = f"{prefix}.{message.name}"
        self.messages[name] = message
        message_comment = self.comments.get(path, "")
        self.comments[name] = message_comment
        for enum in message.enum_type:
            self.enums[f"{name}.{enum.name}"] = enum
        for index, nested in enumerate(message.nested_type):
            self._add_message(name, nested, (*path, 3, index))

    def names_of(self, field):
        """The names that people write, without dashes; the field's own first."""
        options = self._options.FromString(field.options.SerializeToString())
        words = options.Extensions[self._option].flag.split(",")
        return [word[2:].replace("-", "_") for word in words if word.startswith("--")]


def type_name(full):
    """".sextant.v1.AdmitResponse.Verdict" -> "AdmitResponse_Verdict"."""
    name = re.sub(r"^\.(sextant\.v1|google\.rpc)\.", "", full).replace(".", "_")
    return "RpcStatus" if full == ".google.rpc.Status" else name


def type_of(api, field):
    name = SCALARS.get(field.type)
    if field.type == FIELD.TYPE_MESSAGE:
        message = api.messages.get(field.type_name)
        if message is not None and message.options.map_entry:
            return f"Dict[str, {type_of(api, message.field[1])}]"
        name = WELL_KNOWN.get(field.type_name) or type_name(field.type_name)
    elif field.type == FIELD.TYPE_ENUM:
        name = type_name(field.type_name)
    return f"List[{name}]" if field.label == FIELD.LABEL_REPEATED else name


def doc(text, indent):
    """The comment as a docstring."""
    lines = [line.strip() for line in text.replace("\\", "\\\\").replace('"""', "'''").split("\n")
             if not line.strip().startswith("buf:lint")]
    text = f"\n{indent}".join(lines).rstrip()
    end = "" if "\n" not in text else f"\n{indent}"
    return f'{indent}"""{text}{end}"""\n'.replace(f"\n{indent}\n", "\n\n")


def types_text(api):
    out = [HEAD.format("Messages of the API as JSON has them."),
           "from typing import Any, Dict, List, Literal, TypedDict, Union\n\n",
           "# Whole numbers of 64 bits are texts in answers; requests take numbers too.\n",
           "Int64 = Union[int, str]\n",
           'Duration = str  # seconds: "3.5s"\n',
           'Timestamp = str  # "2026-01-31T12:00:00Z"\n']
    for full, enum in api.enums.items():
        values = ",\n    ".join(f'"{value.name}"' for value in enum.value)
        out.append(f"{type_name(full)} = Literal[\n    {values}]\n")
    for full, message in api.messages.items():
        if message.options.map_entry:
            continue
        # The functional form takes keywords of Python's as names. A forward reference is a text.
        fields = "".join(f'    "{field.json_name}": "{type_of(api, field)}",\n'
                         for field in message.field)
        name = type_name(full)
        out.append(f'{name} = TypedDict("{name}", {{\n{fields}}}, total=False)\n')
    return "".join(out)


def snake(name):
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def method_text(api, file, service_index, service, index, kind):
    method = service.method[index]
    path = f"{file.package}.{service.name}/{method.name}"
    ask, answer = type_name(method.input_type), type_name(method.output_type)
    comment = doc(api.comments.get((file.name, 6, service_index, 2, index), ""), " " * 8)
    streams, wait = method.server_streaming, kind == "async "
    result = f"types.{answer}"
    if streams:
        result = f"{'AsyncIterator' if wait else 'Iterator'}[{result}]"
    call = f'self._calls.{"stream" if streams else "unary"}("{path}", request, timeout)'
    if wait and not streams:
        call = f"await {call}"
    start = "def" if streams or not wait else "async def"
    return (f"    {start} {snake(method.name)}(\n            self, request: types.{ask}, "
            f"timeout: Optional[float] = None) -> {result}:\n{comment}"
            f'        return cast("{result}",\n                    {call})\n')


def raw_text(api):
    out = [HEAD.format("Every call of the API, by name."),
           "from typing import TYPE_CHECKING, AsyncIterator, Iterator, Optional, cast\n\n",
           "from .connection import AsyncCalls, Calls\n\n",
           "if TYPE_CHECKING:\n    from . import types\n\n"]
    for kind, name in (("", "Raw"), ("async ", "AsyncRaw")):
        calls = "AsyncCalls" if kind else "Calls"
        out.append(f'\nclass {name}:\n    """Requests and answers as JSON has them."""\n\n'
                   f"    def __init__(self, calls: {calls}) -> None:\n"
                   f"        self._calls = calls\n\n")
        methods = [method_text(api, file, number, service, index, kind)
                   for file, number, service in api.services
                   for index in range(len(service.method))]
        out.append("\n".join(methods) + "\n")
    return "".join(out)


def form_of(api, field):
    """How a keyword's value is read, and its type in a signature."""
    annotation = type_of(api, field)
    if field.type == FIELD.TYPE_ENUM:
        form, annotation = "enum:" + type_name(field.type_name), annotation.replace(
            type_name(field.type_name), "str")
    elif field.type in WHOLE:
        # As FormOf() of proto/words/field_path.cc.
        form = ("bytes" if field.name.endswith("_bytes") else
                "length" if field.name.endswith(("_length", "_batch_size")) else "int")
    elif field.type == FIELD.TYPE_MESSAGE:
        form = WELL_KNOWN.get(field.type_name, "message").lower()
        if form == "duration":
            annotation = "Union[str, float, timedelta]"
        elif form == "timestamp":
            annotation = "Union[str, datetime]"
        else:
            annotation = re.sub(r"\b([A-Z]\w+_?\w*)$|\[([A-Z]\w+)\]", lambda found: (
                f"types.{found[1]}" if found[1] else f"[types.{found[2]}]"), annotation)
    else:
        form = SCALARS[field.type]
        annotation = annotation.replace("float", "Union[float, str]")
    return form, annotation.replace("Int64", "Union[int, str]")


def keywords_of(api, full, path=()):
    """[(name, path, form, repeated, annotation)] of a request's fields, all its names."""
    for field in api.messages[full].field:
        names, here = api.names_of(field), (*path, field.json_name)
        inside = field.type == FIELD.TYPE_MESSAGE and field.label != FIELD.LABEL_REPEATED
        if not names and inside and field.type_name not in WELL_KNOWN:
            yield from keywords_of(api, field.type_name, here)
            continue
        if not names and not path:
            names = [field.name]  # the request's own
        form, annotation = form_of(api, field)
        for name in names:
            yield name, here, form, field.label == FIELD.LABEL_REPEATED, annotation


def fields_text(api):
    out = [HEAD.format("Fields of requests as keywords, by their names on the command line."),
           "from typing import TYPE_CHECKING, Dict, List, NamedTuple, Tuple, TypedDict, Union\n\n",
           "if TYPE_CHECKING:\n    from datetime import datetime, timedelta\n\n",
           "    from . import types\n\n\n",
           'class Field(NamedTuple):\n    """Where a value goes, and how it is read."""\n',
           "    path: Tuple[str, ...]\n    form: str\n    repeated: bool\n\n\n"]
    enums = set()
    for name, request in KEYWORDS.items():
        rows = list(keywords_of(api, f".sextant.v1.{request}"))
        known = [row[0] for row in rows]
        twice = {each for each in known if known.count(each) > 1}
        assert not twice, f"{request}: two fields have the name {twice}"
        enums |= {row[2][5:] for row in rows if row[2].startswith("enum:")}
        # `model` is the functions' own argument.
        arguments = [f'    "{row[0]}": "{row[4]}",\n' for row in rows if row[0] != "model"]
        out.append(f'{name} = TypedDict("{name}", {{\n{"".join(arguments)}}}, total=False)\n')
        table = [f'    "{row[0]}": Field({row[1]!r}, "{row[2]}", {row[3]}),\n' for row in rows]
        out.append(f'{snake(name).upper()}: Dict[str, Field] = {{\n{"".join(table)}}}\n')
    values = {type_name(full): [value.name for value in enum.value]
              for full, enum in api.enums.items() if type_name(full) in enums}
    rows = [f'    "{name}": {tuple(names)!r},\n' for name, names in values.items()]
    out.append(f'ENUMS: Dict[str, Tuple[str, ...]] = {{\n{"".join(rows)}}}\n')
    return "".join(out)


def reported_names(catalogue):
    """What drivers call products: the table of engine/hardware/catalogue.cc."""
    table = re.search(r"kReportedNames\[\] = \{(.*?)\n\};", catalogue, re.S)
    rows = re.findall(r'\{"([^"]+)", "([^"]+)"\}', table[1])
    assert rows, "engine/hardware/catalogue.cc has no kReportedNames"
    return dict(rows)


def catalogue_text(accelerators, catalogue):
    rows = json.loads(accelerators)["accelerators"]
    reported = reported_names(catalogue)
    unknown = set(reported.values()) - {row["name"] for row in rows}
    assert not unknown, unknown
    table = ",\n    ".join(repr(row) for row in rows)
    names = "".join(f"    {name!r}: {row!r},\n" for name, row in reported.items())
    return (HEAD.format("The catalogue, as HardwareService.ListAccelerators has it.")
            + "from typing import TYPE_CHECKING, Dict, List\n\nif TYPE_CHECKING:\n"
            "    from . import types\n\n"
            f"ACCELERATORS: List[types.Accelerator] = [\n    {table}]\n\n"
            "# Names that drivers report, without the vendor's.\n"
            f"REPORTED_NAMES: Dict[str, str] = {{\n{names}}}\n")


def read(path, mode="r"):
    with open(path, mode, encoding=None if "b" in mode else "utf-8") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser()
    for name in ("descriptors", "accelerators", "catalogue", "version", "output"):
        parser.add_argument(f"--{name}", required=True)
    flags = parser.parse_args()
    api = Api(read(flags.descriptors, "rb"))
    names = [type_name(full) for full in (*api.messages, *api.enums)]
    assert len(names) == len(set(names)), "two types have one name"
    assert not [name for name in names if keyword.iskeyword(name)]
    shutil.rmtree(flags.output, ignore_errors=True)
    shutil.copytree(HERE, flags.output, ignore=shutil.ignore_patterns(
        "__pycache__", "generate.py", "CMakeLists.txt", "plan"))
    texts = {"types": types_text(api), "raw": raw_text(api), "fields": fields_text(api),
             "catalogue": catalogue_text(read(flags.accelerators), read(flags.catalogue)),
             "version": f'__version__ = "{flags.version}"\n'}
    for name, text in texts.items():
        with open(f"{flags.output}/sextant/{name}.py", "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
