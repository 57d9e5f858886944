"""Reports a job's progress to this host's sextantd (docs/fleet.md, "Live MFU"). Needs grpcio alone.

    progress = sextant.progress.Progress(model_flops_per_token=4.2e11)  # after set_device()
    for batch in loader:
        train(batch)
        progress.add(tokens_in_the_batches_of_all_processes)
    progress.close()

Every process does so for its own GPU. No call raises or waits for the network: a thread sends the
latest count every `interval` seconds. What goes wrong is logged where it changes, as "sextant".
"""
import logging
import os
import struct
import threading
import time
from typing import Any, List, Mapping, Optional, Union


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def field(number: int, value: Union[int, float, bytes]) -> bytes:
    """One field as protobuf encodes it; generated code would tie the job to one release of it."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def plan_field(plan: Mapping[str, Any]) -> bytes:
    plan = {name.replace("_", "").lower(): plan[name] for name in plan}  # planned_mfu, plannedMfu
    block = field(2, float(plan["modelflopspertoken"]))
    if plan.get("computedatatype") == "DATA_TYPE_BF16" and "plannedmfu" in plan:
        block += field(3, float(plan["plannedmfu"])) + field(5, 5)  # no other peak's MFU is shown
    return field(7, block)


def torch_device() -> str:
    from torch import cuda
    if not cuda.is_available():  # as in a build for processors, which has no properties of a GPU
        return "host"
    return "GPU-" + str(cuda.get_device_properties(cuda.current_device()).uuid).replace("GPU-", "")


class Progress:
    """Counts tokens from now on. `plan` is wholeRun.telemetry of `sextant plan --output=json`. The
    job's id and number of GPUs are by default Slurm's or torchrun's, the GPU torch's current."""
    def __init__(self, model_flops_per_token: Optional[float] = None,
                 plan: Optional[Mapping[str, Any]] = None, job_id: Optional[str] = None,
                 gpu_uuids: Optional[List[str]] = None, device_count: Optional[int] = None,
                 address: str = "127.0.0.1:50051", interval: float = 15) -> None:
        self.token_count, self._said, self._done = 0, "", threading.Event()
        self._thread = threading.Thread(target=self._run, args=[address, interval], daemon=True)
        try:
            env, now = os.environ, time.time_ns()
            ranks = device_count or env.get("WORLD_SIZE") or env.get("SLURM_NTASKS") or 1
            job_id = job_id or env.get("SLURM_JOB_ID") or env["TORCHELASTIC_RUN_ID"]
            self._fixed = b"".join([
                field(1, str(job_id).encode()),
                field(2, field(1, now // 10**9) + field(2, now % 10**9)),
                field(4, int(ranks)),
                plan_field(plan) if plan else field(6, float(model_flops_per_token or "none")),
                *(field(5, uuid.encode()) for uuid in gpu_uuids or [torch_device()])])
            self._thread.start()
        except Exception as error:  # whatever it is, training goes on
            self._say("no progress is reported: %r" % error)

    def add(self, tokens: int) -> None:
        try:
            self.token_count += tokens
        except Exception as error:
            self._say("tokens were not counted: %r" % error)

    def close(self) -> None:
        self._done.set()
        if self._thread.ident:
            self._thread.join(3)  # the last report

    def _run(self, address: str, interval: float) -> None:
        self._send(address)
        while not self._done.wait(interval):
            self._send(address)
        self._send(address)

    def _send(self, address: str) -> None:
        try:
            import grpc
            # A channel a report: gRPC has no threads in between, when data loaders fork.
            with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
                report = channel.unary_unary("/sextant.v1.TelemetryService/ReportProgress")
                answer = report(self._fixed + field(3, int(self.token_count)), timeout=2)
            if not answer.startswith(b"\x08\x01"):  # outcome: OUTCOME_COUNTED
                self._say("a report was ignored: ReportProgressResponse %r" % answer)
        except Exception as error:
            self._say("a report failed: %s" % getattr(error, "details", error.__repr__)())

    def _say(self, text: str) -> None:
        if text != self._said:
            logging.getLogger("sextant").warning(text)
        self._said = text
