"""Requests from keywords: `tp=2` is layout.parallel.tensorParallelSize."""
from __future__ import annotations

import datetime
import decimal
import difflib
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional

from .errors import FieldError
from .fields import ENUMS, Field

# As the command line reads them (docs/plan.md).
_COUNTS = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_LENGTHS = {"": 1, "Ki": 2**10, "Mi": 2**20}  # 8K could be either
_BYTES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
          "PB": 10**15, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_WHOLE = {"bytes": (_BYTES, "80GiB or 80GB"), "int": (_COUNTS, "1024, 15e12 or 70B"),
          "length": (_LENGTHS, "8192 or 8Ki")}


def number_of(text: str, suffixes: Mapping[str, int]) -> Optional[decimal.Decimal]:
    """"15e12", "70B", "80GiB"; None where it is no number."""
    read = re.fullmatch(r"([-+]?[0-9]*\.?[0-9]+(?:[eE][-+]?[0-9]+)?)([A-Za-z]*)", text.strip())
    if read is None:
        return None
    suffix = read[2]
    if suffixes is _COUNTS:
        suffix = suffix.upper()
    return decimal.Decimal(read[1]) * suffixes[suffix] if suffix in suffixes else None


def _whole(value: Any, form: str) -> str:
    suffixes, such_as = _WHOLE[form]
    number = number_of(str(value), suffixes)
    if number is None or number != number.to_integral_value():
        raise ValueError(f"write a whole number, or a text such as {such_as}")
    return str(int(number))


def _enum(value: Any, name: str) -> str:
    values = ENUMS[name]
    prefix = values[0][:-len("UNSPECIFIED")]
    wanted = str(value).upper().replace("-", "_")
    for full in values[1:]:
        if wanted in (full, full[len(prefix):]):
            return full
    raise ValueError("write one of " + ", ".join(
        full[len(prefix):].lower().replace("_", "-") for full in values[1:]))


def _duration(value: Any) -> str:
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    seconds = number_of(str(value), _SECONDS)
    if seconds is None:
        raise ValueError("write seconds, a timedelta, or a text such as 90s, 15m, 36h or 7d")
    return f"{seconds.normalize():f}s"


def _timestamp(value: Any) -> str:
    if not isinstance(value, datetime.datetime):
        text = str(value)
        return text + "T00:00:00Z" if re.fullmatch(r"\d{4}-\d{2}-\d{2}", text) else text
    if value.tzinfo is None:
        raise ValueError("give the datetime a time zone")
    return value.isoformat()


def value_of(value: Any, form: str) -> Any:
    """A keyword's value as JSON; ValueError says what to write."""
    if form in _WHOLE:
        return _whole(value, form)
    if form == "float":
        return float(value)
    if form == "duration":
        return _duration(value)
    if form == "timestamp":
        return _timestamp(value)
    if form.startswith("enum:"):
        return _enum(value, form[len("enum:"):])
    if form == "bool" and not isinstance(value, bool):
        raise ValueError("write True or False")
    return value


def _set(request: Dict[str, Any], field: Field, value: Any) -> None:
    *folders, last = field.path
    for folder in folders:
        request = request.setdefault(folder, {})
    if field.repeated:
        parts: Iterable[Any] = value.split(",") if isinstance(value, str) else value
        request[last] = [value_of(part, field.form) for part in parts]
    else:
        request[last] = value_of(value, field.form)


def request_of(fields: Mapping[str, Field], model: Optional[str],
               keywords: Mapping[str, Any]) -> Dict[str, Any]:
    """The request that the keywords describe; None leaves a field out."""
    request: Dict[str, Any] = {}
    given = dict(keywords)
    if model is not None:
        given["parameters" if number_of(str(model), _COUNTS) is not None else "model"] = model
    for name, value in given.items():
        if name not in fields:
            near = difflib.get_close_matches(name, fields, 3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise TypeError(f"there is no keyword {name!r}{hint}")
        if value is None:
            continue
        try:
            _set(request, fields[name], value)
        except (TypeError, ValueError) as error:
            raise FieldError("invalid_argument", f"{name}={value!r}: {error}", "FIELD_INVALID",
                             [(name, str(error))]) from error
    return request


def start_now(run: Dict[str, Any]) -> None:
    """A run with a deadline starts now, unless it says otherwise."""
    economics = run.get("economics", {})
    if "deadline" in economics:
        now = datetime.datetime.now(datetime.timezone.utc)
        economics.setdefault("startTime", now.strftime("%Y-%m-%dT%H:%M:%SZ"))


def has(request: Mapping[str, Any], *path: str) -> bool:
    """Whether the request gives the field."""
    inside: Any = request
    for name in path:
        if not isinstance(inside, Mapping) or name not in inside:
            return False
        inside = inside[name]
    return True


def combinations(each: Mapping[str, Iterable[Any]]) -> List[Dict[str, Any]]:
    """All combinations of the values, the last keyword's changing fastest."""
    rows: List[Dict[str, Any]] = [{}]
    for name, values in each.items():
        texts = list(values)
        rows = [{**row, name: value} for row in rows for value in texts]
    return rows
