// What the page is to its views.

import type { Failure } from "./api";
import type { Run } from "./run";

export interface Page {
  // The run that the form and the link have.
  run(): Run;
  // Replaces it, as a step of the browser's history, and says so to whom the screen is read to.
  change(run: Run, what: string): void;
  // Opens another view, on the run or another one.
  open(view: string, run?: Run): void;
  // Runs that are kept to be compared, and others in their place.
  kept(): Run[];
  keep(runs: Run[], what: string): void;
  // The view's own question, which the link holds with the run; undefined: none was asked.
  asked(): object | undefined;
  // Puts it into the link.
  ask(question: object): void;
  // Puts what a call found wrong beside the fields of the form; undefined: nothing is. Returns what
  // belongs to none of them.
  showWrong(failure: Failure | undefined): string[];
  // Sizes that a search has found, shown in empty fields of the form.
  showFound(found: Run | undefined): void;
  // Puts the cursor into the form's field of that path, as the .proto files have it; false where
  // the form has none.
  focus(path: string): boolean;
  // Says a sentence to whom the screen is read to.
  say(words: string): void;
}

export interface Opened {
  // The run is another one; `typing`: a person may be about to type on.
  show?(run: Run, typing: boolean): void;
  // Other runs are kept.
  kept?(): void;
  // A field of the form can't be read: what is shown is of an earlier run.
  unread?(): void;
  // The view is left: ends its calls.
  close?(): void;
}

export interface View {
  name: string; // in the link
  title: string; // in the navigation
  hasRun: boolean; // the form of the run is beside it
  open(place: HTMLElement, page: Page): Opened;
}
