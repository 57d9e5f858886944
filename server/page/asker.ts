// When to ask: a short question while a person types, the whole one at rest. One call is under way
// at a time, and one that nobody waits for is ended, which ends its search on the server.

import { Failure } from "./api";

const PAUSE = 150; // in milliseconds: shorter ones are within a word
const BETWEEN_SHORT = 3000; // a search at each key would be twenty
const REST = 900;
const RETRY = 3000;

// `Question` is a run, or what a view asks.
export interface Asking<Question> {
  // Asks, and shows the answer; rejects with what the call does.
  ask(question: Question, whole: boolean, signal: AbortSignal): Promise<void>;
  // Shows that the picture is of an earlier question: after an error, or none while one is asked.
  wait(failure: Failure | undefined): void;
}

export class Asker<Question> {
  private timers: number[] = [];
  private call: AbortController | undefined;
  private lastShort = -Infinity;

  constructor(private readonly asking: Asking<Question>) {}

  // Asks a question whose last change a person has just typed.
  typed(question: Question): void {
    this.stop();
    this.asking.wait(undefined);
    const now = performance.now();
    const short = Math.max(PAUSE, this.lastShort + BETWEEN_SHORT - now);
    if (short < REST) this.after(short, () => this.start(question, false));
    this.after(REST, () => this.start(question, true));
  }

  // Asks a question at once.
  ask(question: Question): void {
    this.stop();
    this.start(question, true);
  }

  // Ends the call, and asks no more.
  stop(): void {
    this.timers.forEach(clearTimeout);
    this.timers = [];
    this.call?.abort();
    this.call = undefined;
  }

  private after(time: number, act: () => void): void {
    this.timers.push(window.setTimeout(act, time));
  }

  private start(question: Question, whole: boolean): void {
    this.call?.abort();
    const call = new AbortController();
    this.call = call;
    if (!whole) this.lastShort = performance.now();
    this.asking.wait(undefined);
    this.asking.ask(question, whole, call.signal).catch((error: unknown) => {
      if (call.signal.aborted) return;
      const failure = error instanceof Failure ? error : new Failure("internal", String(error));
      this.asking.wait(failure);
      if (failure.passes) {
        this.after(1000 * (failure.retrySeconds ?? RETRY / 1000), () =>
          this.start(question, whole),
        );
      }
    });
  }
}
