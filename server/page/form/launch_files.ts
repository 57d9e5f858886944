// Files that start a run, opened or dropped: the planner makes a request of them, and it becomes
// the run of the form. What a person has changed in the form counts before what they say.

import type { ImportRunRequestJson } from "api/planning_service_pb";

import { call, Failure } from "../api";
import { h, keepCursor, replace } from "../dom";
import type { Page } from "../page";
import { changed, get, MAX_BYTES, parts, set, type Run } from "../run";
import { filesReport, type OpenedFile, type Report } from "./files_report";

// As the API has them.
const MAX_FILES = 16;
const MAX_FILE = 262144;

// What a model's file is taken for.
const CONFIG = "model's config.json";

// Of these a request may follow from the files, such as the batch of all devices: they are sent.
const COMPLETING = /^(model$|training\.sequenceLength$|cluster\.)/;
// Of training, what is no setting of the software.
const LENGTHS = ["training.tokenCount", "training.sequenceLength"];

// The parts of `run` that the files' request lacks. The layout and what else their software sets is
// theirs as a whole.
function missingParts(run: Run, request: Run): string[] {
  const laidOut = get(request, "layout") !== undefined;
  const isSoftware = (path: string) =>
    /^(layout|measuredStep|model\.changes|training)\./.test(path) && !LENGTHS.includes(path);
  return parts(run).filter(
    (path) => get(request, path) === undefined && !(laidOut && isSoftware(path)),
  );
}

const pick = (run: Run, from: Run, names: string[]): Run =>
  names.reduce((out, path) => set(out, path, get(from, path)), run);

async function openedFile(file: File): Promise<OpenedFile> {
  const unread = (wrong: string) => ({ name: file.name, content: "", wrong, unread: true });
  if (file.size > MAX_FILE) return unread("Has more than 256 KiB.");
  try {
    return { name: file.name, content: await file.text() };
  } catch {
    return unread("Can’t be read: it is no file, or has gone.");
  }
}

export class LaunchFiles {
  readonly element: HTMLElement;
  private readonly input: HTMLInputElement;
  private readonly report = h("div", { class: "part" });
  private files: OpenedFile[] = [];
  private refused: string[] = []; // what is wrong with none of them in particular
  private last: Report | undefined; // what was made of the files
  private before: Run = {}; // the run, before any were opened
  private base: Run = {}; // the run, as a link or the files gave it
  private readonly fresh = new Set<OpenedFile>(); // opened since files were read into the form
  private readonly given = new Set<string>(); // parts that a person has changed
  private asking: AbortController | undefined;

  constructor(private readonly page: Page) {
    this.input = h("input", {
      type: "file",
      multiple: true,
      class: "offscreen",
      id: "files",
      "aria-describedby": "files-limits",
      change: () => {
        const files = [...(this.input.files ?? [])];
        this.input.value = ""; // the same ones may be opened again
        void this.open(files);
      },
    });
    this.element = h(
      "section",
      { class: "card files", "aria-labelledby": "files-title" },
      h("h2", { id: "files-title", tabindex: -1 }, "Files of a launcher"),
      h("p", {}, this.input, h("label", { for: "files", class: "link small" }, "Open files")),
      h(
        "p",
        { class: "says", id: "files-limits" },
        "Or drop them here: configurations, scripts, a config.json. At most 16 of 256 KiB, and ",
        "1 MiB of all.",
      ),
      this.report,
    );
    this.takeDrops();
  }

  // Begins with the run of a link, to which no files belong.
  begin(run: Run): void {
    this.asking?.abort();
    this.files = [];
    this.fresh.clear();
    this.refused = [];
    this.last = undefined;
    this.base = run;
    this.given.clear();
    this.draw();
  }

