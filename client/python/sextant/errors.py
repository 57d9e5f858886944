"""What goes wrong with a call."""
from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple


class SextantError(Exception):
    """A call that failed: `code` is Connect's ("not_found"), `reason` one of docs/errors.md or "",
    `fields` what is wrong as [(field, description)]."""

    def __init__(self, code: str, message: str, reason: str = "",
                 fields: Optional[List[Tuple[str, str]]] = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.reason = reason
        self.fields = fields or []


class FieldError(SextantError, ValueError):
    """The request is wrong: `fields` says where, and what to write instead."""


class Unavailable(SextantError):
    """Nobody answers, or is too busy to: try again, after `retry_after` seconds where it is given.
    """

    def __init__(self, code: str, message: str, reason: str = "",
                 fields: Optional[List[Tuple[str, str]]] = None,
                 retry_after: Optional[float] = None) -> None:
        super().__init__(code, message, reason, fields)
        self.retry_after = retry_after


class DeadlineExceeded(SextantError):
    """The time that the call was given is over."""


def _details(error: Dict[str, Any], kind: str) -> List[Dict[str, Any]]:
    """The details of a kind, as JSON."""
    return [detail["debug"] for detail in error.get("details", [])
            if detail.get("type") == f"google.rpc.{kind}" and isinstance(detail.get("debug"), dict)]


def error_of(status: int, error: Dict[str, Any], retry_after: Optional[str]) -> SextantError:
    """The exception for an answer's error. `status` is HTTP's, 0 where a stream had the error."""
    code = str(error.get("code", "unknown"))
    message = str(error.get("message", ""))
    reason = next((str(info.get("reason", "")) for info in _details(error, "ErrorInfo")), "")
    fields = [(str(fault.get("field", "")), str(fault.get("description", "")))
              for bad in _details(error, "BadRequest") for fault in bad.get("fieldViolations", [])]
    if code == "deadline_exceeded":
        return DeadlineExceeded(code, message, reason, fields)
    if code in ("unavailable", "resource_exhausted") or status in (429, 502, 503):
        seconds = None
        for info in _details(error, "RetryInfo"):
            seconds = float(str(info.get("retryDelay", "0s")).rstrip("s"))
        if seconds is None and retry_after is not None and retry_after.isdigit():
            seconds = float(retry_after)
        return Unavailable(code, message, reason, fields, seconds)
    if fields or code == "invalid_argument":
        return FieldError(code, message, reason, fields)
    return SextantError(code, message, reason, fields)
