// What was made of the files that start a run.

import type { ImportedFileJson } from "api/launch_pb";
import type { ImportRunResponseJson } from "api/planning_service_pb";

import { h, type Children } from "../dom";
import { button } from "../parts";
import { parts, type Run } from "../run";
import { hasControl, labelOf } from "./fields";

const MOST = 40; // settings of a list

export interface OpenedFile {
  name: string;
  content: string;
  wrong?: string;
  unread?: boolean; // it has no content, and is not sent
}

export interface Report {
  answer: ImportRunResponseJson;
  run: Run;
  given: string[]; // parts of the run that a person has changed in the form
  kept: string[]; // parts that the files lack, and the form had
}

export interface Actions {
  remove(file: OpenedFile): void;
  again(): void;
}

function list(title: string, items: string[] | undefined, says = ""): Children {
  if (!items?.length) return "";
  const more = items.length > MOST && ` and ${items.length - MOST} more`;
  const shown = items.slice(0, MOST).map((each, i) => [i > 0 && ", ", h("code", {}, each)]);
  return h("p", { class: "says" }, h("b", {}, title), ": ", shown, more, ".", says);
}

// Settings that change nothing, or did what they should: folded.
function folded(read: ImportedFileJson): Children {
  const count = (read.read ?? []).length;
  const passed = (read.withoutMeaning ?? []).length;
  if (count + passed === 0) return "";
  const words = `${count} settings read` + (passed > 0 ? `, ${passed} without meaning` : "");
  return h(
    "details",
    {},
    h("summary", {}, words),
    list("Read", read.read),
    list("Without meaning for a plan", read.withoutMeaning),
  );
}

function made(read: ImportedFileJson): Children {
  return [
    list("Not modelled", read.notUnderstood, " They may change the plan."),
    list("May lower the memory", read.lowering),
    list("May raise the memory", read.raising),
    list("Change the time alone", read.timeAlone),
    list("Open", read.open, " No file says."),
    list("Wants", read.wants, " Open them, too: the plan lacks what they say."),
    folded(read),
  ];
}

function fileItem(
  file: OpenedFile,
  read: ImportedFileJson | undefined,
  actions: Actions,
): Children {
  const remove = button("Remove", () => actions.remove(file));
  remove.setAttribute("aria-label", `Remove ${file.name}`);
  return h(
    "li",
    { "data-file": file.name },
    h(
      "p",
      { class: "chip" },
      h("span", {}, h("b", {}, file.name), read && `: ${read.format}`),
      remove,
    ),
    file.wrong && h("p", { class: "wrong" }, file.wrong),
    read && made(read),
  );
}

// Fields that the files gave, and that the form lists but has no control for.
function others({ run, given, kept }: Report): string[] {
  const elsewhere = new Set([...given, ...kept]);
  return parts(run).filter((path) => !elsewhere.has(path) && !hasControl(path));
}

export function filesReport(
  files: OpenedFile[],
  refused: string[],
  report: Report | undefined,
  actions: Actions,
): Children {
  const alert = h(
    "div",
    { role: "alert", class: "part" },
    refused.map((words) => h("p", { class: "wrong" }, words)),
    files.some((each) => each.wrong) && h("p", {}, "Nothing was read: a file is wrong."),
  );
  if (files.length === 0) return alert;
  const notes = report?.answer.notes ?? [];
  const also = report ? others(report) : [];
  const kept = (report?.kept ?? []).filter((path) => !path.startsWith("options."));
  return [
    alert,
    h(
      "ul",
      { class: "plain" },
      files.map((file, i) => fileItem(file, report?.answer.files?.[i], actions)),
    ),
    notes.length > 0 &&
      h(
        "ul",
        { class: "notes" },
        notes.map((note) => h("li", {}, note)),
      ),
    list("Also from the files", also),
    kept.length > 0 &&
      h(
        "p",
        { class: "says", "data-kept": kept.join(" ") },
        h("b", {}, "Not in the files, so as it was here"),
        `: ${kept.map(labelOf).join(", ")}.`,
      ),
    h("p", { class: "says" }, "What you change in the form counts before the files."),
    h(
      "p",
      {},
      button("Read again with the form’s changes", () => actions.again()),
    ),
  ];
}
