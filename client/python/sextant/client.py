"""The client: plans by keywords, over HTTP."""
from __future__ import annotations

import asyncio
import shlex
import threading
from typing import (TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union,
                    cast)

from .connection import AsyncCalls, Calls
from .fields import COUNT_FIELDS, PLAN_FIELDS, SIZE_CLUSTER_FIELDS
from .plans import Plan
from .raw import AsyncRaw, Raw
from .request import combinations, has, request_of, start_now, value_of

if TYPE_CHECKING:
    from datetime import timedelta

    from typing_extensions import Unpack

    from . import types
    from .fields import CountFields, PlanFields, SizeClusterFields

METHODS = ("full", "lora", "qlora")


class Admission:
    """Admit's verdict: "FITS", "TIGHT", "DOES_NOT_FIT" or "UNKNOWN", which is doubt."""

    def __init__(self, raw: types.AdmitResponse) -> None:
        self.raw = raw
        self.verdict = str(raw.get("verdict", "VERDICT_UNKNOWN"))[len("VERDICT_"):]
        self.message = raw.get("message", "")
        self.change = raw.get("change", "")
        self.layout: Dict[str, str] = dict(raw.get("layout", {}))
        limit = raw.get("timeLimit")
        self.time_limit_seconds = None if limit is None else float(limit.rstrip("s"))

    def __repr__(self) -> str:
        return f"<Admission {self.message}>"


