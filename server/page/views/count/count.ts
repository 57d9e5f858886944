// The parameters and FLOPs of a model, by component.

import type { CountModelRequestJson, CountModelResponseJson } from "api/accounting_service_pb";
import type { PlanJson } from "api/plan_pb";

import { call, Failure } from "../../api";
import { add, h, replace, type Children } from "../../dom";
import { get, text, type Run } from "../../run";
import type { Page, View } from "../../page";
import { AnswerView } from "../answer_view";
import { bareCount, counts } from "./counts";

// The question of a run: its model, its sequences, and how it is cut over devices.
function questionOf(run: Run): CountModelRequestJson {
  const length = text(run, "training.sequenceLength");
  const encoderLength = text(run, "training.encoderSequenceLength") || undefined;
  const recompute = run.training?.recompute;
  return {
    model: run.model,
    ...(length ? { step: { sequences: [{ length, encoderLength }], recompute } } : {}),
    ...(run.layout?.parallel ? { layout: run.layout.parallel } : {}),
    includeComponents: true,
  };
}

// A field of that question, as the form has it.
function fieldOf(field: string): string {
  return field
    .replace(/^step\.sequences\[0\]\.(encoder_)?length/, "training.$1sequence_length")
    .replace(/^step\./, "training.")
    .replace(/^layout\./, "layout.parallel.");
}

const named = (failure: Failure): Failure =>
  new Failure(
    failure.code,
    failure.message,
    failure.fields.map((each) => ({ ...each, field: fieldOf(each.field) })),
    failure.retrySeconds,
  );

class CountView extends AnswerView {
  private counted: Run | undefined;

  constructor(place: HTMLElement, page: Page) {
    super(page, "Counting…");
    add(place, [h("div", { class: "bar" }, this.busy), this.wrong, this.answer]);
  }

  protected async ask(run: Run, whole: boolean, signal: AbortSignal): Promise<void> {
    if (!whole || run !== this.counted) {
      const shown = await this.count(run, signal).catch((error: unknown) => {
        throw error instanceof Failure ? named(error) : error;
      });
      if (signal.aborted) return;
      this.counted = run;
      replace(this.answer, shown);
    }
    this.answered("");
    this.answer.dataset.whole = String(whole);
  }

  private async count(run: Run, signal: AbortSignal): Promise<Children> {
    if (get(run, "model.parameterCount") !== undefined) {
      return bareCount((await this.plan(run, signal)) ?? {});
    }
    const question = questionOf(run);
    let answer: CountModelResponseJson;
    try {
      answer = await call("AccountingService/CountModel", question, signal);
    } catch (error) {
      // An encoder's length that is not given leaves the parameters.
      const { fields = [] } = error instanceof Failure ? error : {};
      if (!fields.some((each) => each.field.endsWith("encoder_length"))) throw error;
      const { step: _, ...rest } = question;
      answer = await call("AccountingService/CountModel", rest, signal);
    }
    return counts(answer);
  }

  // A number of parameters has no components: a plan's FLOPs are all there is.
  private async plan(run: Run, signal: AbortSignal): Promise<PlanJson | undefined> {
    const bare = {
      model: run.model,
      training: { tokenCount: run.training?.tokenCount },
      cluster: { device: run.cluster?.device, deviceCount: run.cluster?.deviceCount },
      options: { view: "PLAN_VIEW_FULL" as const },
    };
    return (await call("PlanningService/PlanRun", bare, signal)).plan;
  }
}

export const count: View = {
  name: "count",
  title: "Count",
  hasRun: true,
  open: (place, page) => new CountView(place, page),
};
