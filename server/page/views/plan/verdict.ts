// Whether the run fits: the verdict, its chance, and the interval of its memory against what a
// device has.

import { scaleLinear } from "d3-scale";
import type { PlanJson } from "api/plan_pb";

import { h, svg, type Children } from "../../dom";
import { gib, gibText, grouped, percent } from "../../numbers";
import { axis, canvas, line, picture, rectangle, words } from "../../picture/picture";
import type { Figures } from "./figures";

interface State {
  state: string;
  words: string;
  sign: string;
  says: string;
}

// Colours and signs differ, and so do the words.
const STATES: Record<string, State> = {
  VERDICT_FITS: {
    state: "fits",
    words: "Fits",
    sign: "M3 9l4 4 8-9",
    says: "A device holds what the run takes.",
  },
  VERDICT_TIGHT: {
    state: "tight",
    words: "Tight",
    sign: "M2 7q3.5-4 7 0t7 0M2 12q3.5-4 7 0t7 0",
    says: "It may fit, and it may not.",
  },
  VERDICT_DOES_NOT_FIT: {
    state: "not",
    words: "Does not fit",
    sign: "M4 4l10 10M14 4L4 14",
    says: "A device does not hold what the run takes.",
  },
  VERDICT_STATE_FITS: {
    state: "state",
    words: "State fits",
    sign: "M3 9h12",
    says:
      "Weights, gradients and optimizer state fit, shared evenly. Activations are not counted: " +
      "give the sequences of a step to have a layout searched for.",
  },
};

export function stateOf(plan: PlanJson): State {
  return (
    STATES[plan.verdict ?? ""] ?? {
      state: "state",
      words: plan.verdict ?? "Unknown",
      sign: "",
      says: "",
    }
  );
}

function gauge(plan: PlanJson, width: number): SVGElement {
  const memory = plan.memory!;
  const [expected, low, high] = (["expected", "low", "high"] as const).map(
    (end) => Number(memory.peakBytes?.[end] ?? 0) / 2 ** 30,
  ) as [number, number, number];
  const usable = Number(memory.capacity?.usableBytes ?? 0) / 2 ** 30;
  const scale = scaleLinear([0, Math.max(usable, high) * 1.08], [0, width - 1]);
  const limit = scale(usable);
  const state = stateOf(plan).state;
  const end = limit > width / 2;
  return canvas(
    width,
    78,
    rectangle("room", 0, 24, limit, 30),
    rectangle("beyond", limit, 24, width - limit, 30),
    rectangle(`range ${state}`, scale(low), 28, Math.max(scale(high) - scale(low), 2), 22),
    line("expected", scale(expected), 24, scale(expected), 54),
    line("limit", limit, 16, limit, 58),
    words(
      "limit-label",
      limit + (end ? -4 : 4),
      14,
      `${gib(usable * 2 ** 30)} GiB usable`,
      end ? "end" : "start",
    ),
    ...axis(scale, scale.ticks(Math.max(2, Math.floor(width / 110))), 58, 54, "GiB"),
  );
}

// The peak is a sum of a stage's table, and the chance a rule (docs/memory.md).
function explain(plan: PlanJson, figures: Figures): void {
  const memory = plan.memory;
  const fullest = memory?.stages?.[Number(memory.peakStage ?? 0)];
  if (!memory?.peakBytes || !fullest) return;
  figures.explain({
    symbol: "memory.peak_bytes.expected",
    unit: "byte",
    formula: `sum of what stage ${memory.peakStage ?? 0} holds at its peak, by kind`,
    substitution: (fullest.sums ?? []).map((each) => each.sizeBytes ?? "0").join(" + "),
    value: memory.peakBytes.expected,
  });
  figures.explain({
    symbol: "fit_chance",
    value: plan.fitChance,
    formula:
      "the chance that memory.peak_bytes is at most memory.capacity.usable_bytes: half of a " +
      "normal distribution on each side of what is expected, of which the interval holds 80 %",
  });
}

export function verdict(plan: PlanJson, figures: Figures): Children {
  explain(plan, figures);
  const { state, words: word, sign, says } = stateOf(plan);
  const memory = plan.memory;
  const peak = memory?.peakBytes;
  const usable = Number(memory?.capacity?.usableBytes ?? 0);
  const chance = plan.fitChance;
  const isRange = peak !== undefined && peak.low !== peak.high;
  const headroom = Number(memory?.headroomBytes?.expected ?? 0);
  const ends = isRange ? ` (${gib(Number(peak.low))} to ${gib(Number(peak.high))})` : "";
  const host = memory?.host?.decidesVerdict ? "Host memory decides. " : "";
  const sentence = `${gibText(Number(peak?.expected ?? 0))}${ends} of ${gibText(usable)} usable`;
  return h(
    "section",
    { class: `card verdict ${state}`, "aria-labelledby": "verdict" },
    h(
      "div",
      { class: "verdict-head" },
      svg(
        "svg",
        { class: "sign", viewBox: "0 0 18 18", width: 34, height: 34, "aria-hidden": true },
        svg("path", { d: sign }),
      ),
      h(
        "div",
        {},
        h("h2", { id: "verdict", tabindex: -1 }, word),
        h(
          "p",
          { class: "run" },
          plan.modelName,
          " on ",
          grouped(Number(plan.deviceCount ?? 0)),
          " × ",
          plan.device,
        ),
      ),
      chance !== undefined &&
        h(
          "p",
          { class: "chance" },
          h("b", {}, figures.figure("fit_chance", chance, percent(Number(chance), 0))),
          " chance that it fits",
        ),
    ),
    h("p", {}, host, says),
    memory && picture(`Memory of a device: ${sentence}`, (width) => gauge(plan, width)),
    h(
      "p",
      { class: "reading" },
      figures.figure(
        "memory.peak_bytes.expected",
        peak?.expected,
        gibText(Number(peak?.expected ?? 0)),
      ),
      isRange ? [ends, ", four times in five, "] : " ",
      memory?.peakStage !== undefined
        ? `on stage ${memory.peakStage}, which holds the most; `
        : "an even share; ",
      figures.figure("memory.capacity.usable_bytes", usable, gibText(usable)),
      " usable: ",
      gibText(Math.abs(headroom)),
      headroom < 0 ? " short." : " to spare.",
    ),
  );
}
