// Days, money, energy: what the run takes.

import type { PlanJson, TimeEstimateJson } from "api/plan_pb";

import { h, type Children } from "../../dom";
import {
  durationText,
  durationUnit,
  energyText,
  grouped,
  inUnit,
  percent,
  scaled,
  threeDigits,
  timeUnit,
  type Unit,
} from "../../numbers";
import { tile } from "../../parts";
import type { Figures } from "./figures";
import { capital, wordsOf } from "./words";

interface Interval {
  expected?: unknown;
  low?: unknown;
  high?: unknown;
}

function ends(interval: Interval | undefined, unit: Unit): string {
  if (!interval || interval.low === interval.high) return "";
  return (
    `${threeDigits(Number(interval.low) / unit.factor)} to ` +
    `${threeDigits(Number(interval.high) / unit.factor)} ${unit.name}`
  );
}

// The estimate to plan by.
export function basisOf(plan: PlanJson): TimeEstimateJson | undefined {
  const kinds = [plan.wholeRun?.basis, "ESTIMATE_KIND_PREDICTED", "ESTIMATE_KIND_TEXTBOOK"];
  return kinds
    .map((kind) => plan.estimates?.find((each) => each.kind === kind))
    .find((each) => each);
}

interface Check {
  verdict?: string;
  margin?: unknown;
  chance?: unknown;
}

// "kept, 12.3 days to spare, chance 97 %".
function limit(
  name: string,
  check: Check | undefined,
  amount: (margin: number) => string,
): Children {
  if (!check) return "";
  const margin = Number(check.margin ?? 0);
  const met = check.verdict === "VERDICT_MET";
  const chance = check.chance === undefined ? "" : `, chance ${percent(Number(check.chance), 0)}`;
  return h(
    "p",
    { class: `limit-check ${met ? "fits" : "not"}` },
    h("b", {}, `${name} ${met ? "kept" : "missed"}`),
    `: ${amount(Math.abs(margin))} ${met ? "to spare" : "too much"}${chance}.`,
  );
}

// What a scheduler and a file system are told.
function wholeRun(plan: PlanJson, figures: Figures): Children {
  const run = plan.wholeRun;
  const rows: [string, Children][] = [];
  const bound = plan.estimates?.find((each) => each.kind === "ESTIMATE_KIND_LOWER_BOUND");
  if (bound) {
    const seconds = Number(bound.elapsedSeconds?.expected ?? 0);
    const symbol = "estimates.lower_bound.elapsed_seconds.expected";
    rows.push(["At full peak, at least", figures.figure(symbol, seconds, durationText(seconds))]);
  }
  if (run?.recommendedTimeLimitSeconds !== undefined) {
    const seconds = Number(run.recommendedTimeLimitSeconds);
    rows.push([
      "Time limit for the scheduler, within which nine runs in ten end",
      figures.figure("whole_run.recommended_time_limit_seconds", seconds, durationText(seconds)),
    ]);
  }
  if (run?.checkpoint?.sizeBytes !== undefined) {
    const bytes = Number(run.checkpoint.sizeBytes);
    rows.push([
      "A checkpoint",
      figures.figure("whole_run.checkpoint.size_bytes", bytes, scaled(bytes, "B")),
    ]);
  }
  if (run?.dataLoading?.tokenFileBytes !== undefined) {
    const bytes = Number(run.dataLoading.tokenFileBytes);
    const symbol = "whole_run.data_loading.token_file_bytes";
    rows.push(["A file of its tokens", figures.figure(symbol, bytes, scaled(bytes, "B"))]);
  }
  if (plan.parameters?.total !== undefined) {
    const total = Number(plan.parameters.total);
    rows.push(["Parameters", figures.figure("parameters.total", total, grouped(total))]);
  }
  return (
    rows.length > 0 &&
    h(
      "details",
      { "data-keep": "whole-run" },
      h("summary", {}, "The whole run"),
      h(
        "table",
        {},
        h(
          "tbody",
          {},
          rows.map(([name, value]) =>
            h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, value)),
          ),
        ),
      ),
    )
  );
}

export function costs(plan: PlanJson, figures: Figures): Children {
  const basis = basisOf(plan);
  if (!basis)
    return h(
      "section",
      { class: "card" },
      h("p", {}, "No rate of these devices is known: no time."),
    );
  const kind = (basis.kind ?? "").replace("ESTIMATE_KIND_", "").toLowerCase();
  const at = (field: string, value: unknown, text: string): HTMLElement =>
    figures.figure(`estimates.${kind}.${field}`, value, text);
  const elapsed = Number(basis.elapsedSeconds?.expected ?? 0);
  const days = durationUnit(elapsed);
  const step = plan.stepTime;
  const seconds = Number(step?.seconds?.expected ?? 0);
  const unit = timeUnit(seconds);
  return h(
    "section",
    { class: "card", "aria-labelledby": "costs" },
    h("h2", { id: "costs", tabindex: -1 }, "What it takes"),
    h(
      "dl",
      { class: "tiles" },
      tile(
        capital(wordsOf(basis.kind, "ESTIMATE_KIND_")),
        at("elapsed_seconds.expected", elapsed, inUnit(elapsed, days)),
        ends(basis.elapsedSeconds, days),
      ),
      step &&
        tile(
          "A step",
          figures.figure("step_time.seconds.expected", seconds, inUnit(seconds, unit)),
          ends(step.seconds, unit),
        ),
      basis.costUsd !== undefined &&
        tile("Money", at("cost_usd", basis.costUsd, `$${grouped(Number(basis.costUsd))}`)),
      basis.energyJoules !== undefined &&
        tile(
          "Energy",
          at("energy_joules", basis.energyJoules, energyText(Number(basis.energyJoules))),
        ),
      tile(
        "Device-hours",
        at("device_hours", basis.deviceHours, grouped(Number(basis.deviceHours ?? 0))),
      ),
      tile(
        "Tokens a second",
        at("tokens_per_second", basis.tokensPerSecond, grouped(Number(basis.tokensPerSecond ?? 0))),
      ),
      basis.mfu !== undefined &&
        tile("Model FLOPs utilisation", at("mfu", basis.mfu, percent(Number(basis.mfu)))),
      plan.wholeRun?.stepCount !== undefined &&
        tile(
          "Steps",
          figures.figure(
            "whole_run.step_count",
            plan.wholeRun.stepCount,
            grouped(Number(plan.wholeRun.stepCount)),
          ),
        ),
    ),
    limit("Budget", basis.budget, (margin) => `$${grouped(margin)}`),
    limit("Deadline", basis.deadline, durationText),
    wholeRun(plan, figures),
    basis.costUsd === undefined &&
      h("p", { class: "says" }, "No money: give the price of a device-hour."),
  );
}
