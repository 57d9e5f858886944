"""A plan as an object, and as a notebook shows it."""
from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, cast

from .fields import ENUMS, PLAN_FIELDS

if TYPE_CHECKING:
    from . import types

# Of one hue each, told apart by lightness too.
_COLOURS = ("#1f77b4", "#e6862c", "#2a9d5c", "#c23b3b", "#8a63b8", "#8c6d4a", "#d678b4", "#7f7f7f",
            "#b5a91f", "#17a2b8", "#5a6fd6", "#9ccc65", "#f2b134", "#ad4f6c", "#4db6ac", "#90a4ae")
_STYLE = '<div style="font-family:sans-serif;font-size:13px;max-width:46em">'
_VERDICT_COLOURS = {"VERDICT_FITS": "#2a9d5c", "VERDICT_TIGHT": "#b7791f",
                    "VERDICT_DOES_NOT_FIT": "#c23b3b"}


class Plan:
    """A planned run. `raw` is the whole answer; `error` says why there is no plan, where one of
    several runs has none."""

    def __init__(self, plan: Mapping[str, Any], raw: Mapping[str, Any],
                 request: Optional[Mapping[str, Any]] = None, error: str = "",
                 met: bool = True) -> None:
        self.plan = cast("types.Plan", plan)
        self.raw: Dict[str, Any] = dict(raw)
        self.error = error
        self._request = request or {}
        self._met = met

    @property
    def verdict(self) -> str:
        """"FITS", "TIGHT", "DOES_NOT_FIT", or "STATE_FITS" where state alone was counted."""
        return str(self.plan.get("verdict", "VERDICT_UNSPECIFIED"))[len("VERDICT_"):]

    @property
    def fits(self) -> bool:
        """Whether the verdict is FITS, and SizeCluster's limits are met."""
        return self._met and self.verdict == "FITS"

    @property
    def device_count(self) -> int:
        """The devices of the run."""
        return int(self.plan.get("deviceCount", 0))

    @property
    def step_seconds(self) -> Optional[float]:
        """The time of a step; None where it was not predicted."""
        return _expected(self.plan.get("stepTime", {}).get("seconds"))

    @property
    def peak_bytes(self) -> Optional[float]:
        """The peak of a device's memory; None without a plan."""
        return _expected(self.plan.get("memory", {}).get("peakBytes"))

    @property
    def cost_usd(self) -> Optional[float]:
        """What the run costs by its predicted time, else by the first estimate that has a price;
        None without one."""
        priced = [each for each in self.plan.get("estimates", []) if "costUsd" in each]
        priced.sort(key=lambda each: each.get("kind") != "ESTIMATE_KIND_PREDICTED")
        return priced[0]["costUsd"] if priced else None

    @property
    def layout(self) -> types.RunLayout:
        """The layout that a search chose, else the request's."""
        chosen = self.plan.get("search", {}).get("chosen", {}).get("layout")
        return chosen if chosen is not None else self._request.get("layout", {})

    @property
    def changes(self) -> List[types.FittingChange]:
        """What would make it fit, the cheapest first."""
        return self.plan.get("memory", {}).get("changes", [])

    def __repr__(self) -> str:
        if self.error:
            return f"<Plan: {self.error}>"
        return f"<Plan {self._line()}>"

    def _line(self) -> str:
        parts = [f"{self.verdict.replace('_', ' ')}: {self.plan.get('modelName', '')}, "
                 f"{self.device_count} x {self.plan.get('device', '')}"]
        if self.peak_bytes is not None:
            usable = self._usable()
            parts.append(_gib(self.peak_bytes) + (f" of {_gib(usable)}" if usable else ""))
        if self.step_seconds is not None:
            parts.append(f"{self.step_seconds:.3g} s a step")
        if self.cost_usd is not None:
            parts.append(f"{self.cost_usd:,.0f} USD")
        return "; ".join(parts)

    def _usable(self) -> float:
        return float(self.plan.get("memory", {}).get("capacity", {}).get("usableBytes", 0))

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, memory of each stage, time by cause."""
        if self.error:
            return f"{_STYLE}<b>no plan:</b> {html.escape(self.error)}</div>"
        colour = _VERDICT_COLOURS.get(f"VERDICT_{self.verdict}", "#7f7f7f")
        head, _, rest = self._line().partition(":")
        out = [_STYLE,
               f'<div style="margin:.4em 0"><b style="background:{colour};color:#fff;'
               f'padding:.1em .5em;border-radius:3px">{html.escape(head)}</b>'
               f'{html.escape(rest)}</div>', self._memory_html(), self._time_html()]
        for change in self.changes[:1]:
            words = " and ".join(_change_text(each) for each in change.get("settings", []))
            peak = _expected(change.get("peakBytes"))
            after = "" if peak is None else f": {_gib(peak)}"
            out.append(f'<div style="margin-top:.6em">Fits with {html.escape(words + after)}</div>')
        return "".join(out) + "</div>"

    def _memory_html(self) -> str:
        memory = self.plan.get("memory", {})
        rows = [(f"stage {stage.get('stage', 0)}", [
            (_words(part.get("kind", ""), "LEDGER_KIND_"), float(part.get("sizeBytes", 0)))
            for part in stage.get("sums", [])]) for stage in memory.get("stages", [])]
        if not rows and self.peak_bytes is not None:
            rows = [("peak", [("memory", self.peak_bytes)])]
        title = "Memory of a device"
        if len(rows) > 8:
            title += f": the first, fullest and last of {len(rows)} stages"
            full = int(memory.get("peakStage", 0))
            rows = [rows[index] for index in sorted({0, full, len(rows) - 1})]
        return _bars(title, rows, self._usable(), _gib)

    def _time_html(self) -> str:
        parts = [(_words(part.get("cause", ""), "STEP_CAUSE_"), part.get("seconds", 0.0))
                 for part in self.plan.get("stepTime", {}).get("parts", [])]
        return _bars("Time of a step", [("", parts)] if parts else [], 0, _seconds)


def _expected(interval: Any) -> Optional[float]:
    return None if not interval else float(interval.get("expected", 0))


def _gib(size: float) -> str:
    return f"{size / 2**30:.2f} GiB"


def _seconds(time: float) -> str:
    return f"{time:.3g} s" if time >= 1 else f"{1000 * time:.3g} ms"


def _words(name: str, prefix: str) -> str:
    return name[len(prefix):].lower().replace("_", " ") if name.startswith(prefix) else name


def _change_text(setting: Mapping[str, Any]) -> str:
    """'zero="optimizer" (now "none")': as a keyword takes it."""
    path = setting.get("field", "")
    json_path = tuple(re.sub("_(.)", lambda found: found[1].upper(), part)
                      for part in path.split("."))
    names = [name for name, field in PLAN_FIELDS.items() if field.path == json_path]
    form = PLAN_FIELDS[names[-1]].form if names else ""
    prefix = ENUMS[form[5:]][0][:-len("UNSPECIFIED")] if form.startswith("enum:") else ""

    def text_of(value: Mapping[str, Any]) -> str:
        inside = next(iter(value.values()), "")
        if "number" in value:
            return str(inside)
        return f'"{_words(inside, prefix)}"' if prefix else repr(inside)

    return (f"{names[-1] if names else path}={text_of(setting.get('newValue', {}))} "
            f"(now {text_of(setting.get('oldValue', {}))})")


def _bars(title: str, rows: List[Tuple[str, List[Tuple[str, float]]]], limit: float,
          text_of: Any) -> str:
    """Stacked bars of one scale, a line at `limit`, and a legend with each part's largest."""
    if not rows:
        return ""
    whole = max([limit * 1.02, *(sum(size for _, size in parts) for _, parts in rows)]) or 1
    names = list(dict.fromkeys(name for _, parts in rows for name, size in parts if size > 0))
    colours = {name: _COLOURS[index % len(_COLOURS)] for index, name in enumerate(names)}
    out = [f'<div style="margin-top:.6em"><b>{html.escape(title)}</b></div>']
    for label, parts in rows:
        pieces = "".join(
            f'<div title="{html.escape(name)}: {text_of(size)}" style="width:'
            f'{100 * size / whole:.3f}%;background:{colours[name]}"></div>'
            for name, size in parts if size > 0)
        line = "" if not limit else (
            f'<div style="position:absolute;left:{100 * limit / whole:.3f}%;top:-2px;bottom:-2px;'
            'border-left:2px solid currentColor"></div>')
        total = text_of(sum(size for _, size in parts))
        out.append(
            '<div style="display:flex;align-items:center;margin:3px 0">'
            f'<div style="width:5em">{html.escape(label)}</div>'
            '<div style="flex:1;position:relative;display:flex;height:16px;background:#8883">'
            f'{pieces}{line}</div><div style="width:7em;text-align:right">{total}</div></div>')
    most = {name: max(size for _, parts in rows for each, size in parts if each == name)
            for name in names}
    out.append("<div>" + ("most of each: " if len(rows) > 1 else "") + " ".join(
        f'<span style="white-space:nowrap;margin-right:1em"><span style="display:inline-block;'
        f'width:.8em;height:.8em;background:{colours[name]}"></span> {html.escape(name)} '
        f'{text_of(most[name])}</span>' for name in names))
    if limit:
        out.append(f'<span style="white-space:nowrap">| usable {text_of(limit)}</span>')
    return "".join(out) + "</div>"
