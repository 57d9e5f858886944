"""Starts the planner that comes with this package."""
from __future__ import annotations

import json
import os
import subprocess
import weakref
from typing import IO, List, Optional

import sextant

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "bin")

# Write ends of the pipes of this process's planners. A child by fork lets go of them: else its
# parent's planner would live as long as it does.
_pipes: weakref.WeakSet[IO[bytes]] = weakref.WeakSet()


def _close_pipes() -> None:
    for pipe in list(_pipes):
        pipe.close()


os.register_at_fork(after_in_child=_close_pipes)


class Server:
    """A planner for this process alone, at `address`, a free port of 127.0.0.1. It sees no device
    and keeps nothing. It ends with close(), and when this process does, however that ends."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [os.path.join(PROGRAMS, "sextantd"), "--stop_with_stdin", "--role=planner",
             "--listen=127.0.0.1:0", "--http_listen=127.0.0.1:0", "--calibration_directory=none",
             "--log_calls=none", "--search_niceness=0", "--drain_announce_seconds=0",
             "--drain_grace_seconds=0"],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            start_new_session=True)  # a Ctrl-C is this process's to handle
        assert self._process.stdin is not None and self._process.stderr is not None
        self._owner = os.getpid()
        _pipes.add(self._process.stdin)
        try:
            self.address = self._read_address(self._process.stderr)
        except BaseException:
            self.close()
            raise
        finally:
            self._process.stderr.close()

    def _read_address(self, log: IO[bytes]) -> str:
        said: List[str] = []
        for line in log:
            said.append(line.decode(errors="replace"))
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and event.get("event") == "serving":
                return str(event["http"])
        raise RuntimeError(f"sextantd does not start: {''.join(said).strip()}")

    def close(self) -> None:
        """Ends it, and waits for that. In a child by fork it does nothing."""
        if os.getpid() != self._owner:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Client(sextant.Client):
    """A client of a planner of its own. Use it as a context, or close() it."""

    def __init__(self, *, timeout: Optional[float] = 120) -> None:
        self.server = Server()
        super().__init__(self.server.address, timeout=timeout)

    def __enter__(self) -> Client:
        return self

    def close(self) -> None:
        """Ends the planner."""
        super().close()
        self.server.close()
