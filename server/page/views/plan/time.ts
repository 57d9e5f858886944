// The time of a step by cause, and where the rates come from that it stands on.

import type { PlanJson } from "api/plan_pb";
import type { RateUsedJson } from "api/rates_pb";

import { h, type Children } from "../../dom";
import { ageText, percent, timeText, timeUnit, withUnit } from "../../numbers";
import { bars, key, kindClass, picture } from "../../picture/picture";
import type { Figures } from "./figures";
import { capital, wordsOf } from "./words";

interface Sourced {
  source?: string;
  sourceNumber?: number;
  measuredTime?: string;
}

// The kind of a source, its age where it was measured, and the source itself.
function sourceCell(plan: PlanJson, from: Sourced): HTMLElement {
  const document = plan.sources?.[(from.sourceNumber ?? 0) - 1];
  const measured = (from.source ?? "").includes("MEASURED");
  return h(
    "td",
    {},
    h(
      "span",
      { class: measured ? "badge measured" : "badge" },
      capital(wordsOf(from.source, "RATE_SOURCE_")),
    ),
    from.measuredTime && ` ${ageText(from.measuredTime)}`,
    document && h("div", { class: "source" }, document),
  );
}

// Whose rates the step's time stands on, in a line: shares of kernels' time by kind of source.
function standsOn(plan: PlanJson): Children {
  const shares = new Map<string, { share: number; age: string }>();
  for (const each of plan.stepTime?.kernelSources ?? []) {
    const known = shares.get(each.source ?? "") ?? { share: 0, age: "" };
    shares.set(each.source ?? "", {
      share: known.share + Number(each.share ?? 0),
      age: each.measuredTime ? `, ${ageText(each.measuredTime)}` : known.age,
    });
  }
  return [...shares].map(([source, { share, age }]) => [
    h(
      "span",
      { class: source.includes("MEASURED") ? "badge measured" : "badge" },
      `${percent(share)} ${wordsOf(source, "RATE_SOURCE_")}${age}`,
    ),
    " ",
  ]);
}

export function time(plan: PlanJson, figures: Figures): Children {
  const step = plan.stepTime;
  if (!step) return "";
  const seconds = Number(step.seconds?.expected ?? 0);
  const unit = timeUnit(seconds);
  const parts = [...(step.parts ?? [])].sort(
    (a, b) => Number(b.seconds ?? 0) - Number(a.seconds ?? 0),
  );
  const named = parts.map((part, i) => ({
    kind: kindClass(i),
    name: (part.cause ?? "").replace("STEP_CAUSE_", "").toLowerCase(),
    share: Number(part.share ?? 0),
    seconds: Number(part.seconds ?? 0),
    words: wordsOf(part.cause, "STEP_CAUSE_"),
  }));
  const label =
    "A step's time by cause: " +
    named.map((part) => `${part.words} ${percent(part.share)}`).join(", ");
  const savings = (step.sensitivities ?? [])
    .filter((each) => Number(each.savedShare ?? 0) >= 0.0005)
    .map((each) => `${wordsOf(each.rate, "RATE_")} ${percent(Number(each.savedShare))}`);
  return h(
    "section",
    { class: "card", "aria-labelledby": "time" },
    h("h2", { id: "time", tabindex: -1 }, "Where a step’s time goes"),
    picture(label, (width) =>
      bars(
        width,
        [
          {
            label: "",
            low: Number(step.seconds?.low ?? 0) / unit.factor,
            high: Number(step.seconds?.high ?? 0) / unit.factor,
            parts: named.map((part) => ({
              kind: part.kind,
              value: part.seconds / unit.factor,
              label: `${part.words}: ${timeText(part.seconds)}`,
            })),
          },
        ],
        unit.name,
      ),
    ),
    h(
      "p",
      { class: "says" },
      "Kernels’ times: ",
      standsOn(plan),
      h(
        "a",
        {
          href: "#rates",
          click: (event: Event) => {
            event.preventDefault();
            const rates = document.getElementById("rates");
            rates?.scrollIntoView();
            rates?.focus({ preventScroll: true });
          },
        },
        "every rate",
      ),
    ),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Cause", "Time", "Share"].map((head, i) =>
            h("th", { scope: "col", class: i > 0 && "number" }, head),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        named.map((part) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, key(part.kind), capital(part.words)),
            h(
              "td",
              { class: "number" },
              figures.figure(
                `step_time.parts.${part.name}.seconds`,
                part.seconds,
                timeText(part.seconds),
              ),
            ),
            h("td", { class: "number" }, percent(part.share)),
          ),
        ),
      ),
    ),
    savings.length > 0 &&
      h("p", { class: "says" }, "A tenth more of a rate saves: ", savings.join(", "), "."),
  );
}

// "Matmul FLOPs (bf16)".
export function rateName({ quantity, dataType }: RateUsedJson): string {
  const words = (quantity ?? "")
    .replace(/_/g, " ")
    .replace(/ per second| bytes| watts/g, "")
    .replace("flops", "FLOPs");
  return capital(words) + (dataType ? ` (${wordsOf(dataType, "DATA_TYPE_")})` : "");
}

// Every rate that the plan stands on.
export function rates(plan: PlanJson): Children {
  const kernels = plan.stepTime?.kernelSources ?? [];
  return h(
    "section",
    { class: "card", "aria-labelledby": "rates" },
    h("h2", { id: "rates", tabindex: -1 }, "What the times stand on"),
    h(
      "table",
      { class: "wide" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Rate"),
          h("th", { scope: "col" }, "Value"),
          h("th", { scope: "col" }, "Source and age"),
        ),
      ),
      h(
        "tbody",
        {},
        kernels.map((each) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, "Kernels’ times"),
            h("td", {}, percent(Number(each.share ?? 0)), " of their time"),
            sourceCell(plan, each),
          ),
        ),
        (plan.rates ?? []).map((each) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, rateName(each)),
            h(
              "td",
              {},
              withUnit(Number(each.value ?? 0), each.unit ?? ""),
              each.stable === false && " (unstable)",
            ),
            sourceCell(plan, each),
          ),
        ),
      ),
    ),
  );
}
