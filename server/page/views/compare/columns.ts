// Plans side by side: what their runs differ in, what they take, and their layouts.

import type { IntervalJson } from "api/interval_pb";
import type { PlanJson, TimeEstimateJson } from "api/plan_pb";

import { add, h, type Children } from "../../dom";
import { labelOf, shownValue } from "../../form/fields";
import { isUsual, layoutWords } from "../../layout_words";
import {
  durationUnit,
  energyText,
  gib,
  gibText,
  grouped,
  inUnit,
  percent,
  threeDigits,
  timeUnit,
  type Unit,
} from "../../numbers";
import type { Page } from "../../page";
import { differences, get, type Run } from "../../run";
import { basisOf } from "../plan/costs";
import { stateOf } from "../plan/verdict";

export interface Column {
  name: string;
  run: Run;
  isForm: boolean; // it is what the form has
  plan?: PlanJson;
  wrong?: string; // why there is no plan
}

// A figure of plans, by its name in the answer.
interface Figure {
  title: string;
  symbol: string;
  of: (plan: PlanJson, basis: TimeEstimateJson | undefined) => unknown;
  text: (value: number, most: number) => string;
  interval?: (plan: PlanJson, basis: TimeEstimateJson | undefined) => IntervalJson | undefined;
  end?: (value: number, most: number) => string; // of the interval
  best: "least" | "most";
}

const inOne = (unit: (seconds: number) => Unit) => ({
  text: (value: number, most: number) => inUnit(value, unit(most)),
  end: (value: number, most: number) => threeDigits(value / unit(most).factor),
});

const FIGURES: Figure[] = [
  {
    title: "Memory of a device",
    symbol: "memory.peak_bytes.expected",
    of: (plan) => plan.memory?.peakBytes?.expected,
    text: gibText,
    interval: (plan) => plan.memory?.peakBytes,
    end: gib,
    best: "least",
  },
  {
    title: "A step",
    symbol: "step_time.seconds.expected",
    of: (plan) => plan.stepTime?.seconds?.expected,
    ...inOne(timeUnit),
    interval: (plan) => plan.stepTime?.seconds,
    best: "least",
  },
  {
    title: "The run",
    symbol: "elapsed_seconds.expected",
    of: (_, basis) => basis?.elapsedSeconds?.expected,
    ...inOne(durationUnit),
    interval: (_, basis) => basis?.elapsedSeconds,
    best: "least",
  },
  {
    title: "Money",
    symbol: "cost_usd",
    of: (_, basis) => basis?.costUsd,
    text: (value) => `$${grouped(value)}`,
    best: "least",
  },
  {
    title: "Energy",
    symbol: "energy_joules",
    of: (_, basis) => basis?.energyJoules,
    text: energyText,
    best: "least",
  },
  {
    title: "Device-hours",
    symbol: "device_hours",
    of: (_, basis) => basis?.deviceHours,
    text: (value) => grouped(value),
    best: "least",
  },
  {
    title: "Tokens a second",
    symbol: "tokens_per_second",
    of: (_, basis) => basis?.tokensPerSecond,
    text: (value) => grouped(value),
    best: "most",
  },
  {
    title: "Model FLOPs utilisation",
    symbol: "mfu",
    of: (_, basis) => basis?.mfu,
    text: (value) => percent(value),
    best: "most",
  },
];

// A row, marked where its cells are not all the same.
function row(title: Children, differs: boolean, cells: HTMLElement[]): HTMLElement {
  return h(
    "tr",
    { class: differs && "differs" },
    h("th", { scope: "row" }, title, differs && h("span", { class: "offscreen" }, " (differs)")),
    cells,
  );
}

function figureRow(figure: Figure, columns: Column[]): Children {
  const values = columns.map(({ plan }) => {
    const value = plan && figure.of(plan, basisOf(plan));
    return value === undefined ? NaN : Number(value);
  });
  const known = values.filter((value) => !Number.isNaN(value));
  if (known.length === 0) return "";
  const most = Math.max(...known);
  const fitting = values.filter((_, i) => columns[i]!.plan && fits(columns[i]!.plan!));
  const best = Math[figure.best === "least" ? "min" : "max"](
    ...fitting.filter((value) => !Number.isNaN(value)),
  );
  const differs = known.length < columns.length || known.some((value) => value !== known[0]);
  return row(
    figure.title,
    differs,
    values.map((value, i) => {
      const { plan } = columns[i]!;
      if (!plan || Number.isNaN(value)) return h("td", {}, "—");
      const interval = figure.interval?.(plan, basisOf(plan));
      const change = value / values[0]! - 1;
      return h(
        "td",
        { "data-symbol": figure.symbol, "data-value": String(value) },
        h("b", {}, figure.text(value, most)),
        differs &&
          known.length > 1 &&
          value === best && [" ", h("span", { class: "badge" }, figure.best)],
        interval &&
          interval.low !== interval.high &&
          h(
            "div",
            { class: "below" },
            `${figure.end!(Number(interval.low), most)} to `,
            figure.end!(Number(interval.high), most),
          ),
        i > 0 &&
          differs &&
          Number.isFinite(change) &&
          h("div", { class: "below" }, changeWords(change, columns[0]!.name)),
      );
    }),
  );
}

