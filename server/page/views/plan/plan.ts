// The first view: what a run costs, whether it fits, and what to change.

import { call, Failure } from "../../api";
import { add, h, replace, type Children } from "../../dom";
import { durationText, grouped, percent } from "../../numbers";
import { keepButton } from "../../keep";
import type { Page, View } from "../../page";
import { fullQuestion, set, shortQuestion, withLayout, type Run } from "../../run";
import { progressWords, watchPlan } from "../../watch_plan";
import { AnswerView } from "../answer_view";
import type { StageMemoryJson } from "api/memory_pb";
import type { PlanJson } from "api/plan_pb";
import type { PlanRunResponseJson } from "api/planning_service_pb";
import { changes, layout } from "./changes";
import { copies } from "./copies";
import { basisOf, costs } from "./costs";
import { Figures } from "./figures";
import { memory } from "./memory";
import { assumptions, warnings } from "./notes";
import { rates, time } from "./time";
import { stateOf, verdict } from "./verdict";

// The answer to the whole question, as the command line has it. Where no layout can be timed, the
// search is left to the server.
async function askWhole(
  run: Run,
  progress: (words: string) => void,
  signal: AbortSignal,
): Promise<PlanRunResponseJson> {
  const question = set(fullQuestion(run), "options.includeDerivation", true);
  const ask = (asked: Run): Promise<PlanRunResponseJson> =>
    watchPlan(asked, (found) => progress(`Searching: ${progressWords(found)}`), signal);
  try {
    return await ask(question);
  } catch (error) {
    const searches = question.options?.search !== run.options?.search;
    if (!(error instanceof Failure) || error.code !== "invalid_argument" || !searches) throw error;
    return ask(set(question, "options.search", undefined));
  }
}

class PlanView extends AnswerView {
  private readonly strip = h("a", {
    class: "strip",
    hidden: true,
    href: "#verdict",
    click: (event: Event) => {
      event.preventDefault();
      document.getElementById("verdict")?.scrollIntoView();
    },
  });
  private asked: Run = {};

  constructor(place: HTMLElement, page: Page) {
    super(page, "Planning…");
    add(place, [
      h("div", { class: "bar" }, this.busy, keepButton(page), copies(page)),
      this.wrong,
      this.answer,
      this.strip,
    ]);
  }

  protected async ask(run: Run, whole: boolean, signal: AbortSignal): Promise<void> {
    const started = performance.now();
    const response = whole
      ? await askWhole(
          run,
          (words) => {
            this.busy.textContent = words;
          },
          signal,
        )
      : await call("PlanningService/PlanRun", shortQuestion(run), signal);
    if (signal.aborted || !response.plan) return;
    this.asked = run;
    const seconds = (performance.now() - started) / 1000;
    this.answered(whole ? `Planned in ${seconds.toFixed(2)} s` : "Planned in short…");
    this.draw(response.plan, whole);
  }

  // What a stage of the plan's layout holds, which the plan itself leaves out.
  private async ledger(of: PlanJson, stage: number): Promise<StageMemoryJson | undefined> {
    const chosen = of.search?.chosen;
    let run = chosen?.layout ? withLayout(this.asked, chosen) : this.asked;
    run = set(set(run, "options.search", "LAYOUT_SEARCH_NONE"), "options.view", "PLAN_VIEW_FULL");
    const { plan } = await call("PlanningService/PlanRun", set(run, "options.includeLedger", true));
    return plan?.memory?.stages?.[stage];
  }

  private draw(plan: PlanJson, whole: boolean): void {
    const open = new Set(
      [...this.answer.querySelectorAll<HTMLDetailsElement>("[data-keep][open]")].map(
        (each) => each.dataset.keep,
      ),
    );
    const figures = new Figures(plan);
    this.answer.dataset.whole = String(whole);
    const stages = !whole && this.answer.querySelector("[aria-labelledby=memory]");
    this.page.showFound(plan.search && ({ ...plan.search.chosen, training: {} } as Run));
    const parts: Children[] = [
      verdict(plan, figures),
      plan.memory && changes(plan.memory, this.page),
      costs(plan, figures),
      time(plan, figures),
      // A short answer has no stages: those of the last whole one stay, grey.
      whole ? plan.memory && memory(plan.memory, (stage) => this.ledger(plan, stage)) : stages,
      layout(plan.search, this.page),
      warnings(plan, this.page),
      rates(plan),
      assumptions(plan),
    ];
    if (stages) stages.classList.add("stale");
    replace(this.answer, parts);
    for (const each of this.answer.querySelectorAll<HTMLDetailsElement>("[data-keep]")) {
      each.open = open.has(each.dataset.keep);
    }
    const { state, words } = stateOf(plan);
    const basis = basisOf(plan);
    this.strip.className = `strip ${state}`;
    this.strip.hidden = false;
    replace(
      this.strip,
      h("b", {}, words),
      plan.fitChance !== undefined && h("span", {}, percent(Number(plan.fitChance), 0), " chance"),
      basis && h("span", {}, durationText(Number(basis.elapsedSeconds?.expected ?? 0))),
      basis?.costUsd !== undefined && h("span", {}, `$${grouped(Number(basis.costUsd))}`),
    );
    if (whole) this.page.say(`${words}.`);
  }
}

export const plan: View = {
  name: "plan",
  title: "Plan",
  hasRun: true,
  open: (place, page) => new PlanView(place, page),
};
