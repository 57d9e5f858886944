// A view that asks about the run, and shows the answer: grey while it is of an earlier question.

import type { Failure } from "../api";
import { Asker } from "../asker";
import { h, replace } from "../dom";
import type { Opened, Page } from "../page";
import type { Run } from "../run";

export abstract class AnswerView implements Opened {
  protected readonly busy = h("p", { class: "busy" });
  protected readonly wrong = h("div", { class: "mistake", role: "alert", hidden: true });
  protected readonly answer = h("div", { class: "answer" });
  protected readonly asker: Asker<Run>;

  protected constructor(
    protected readonly page: Page,
    private readonly doing: string,
  ) {
    this.asker = new Asker({
      ask: (run, whole, signal) => this.ask(run, whole, signal),
      wait: (failure) => this.wait(failure),
    });
  }

  // Asks, and shows the answer; rejects with what the call does.
  protected abstract ask(run: Run, whole: boolean, signal: AbortSignal): Promise<void>;

  show(run: Run, typing: boolean): void {
    if (typing) this.asker.typed(run);
    else this.asker.ask(run);
  }

  unread(): void {
    this.asker.stop();
    this.busy.textContent = "";
    this.answer.classList.add("stale");
  }

  close(): void {
    this.asker.stop();
  }

  // What is shown is of this question, answered in `words`.
  protected answered(words: string): void {
    this.busy.textContent = words;
    this.page.showWrong(undefined);
    this.wrong.hidden = true;
    this.answer.classList.remove("stale", "waiting");
  }

  // What is shown is of an earlier question.
  protected wait(failure: Failure | undefined): void {
    this.answer.classList.add("waiting");
    if (!failure) {
      this.busy.textContent = this.doing;
      return;
    }
    this.answer.classList.add("stale");
    const rest = this.page.showWrong(failure);
    this.busy.textContent = failure.passes ? "Trying again…" : "";
    this.wrong.hidden = rest.length === 0;
    replace(
      this.wrong,
      rest.map((words) => h("p", {}, words)),
    );
    if (rest.length === 0) this.page.say("The run has a mistake: see the fields.");
  }
}
