// The view Search: the layouts of a run, their time against their memory.

import type { LayoutOptionJson, SearchProgressJson } from "api/layout_search_pb";
import type { PlanJson } from "api/plan_pb";

import { Failure } from "../../api";
import { add, h, keepCursor, replace } from "../../dom";
import { layoutLine } from "../../layout_words";
import { grouped } from "../../numbers";
import type { Page, View } from "../../page";
import { searchQuestion, withLayout, type Run } from "../../run";
import { progressWords, watchPlan } from "../../watch_plan";
import { AnswerView } from "../answer_view";
import { stateOf } from "../plan/verdict";
import { front, optionWords } from "./front";
import { showOptions } from "./options";
import { counts, table } from "./table";

class SearchView extends AnswerView {
  private readonly options = h("section", { class: "card", "aria-label": "What to search" });
  private readonly bar = h("progress", { "aria-label": "Layouts searched" });
  private readonly best = h("p", { class: "says" });
  private readonly live = h("div", { class: "live", hidden: true }, this.bar, this.best);
  private readonly stop = h("button", {
    type: "button",
    class: "small",
    click: () => {
      if (this.searches) this.halt();
      else this.asker.ask(this.page.run());
    },
  });
  private searches = false;

  constructor(place: HTMLElement, page: Page) {
    super(page, "Searching…");
    add(place, [
      this.options,
      h("div", { class: "bar" }, this.busy, this.stop),
      this.live,
      this.wrong,
      this.answer,
    ]);
  }

  override show(run: Run, typing: boolean): void {
    keepCursor(
      () => showOptions(this.options, this.page),
      () => this.options.querySelector("select"),
    );
    super.show(run, typing);
  }

  override unread(): void {
    super.unread();
    this.setSearches(false);
  }

  protected override wait(failure: Failure | undefined): void {
    super.wait(failure);
    this.setSearches(!failure || failure.passes);
    this.live.hidden = true;
  }

  protected async ask(run: Run, whole: boolean, signal: AbortSignal): Promise<void> {
    // A search for each word that is typed would be ended by the next.
    if (!whole) return;
    const started = performance.now();
    const take = (progress: SearchProgressJson): void => this.showProgress(progress);
    const { plan } = await watchPlan(searchQuestion(run), take, signal);
    if (signal.aborted) return;
    if (!plan?.search) throw new Failure("internal", "The planner sent no layouts.");
    this.answered(`Searched in ${((performance.now() - started) / 1000).toFixed(2)} s`);
    this.setSearches(false);
    keepCursor(
      () => {
        this.stop.hidden = true;
        this.live.hidden = true;
        this.draw(plan);
      },
      () => this.answer.querySelector("h2"),
    );
  }

  // Ends the search; what is the best until then stays.
  private halt(): void {
    this.asker.stop();
    this.setSearches(false);
    this.busy.textContent = "Stopped.";
    this.page.say("The search has been stopped.");
  }

  private setSearches(searches: boolean): void {
    this.searches = searches;
    this.stop.hidden = false;
    this.stop.textContent = searches ? "Stop" : "Search again";
  }

  private readonly open = (option: LayoutOptionJson): void =>
    this.page.open("plan", withLayout(this.page.run(), option));

  private showProgress(progress: SearchProgressJson): void {
    this.live.hidden = false;
    this.bar.max = Number(progress.layoutCount);
    this.bar.value = Number(progress.searchedCount ?? 0);
    this.busy.textContent = `Searching: ${progressWords(progress)}`;
    const { best } = progress;
    replace(
      this.best,
      best && [
        `The best so far: ${optionWords(best)}: ${layoutLine(best)}. `,
        h(
          "button",
          { type: "button", class: "small", click: () => this.open(best) },
          "Open as plan",
        ),
      ],
    );
  }

  private draw(plan: PlanJson): void {
    const { state, words, says } = stateOf(plan);
    const search = plan.search!;
    const count = Number(search.evaluatedCount ?? 0);
    replace(
      this.answer,
      h(
        "p",
        { class: `outcome ${state}` },
        h("b", {}, words),
        ". ",
        count > 0 ? `The first is the fastest of ${grouped(count)} that fit or may.` : says,
        count === 0 && [
          " ",
          h(
            "button",
            { type: "button", class: "small", click: () => this.page.open("plan") },
            "What to change",
          ),
        ],
      ),
      front(plan, this.open),
      table(search, this.open),
      counts(search),
    );
    this.page.say(`${words}. ${grouped(count)} layouts fit or may.`);
  }
}

export const search: View = {
  name: "search",
  title: "Search",
  hasRun: true,
  open: (place, page) => new SearchView(place, page),
};
