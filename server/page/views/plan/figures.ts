// Numbers of a plan on the page. Each says where it is in the answer, and opens how it came about.

import type { DerivationStepJson, PlanJson } from "api/plan_pb";

import { h, replace, type Children } from "../../dom";
import { withUnit } from "../../numbers";
import { openDialog } from "../../parts";

const GIVEN = "none: it was given, or is computed by a model that no one line holds";

export class Figures {
  private readonly steps = new Map<string, DerivationStepJson>();

  constructor(private readonly plan: PlanJson) {
    for (const step of plan.derivation ?? []) this.steps.set(step.symbol ?? "", step);
  }

  // Adds a step that the answer's own list leaves to its tables.
  explain(step: DerivationStepJson): void {
    if (this.steps.size > 0) this.steps.set(step.symbol ?? "", step);
  }

  // The figure of a path in the answer, entries of a list by their names, as `text`.
  figure(symbol: string, value: unknown, text: string): HTMLElement {
    const data = { "data-symbol": symbol, "data-value": String(value) };
    const step = this.steps.get(symbol) ?? this.steps.get(`${symbol}.expected`);
    if (!step) return h("span", { class: "figure", ...data }, text);
    return h(
      "button",
      {
        type: "button",
        class: "figure",
        ...data,
        title: "How it came about",
        click: () => this.open(step, text),
      },
      text,
    );
  }

  private open(step: DerivationStepJson, text: string): void {
    const body = h("div");
    const show = (shown: DerivationStepJson): void => {
      replace(body, this.describe(shown, show));
      body.querySelector<HTMLElement>("h3")?.focus();
    };
    show(step);
    openDialog("derivation", `How ${text} came about`, body);
  }

  private describe(step: DerivationStepJson, show: (step: DerivationStepJson) => void): Children {
    const symbol = step.symbol ?? "";
    const source = this.plan.sources?.[(step.sourceNumber ?? 0) - 1];
    const value = Number(step.value ?? 0);
    const words = (step.formula ?? "").split(/([a-z][a-z0-9_.]*)/).map((word) => {
      const input = this.inputOf(symbol, word);
      if (!input || input === step) return word;
      return h("button", { type: "button", class: "link", click: () => show(input) }, word);
    });
    return [
      h("h3", { tabindex: -1 }, h("code", {}, symbol)),
      h(
        "dl",
        {},
        h("dt", {}, "Formula"),
        h("dd", {}, step.formula === "given" ? GIVEN : words),
        step.formula !== "given" &&
          step.substitution && [
            h("dt", {}, "With numbers"),
            h("dd", {}, h("code", {}, step.substitution)),
          ],
        h("dt", {}, "Value"),
        h(
          "dd",
          {},
          step.unit === "byte" ? `${withUnit(value, "")} bytes, ` : "",
          withUnit(value, step.unit ?? ""),
        ),
        source && [h("dt", {}, "Source"), h("dd", {}, source)],
      ),
    ];
  }

  // The step of a word in the formula of `symbol`: beside it, or by its full path.
  private inputOf(symbol: string, word: string): DerivationStepJson | undefined {
    const beside = symbol.split(".");
    for (let depth = beside.length - 1; depth >= 0; --depth) {
      const path = [...beside.slice(0, depth), word].join(".");
      const step = this.steps.get(path) ?? this.steps.get(`${path}.expected`);
      if (step) return step;
    }
    return this.steps.get(`rates.${word}.value`) ?? this.steps.get(`whole_run.${word}`);
  }
}
