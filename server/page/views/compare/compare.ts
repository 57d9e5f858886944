// The view Compare: the run in the form beside those that were kept.

import type { PlannedRunJson } from "api/plan_pb";

import { call, Failure, failureOf } from "../../api";
import { add, h, keepCursor, replace } from "../../dom";
import { keepButton, MAX_KEPT } from "../../keep";
import type { Page, View } from "../../page";
import { batchedQuestion, differences, get, set, shortQuestion, type Run } from "../../run";
import { AnswerView } from "../answer_view";
import { comparison, type Column } from "./columns";
import { timePicture } from "./time_picture";

const MOST_ANSWERS = 32;
const INVALID = 3; // google.rpc.Code

// The failure of one run, whose fields the answer names by their place in the call.
function failureOfRun({ status }: PlannedRunJson): Failure {
  const bare = JSON.parse(JSON.stringify(status).replace(/runs\[\d+\]\./g, "")) as typeof status;
  return failureOf({
    code: status?.code === INVALID ? "invalid_argument" : "unknown",
    message: bare?.message,
    details: bare?.details?.map((debug) => ({ debug })) as Parameters<
      typeof failureOf
    >[0]["details"],
  });
}

class CompareView extends AnswerView {
  // By their questions: a run that is kept is asked about once.
  private readonly known = new Map<string, PlannedRunJson>();
  private readonly keep = keepButton(this.page);

  constructor(place: HTMLElement, page: Page) {
    super(page, "Planning…");
    add(place, [h("div", { class: "bar" }, this.busy, this.keep), this.wrong, this.answer]);
  }

  kept(): void {
    this.asker.ask(this.page.run());
  }

  protected async ask(run: Run, whole: boolean, signal: AbortSignal): Promise<void> {
    const columns = this.columns(run);
    const questions = columns.map((each) =>
      each.isForm && !whole ? shortQuestion(each.run) : batchedQuestion(each.run),
    );
    await this.learn(questions, signal);
    if (signal.aborted) return;
    this.answered(whole ? "Compared." : "Compared in short…");
    for (const [i, column] of columns.entries()) {
      const planned = this.known.get(JSON.stringify(questions[i]))!;
      column.plan = planned.plan;
      if (planned.plan) continue;
      const failure = failureOfRun(planned);
      const rest = column.isForm ? this.page.showWrong(failure) : [failure.message];
      column.wrong = rest.join(" ") || "The run has a mistake: see the fields.";
    }
    keepCursor(
      () => this.draw(columns, whole),
      () => document.getElementById("compared"),
    );
  }

  private columns(run: Run): Column[] {
    const columns: Column[] = this.page.kept().map((kept, i) => ({
      name: "ABC"[i]!,
      run: kept,
      isForm: differences([kept, run]).length === 0,
    }));
    if (!columns.some((each) => each.isForm)) columns.push({ name: "Form", run, isForm: true });
    return columns;
  }

  // Asks what is not known yet. Where no layout can be timed, the search is left to the server.
  private async learn(questions: Run[], signal: AbortSignal): Promise<void> {
    const all = new Map(questions.map((each) => [JSON.stringify(each), each]));
    const asked = [...all].filter(([key]) => !this.known.has(key));
    if (this.known.size > MOST_ANSWERS) this.known.clear();
    const batch = async (runs: Run[]): Promise<PlannedRunJson[]> =>
      runs.length === 0
        ? []
        : ((await call("PlanningService/BatchPlanRuns", { runs }, signal)).runs ?? []);
    const answers = await batch(asked.map(([, question]) => question));
    const refused = answers.flatMap(({ status }, i) =>
      status?.code === INVALID && get(asked[i]![1], "options.search") !== undefined ? [i] : [],
    );
    const again = await batch(refused.map((i) => set(asked[i]![1], "options.search", undefined)));
    for (const [i, answer] of answers.entries()) {
      const other = again[refused.indexOf(i)];
      this.known.set(asked[i]![0], other?.plan ? other : answer);
    }
  }

  private draw(columns: Column[], whole: boolean): void {
    const kept = this.page.kept().length;
    this.keep.hidden = kept === MAX_KEPT || kept === columns.length;
    this.answer.dataset.whole = String(whole);
    replace(
      this.answer,
      comparison(columns, this.page),
      h("p", { class: "says" }, hint(kept, columns.length)),
      timePicture(columns),
    );
    if (whole) this.page.say(`${columns.length} plans.`);
  }
}

function hint(kept: number, shown: number): string {
  if (kept === 0) {
    return "Keep this plan, and change the run: the other one stands beside it. Up to four can be \
compared, and the link holds them all.";
  }
  if (kept === MAX_KEPT) return "Remove one to keep another.";
  return kept === shown ? "Change the run: what the form has then stands beside these." : "";
}

export const compare: View = {
  name: "compare",
  title: "Compare",
  hasRun: true,
  open: (place, page) => new CompareView(place, page),
};