class Client:
    """Plans runs. Keywords are the flags of `sextant plan`, `-` written as `_`: docs/plan.md has
    all of them. `raw` has every call of the API. Arguments are those of `Calls`; threads may share
    a client."""

    def __init__(self, address: Optional[str] = None, *, token: Optional[str] = None,
                 ca_file: Optional[str] = None, certificate_file: Optional[str] = None,
                 key_file: Optional[str] = None, timeout: Optional[float] = 120) -> None:
        self.calls = Calls(address, token=token, ca_file=ca_file, certificate_file=certificate_file,
                           key_file=key_file, timeout=timeout)
        self.raw = Raw(self.calls)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections; a later call opens one again."""
        self.calls.close()

    def plan(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
             **fields: Unpack[PlanFields]) -> Plan:
        """Plans one run. With a batch and no layout, a search chooses one."""
        return self._plan(_run_of(model, fields), timeout)

    def search(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
               **fields: Unpack[PlanFields]) -> Plan:
        """Plans the fastest of all layouts that fit: `plan` with search="exhaustive"."""
        request = _run_of(model, fields)
        request["options"].setdefault("search", "LAYOUT_SEARCH_EXHAUSTIVE")
        return self._plan(request, timeout)

    def memory(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
               **fields: Unpack[PlanFields]) -> Plan:
        """What each device holds, whatever the number of tokens."""
        request = _run_of(model, fields)
        request.setdefault("training", {}).setdefault("tokenCount", "1")
        even = has(request, "model", "parameterCount") or has(request, "training",
                                                              "activationBytes")
        if not even:  # else state is shared evenly
            request.setdefault("layout", {})
        return self._plan(request, timeout)

    def _plan(self, request: Dict[str, Any], timeout: Optional[float]) -> Plan:
        answer = self.raw.plan_run(cast("types.PlanRunRequest", request), timeout)
        return Plan(answer.get("plan", {}), answer, request)

    def compare(self, model: Optional[str] = None, *, each: Mapping[str, Iterable[Any]],
                timeout: Optional[float] = None, **fields: Unpack[PlanFields]) -> List[Plan]:
        """Plans all combinations of `each`, {"tp": [1, 2, 4]}, the last keyword's values changing
        fastest. A run that can't be planned has an `error`."""
        runs = []
        for row in combinations(each):
            given: Dict[str, Any] = {"model": model, **fields, **row}
            runs.append(_run_of(given.pop("model"), given, view="PLAN_VIEW_BASIC"))
        return self._batch(runs, timeout)

    def finetune(self, model: Optional[str] = None, *, method: Optional[str] = None,
                 timeout: Optional[float] = None, **fields: Unpack[PlanFields]) -> Dict[str, Plan]:
        """Plans of full fine-tuning, LoRA and QLoRA; `method` names one alone. What is left out is
        filled in as `sextant finetune` does (docs/sizing.md has the sources)."""
        names = METHODS if method is None else (method,)
        if not set(names) <= set(METHODS):
            raise ValueError(f"method={method!r}: write one of {', '.join(METHODS)}")
        runs = [_finetuning(name, _run_of(model, fields, view="PLAN_VIEW_BASIC")) for name in names]
        return dict(zip(names, self._batch(runs, timeout)))

    def _batch(self, runs: List[Dict[str, Any]], timeout: Optional[float]) -> List[Plan]:
        batch = cast("types.BatchPlanRunsRequest", {"runs": runs})
        answers = self.raw.batch_plan_runs(batch, timeout).get("runs", [])
        return [Plan(answer.get("plan", {}), answer, run,
                     answer.get("status", {}).get("message", ""))
                for run, answer in zip(runs, answers)]

    def count(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
              **fields: Unpack[CountFields]) -> types.CountModelResponse:
        """Counts a model's parameters and FLOPs."""
        request = request_of(COUNT_FIELDS, model, fields)
        return self.raw.count_model(cast("types.CountModelRequest", request), timeout)

    def size_cluster(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
                     **fields: Unpack[SizeClusterFields]) -> Plan:
        """The plan on the fewest devices, or the cheapest (`objective`): `device_count` has them.
        `products` is [{"accelerator": ..., "deviceHourPriceUsd": ...}]; `raw` has all of them.
        Where none meets the limits it is the nearest miss, which does not fit."""
        request = request_of(SIZE_CLUSTER_FIELDS, model, fields)
        start_now(request.setdefault("run", {}))
        answer = self.raw.size_cluster(cast("types.SizeClusterRequest", request), timeout)
        clusters = answer.get("clusters", [])
        best = answer.get("best")
        planned = [each for each in clusters if "plan" in each]
        chosen = clusters[best] if best is not None else planned[0] if planned else {}
        refusals = [each.get("status", {}).get("message", "") for each in clusters]
        return Plan(chosen.get("plan", {}), answer, request.get("run"),
                    "" if chosen else "; ".join(filter(None, refusals)) or "no plan",
                    chosen.get("met", False))

    def admit(self, words: Union[str, Sequence[str]], *, devices: Optional[int] = None,
              accelerator: str = "", node_type: str = "", scheduler: str = "other",
              job_name: str = "", user: str = "",
              budget: Union[str, float, timedelta, None] = None,
              timeout: Optional[float] = None) -> Admission:
        """Judges a job of which the words are the user's (docs/admit.md): a text as a shell reads
        it, or its words."""
        request: types.AdmitRequest = {
            "words": words if isinstance(words, str) else " ".join(map(shlex.quote, words)),
            "accelerator": accelerator, "nodeType": node_type,
            "caller": {"scheduler": cast("types.AdmitCaller_Scheduler",
                                         f"SCHEDULER_{scheduler.upper()}"),
                       "jobName": job_name, "user": user}}
        if devices is not None:
            request["deviceCount"] = devices
        if budget is not None:
            request["budget"] = value_of(budget, "duration")
        return Admission(self.raw.admit(request, timeout))


def _run_of(model: Optional[str], fields: Mapping[str, Any],
            view: str = "PLAN_VIEW_FULL") -> Dict[str, Any]:
    request = request_of(PLAN_FIELDS, model, fields)
    start_now(request)
    request.setdefault("options", {}).setdefault("view", view)
    return request