const fits = (plan: PlanJson): boolean =>
  plan.verdict === "VERDICT_FITS" || plan.verdict === "VERDICT_STATE_FITS";

// "+4.1 % to A", "22.3 × A".
function changeWords(change: number, to: string): string {
  if (change > 2) return `${threeDigits(1 + change)} × ${to}`;
  return `${change < 0 ? "−" : "+"}${percent(Math.abs(change))} to ${to}`;
}

function verdictRow(columns: Column[]): HTMLElement {
  const cells = columns.map(({ plan, wrong }) => {
    if (!plan) return h("td", { class: "wrong" }, wrong);
    const { state, words } = stateOf(plan);
    return h(
      "td",
      { class: `outcome ${state}` },
      h("b", {}, words),
      plan.fitChance !== undefined &&
        h("div", { class: "below" }, `${percent(Number(plan.fitChance), 0)} chance`),
    );
  });
  const verdicts = new Set(columns.map(({ plan }) => plan?.verdict));
  return row("Verdict", verdicts.size > 1, cells);
}

function layoutRows(columns: Column[]): HTMLElement[] {
  const layouts = columns.map(({ plan, run }) => {
    if (plan?.memory?.peakStage === undefined) return new Map<string, string>();
    const sharding = { ...run.layout?.sharding, zeroStage: plan.memory.zeroStage };
    const given = { layout: { ...run.layout, sharding }, recompute: run.training?.recompute };
    return new Map(layoutWords(plan.search?.chosen ?? given));
  });
  const names = new Set(
    layouts.flatMap((each) => [...each].filter((one) => !isUsual(one))).map(([name]) => name),
  );
  return [...names].map((name) => {
    const cells = layouts.map((each) => each.get(name) ?? "—");
    return row(
      name,
      cells.some((each) => each !== cells[0]),
      cells.map((each) => h("td", {}, each)),
    );
  });
}

function head(column: Column, i: number, page: Page): HTMLElement {
  const { name, plan, isForm } = column;
  const isKept = i < page.kept().length;
  const small = (words: string, label: string, click: () => void): HTMLElement =>
    h("button", { type: "button", class: "small", "aria-label": label, click }, words);
  return h(
    "th",
    { scope: "col" },
    h("b", {}, name),
    isForm && name !== "Form" && " (in the form)",
    plan &&
      h("div", { class: "below" }, `${plan.modelName} on ${plan.deviceCount} × ${plan.device}`),
    h(
      "div",
      { class: "way" },
      !isForm &&
        small("Edit", `Edit ${name} in the form`, () =>
          page.change(column.run, `${name} is in the form.`),
        ),
      isKept &&
        small("Remove", `Remove ${name}`, () =>
          page.keep(
            page.kept().filter((_, other) => other !== i),
            `${name} is removed.`,
          ),
        ),
    ),
  );
}

export function comparison(columns: Column[], page: Page): HTMLElement {
  const runs = columns.map((each) => each.run);
  const body = (title: string, rows: Children): Children => {
    const all = h("tbody", {});
    add(all, rows);
    if (all.childElementCount === 0) return "";
    all.prepend(
      h(
        "tr",
        { class: "group" },
        h("th", { scope: "colgroup", colspan: columns.length + 1 }, title),
      ),
    );
    return all;
  };
  return h(
    "section",
    { class: "card", "aria-labelledby": "compared" },
    h("h2", { id: "compared", tabindex: -1 }, "Side by side"),
    h(
      "table",
      { class: "versus" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("td", {}),
          columns.map((each, i) => head(each, i, page)),
        ),
      ),
      body(
        "What the runs differ in",
        differences(runs).map((path) =>
          row(
            labelOf(path),
            true,
            runs.map((run) => h("td", {}, shownValue(path, get(run, path)))),
          ),
        ),
      ),
      body("What they take", [
        verdictRow(columns),
        FIGURES.map((each) => figureRow(each, columns)),
      ]),
      body("Layouts", layoutRows(columns)),
    ),
  );
}