  private takeDrops(): void {
    const holdsFile = (event: DragEvent) => event.dataTransfer?.types.includes("Files");
    const mark = (on: boolean) => this.element.classList.toggle("over", on);
    addEventListener("dragover", (event) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      mark(true);
    });
    addEventListener("dragleave", (event) => {
      if (!event.relatedTarget) mark(false);
    });
    addEventListener("drop", (event) => {
      if (!holdsFile(event)) return;
      event.preventDefault();
      mark(false);
      const files = [...(event.dataTransfer?.files ?? [])];
      if (this.element.checkVisibility()) void this.open(files);
    });
  }

  // Adds files to those that are open, in place of ones of the same name.
  private async open(added: File[]): Promise<void> {
    const names = new Set([...this.files, ...added].map((each) => each.name));
    if (names.size > MAX_FILES) {
      this.refuse(`At most ${MAX_FILES} files: with these there would be ${names.size}.`);
      return;
    }
    const opened = await Promise.all(added.map(openedFile));
    if (this.files.length === 0) this.before = this.page.run();
    for (const file of opened) {
      this.fresh.add(file);
      const place = this.files.findIndex((each) => each.name === file.name);
      if (place < 0) this.files.push(file);
      else this.files[place] = file;
    }
    await this.read();
  }

  private remove(file: OpenedFile): void {
    this.files = this.files.filter((each) => each !== file);
    void this.read();
  }

  // Shows what keeps the files from being read.
  private refuse(...words: string[]): void {
    this.refused = words;
    this.draw();
    this.page.say(words[0] ?? "A file is wrong.");
  }

  private request(request: Run): ImportRunRequestJson {
    return { files: this.files.map(({ name, content }) => ({ name, content })), request };
  }

  // Makes the run of the files that are open.
  private async read(): Promise<void> {
    this.asking?.abort();
    this.refused = [];
    this.last = undefined;
    this.draw();
    if (this.files.length === 0) return;
    if (this.files.some((each) => each.unread)) return this.refuse();
    for (const file of this.files) file.wrong = undefined;
    const asked = this.page.run();
    for (const path of changed(this.base, asked)) this.given.add(path);
    const request = pick({}, asked, [...this.given]);
    if (new TextEncoder().encode(JSON.stringify(this.request(request))).length > MAX_BYTES) {
      return this.refuse("Together they have more than 1 MiB, the most that a call takes.");
    }
    const asking = new AbortController();
    this.asking = asking;
    try {
      const report = await this.ask(request, asking.signal);
      if (asking.signal.aborted) return;
      if (this.page.run() !== asked) return await this.read(); // it was changed meanwhile
      this.last = report;
      this.fresh.clear();
      this.base = report.run;
      this.page.change(report.run, "The files are in the form now. The browser’s Back undoes it.");
      this.draw();
    } catch (error) {
      if (asking.signal.aborted) return;
      this.showFailure(error instanceof Failure ? error : new Failure("internal", String(error)));
    }
  }

  // Asks first what the files say by themselves, so that nothing of the form that nobody has
  // changed counts before it; then what follows with the form's model and devices, where they name
  // none.
  private async ask(request: Run, signal: AbortSignal): Promise<Report> {
    let answer = await call("PlanningService/ImportRun", this.request(request), signal);
    const isNewModel = (file: OpenedFile, i: number) =>
      this.fresh.has(file) && answer.files?.[i]?.format === CONFIG;
    if (this.given.has("model") && this.files.some(isNewModel)) {
      // Who opens a model's file after writing another model means the file's.
      this.given.delete("model");
      return this.ask(set(request, "model", undefined), signal);
    }
    const missing = missingParts(this.before, answer.request ?? {});
    const completing = missing.filter((path) => COMPLETING.test(path));
    if (completing.length > 0) {
      const completed = this.request(pick(request, this.before, completing));
      answer = await call("PlanningService/ImportRun", completed, signal);
    }
    const made = answer.request ?? {};
    const kept = missingParts(this.before, made);
    return {
      answer,
      run: pick(made, this.before, kept),
      given: [...this.given],
      kept: [...completing, ...kept],
    };
  }

  private showFailure(failure: Failure): void {
    const rest: string[] = [];
    for (const { field, text } of failure.fields) {
      const file = this.files[Number(/^files\[(\d+)\]/.exec(field)?.[1] ?? NaN)];
      if (file) file.wrong = text.charAt(0).toUpperCase() + text.slice(1);
      else rest.push(field ? `${field}: ${text}` : text);
    }
    this.refuse(...(failure.fields.length > 0 ? rest : [failure.message]));
  }

  private draw(): void {
    const show = () =>
      replace(
        this.report,
        filesReport(this.files, this.refused, this.last, {
          remove: (file) => this.remove(file),
          again: () => void this.read(),
        }),
      );
    keepCursor(show, () => this.input);
  }
}