def _finetuning(method: str, run: Dict[str, Any]) -> Dict[str, Any]:
    """The run by a method, with the defaults of `sextant finetune`."""
    run.setdefault("training", {}).setdefault("sequenceLength", "1024")
    layout = run.setdefault("layout", {})
    devices = int(run.get("cluster", {}).get("deviceCount", 0))
    if "globalBatchSize" not in layout and devices:
        layout["globalBatchSize"] = str(8 * devices)
    layout.setdefault("framework", {}).setdefault("kind", "KIND_DEEPSPEED")
    changes = run.setdefault("model", {}).setdefault("changes", {})
    changes["baseFrozen"] = method != "full"
    if method == "full":
        changes.pop("adapters", None)
    else:
        adapters = changes.setdefault("adapters", {})
        adapters.setdefault("rank", "16")
        adapters.setdefault("targets", ["all-linear"])
    given = {"parallel", "sharding", "contextParallelSize", "microBatchSize"} & set(layout)
    if not given and "measuredStep" not in run:
        run["options"].setdefault("search", "LAYOUT_SEARCH_EXHAUSTIVE")
    storage = layout.setdefault("storage", {})
    if method == "qlora" and "frozenDataType" not in storage:
        storage["frozenDataType"] = "DATA_TYPE_FP4"
        storage.setdefault("frozenBlockSize", "64")
        storage["doubleQuantization"] = True
    elif method != "qlora":
        for name in ("frozenDataType", "frozenBlockSize", "doubleQuantization"):
            storage.pop(name, None)
    return run


class AsyncClient:
    """A `Client` for asyncio. Its calls are awaited; they run in threads, on kept connections."""

    def __init__(self, address: Optional[str] = None, *, token: Optional[str] = None,
                 ca_file: Optional[str] = None, certificate_file: Optional[str] = None,
                 key_file: Optional[str] = None, timeout: Optional[float] = 120) -> None:
        self.client = Client(address, token=token, ca_file=ca_file,
                             certificate_file=certificate_file, key_file=key_file, timeout=timeout)
        self.raw = AsyncRaw(AsyncCalls(self.client.calls))

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """As Client's."""
        self.client.close()

    async def plan(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
                   **fields: Unpack[PlanFields]) -> Plan:
        """As Client's."""
        return await asyncio.to_thread(self.client.plan, model, timeout=timeout, **fields)

    async def search(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
                     **fields: Unpack[PlanFields]) -> Plan:
        """As Client's."""
        return await asyncio.to_thread(self.client.search, model, timeout=timeout, **fields)

    async def memory(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
                     **fields: Unpack[PlanFields]) -> Plan:
        """As Client's."""
        return await asyncio.to_thread(self.client.memory, model, timeout=timeout, **fields)

    async def compare(self, model: Optional[str] = None, *, each: Mapping[str, Iterable[Any]],
                      timeout: Optional[float] = None, **fields: Unpack[PlanFields]) -> List[Plan]:
        """As Client's."""
        return await asyncio.to_thread(self.client.compare, model, each=each, timeout=timeout,
                                       **fields)

    async def finetune(self, model: Optional[str] = None, *, method: Optional[str] = None,
                       timeout: Optional[float] = None,
                       **fields: Unpack[PlanFields]) -> Dict[str, Plan]:
        """As Client's."""
        return await asyncio.to_thread(self.client.finetune, model, method=method, timeout=timeout,
                                       **fields)

    async def count(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
                    **fields: Unpack[CountFields]) -> types.CountModelResponse:
        """As Client's."""
        return await asyncio.to_thread(self.client.count, model, timeout=timeout, **fields)

    async def size_cluster(self, model: Optional[str] = None, *, timeout: Optional[float] = None,
                           **fields: Unpack[SizeClusterFields]) -> Plan:
        """As Client's."""
        return await asyncio.to_thread(self.client.size_cluster, model, timeout=timeout, **fields)

    async def admit(self, words: Union[str, Sequence[str]], *, devices: Optional[int] = None,
                    accelerator: str = "", node_type: str = "", scheduler: str = "other",
                    job_name: str = "", user: str = "",
                    budget: Union[str, float, timedelta, None] = None,
                    timeout: Optional[float] = None) -> Admission:
        """As Client's."""
        return await asyncio.to_thread(
            self.client.admit, words, devices=devices, accelerator=accelerator,
            node_type=node_type, scheduler=scheduler, job_name=job_name, user=user, budget=budget,
            timeout=timeout)


_default: Optional[Client] = None
_default_lock = threading.Lock()


def default_client() -> Client:
    """The client of the module's functions: the planner at $SEXTANT_HTTP_ADDRESS, else at
    127.0.0.1:9464."""
    global _default
    with _default_lock:
        if _default is None:
            _default = Client()
        return _default
