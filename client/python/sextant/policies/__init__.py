"""Whether a launcher may start a job, by Admit (docs/admit.md), inside the launcher's process.

Fails open: where no planner answers in time, the job starts, one warning says so, and no job is
asked for in the next half minute. The planner is $SEXTANT_HTTP_ADDRESS; $SEXTANT_TOKEN is sent to
it, $SEXTANT_CA_FILE says who signed its certificate.
"""
from __future__ import annotations

import logging
import os
import threading
import time
from typing import Optional

from ..client import Admission, Client
from ..errors import DeadlineExceeded, FieldError, Unavailable

TIMEOUT = 0.5  # seconds that a launch waits at most
PAUSE = 30.0  # seconds of launches without a question, after one that nobody answered
VARIABLE = "SEXTANT_PLAN"  # of a job's environment: the run, as its user would write it

_log = logging.getLogger("sextant")
_lock = threading.Lock()
_asked_again_at = 0.0
_client: Optional[Client] = None


class Refused(ValueError):
    """The job must not start; the text says why, and what would fit."""


def planner() -> Client:
    """The planner that the environment names; the same one at each call."""
    global _client
    with _lock:
        if _client is None:
            _client = Client(token=os.environ.get("SEXTANT_TOKEN"),
                             ca_file=os.environ.get("SEXTANT_CA_FILE"))
        return _client


def check(words: str, *, devices: Optional[int] = None, accelerator: str = "",
          job_name: str = "", user: str = "") -> Optional[Admission]:
    """Admit's answer; None where none came. Raises `Refused` where the run does not fit or its
    words are wrong, and nothing else."""
    global _asked_again_at
    if time.monotonic() < _asked_again_at:
        return None
    try:
        # Half of the time to compute, so that a busy planner still says UNKNOWN.
        admission = planner().admit(words, devices=devices, accelerator=accelerator,
                                    job_name=job_name[:64], user=user[:64], budget=TIMEOUT / 2,
                                    timeout=TIMEOUT)
    except FieldError as error:
        raise Refused("; ".join(f"{name}: {text}" for name, text in error.fields)
                      or error.message) from None
    except Exception as error:  # whatever it is, it is no reason to stop a job
        # A planner that is busy answers, with a reason: it is asked again, or else one user's many
        # questions would switch the check off for all.
        silent = isinstance(error, (DeadlineExceeded, Unavailable)) and not error.reason
        if silent:
            _asked_again_at = time.monotonic() + PAUSE
        _log.warning("not planned: %s%s", error,
                     f"; jobs start unchecked for {PAUSE:.0f} s" if silent else "")
        return None
    if admission.verdict == "DOES_NOT_FIT":
        raise Refused("; ".join(filter(None, (admission.message, admission.change))))
    if admission.verdict != "FITS":
        _log.warning("%s", admission.message)
    return admission
