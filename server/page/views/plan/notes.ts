// Warnings, and what was taken for granted.

import type { NoteJson } from "api/note_pb";
import type { PlanJson } from "api/plan_pb";

import { h, type Children } from "../../dom";
import type { Page } from "../../page";
import { fieldWords } from "./words";

function note(each: NoteJson, page: Page): HTMLElement {
  return h(
    "li",
    {},
    each.text ?? "",
    (each.fields ?? []).map((field) => {
      const go = h(
        "button",
        {
          type: "button",
          class: "small",
          click: () => {
            if (!page.focus(field)) go.replaceWith(h("code", {}, field));
          },
        },
        `Set ${fieldWords(field)}`,
      );
      return [" ", go];
    }),
  );
}

export function warnings(plan: PlanJson, page: Page): Children {
  const all = plan.warnings ?? [];
  return (
    all.length > 0 &&
    h(
      "section",
      { class: "card", "aria-labelledby": "warnings" },
      h("h2", { id: "warnings", tabindex: -1 }, "Look at this before you rely on it"),
      h(
        "ul",
        {},
        all.map((each) => note(each, page)),
      ),
    )
  );
}

export function assumptions(plan: PlanJson): Children {
  const all = plan.assumptions ?? [];
  return (
    all.length > 0 &&
    h(
      "details",
      { class: "card", "data-keep": "assumptions" },
      h("summary", {}, `What was taken for granted (${all.length})`),
      h(
        "ul",
        {},
        all.map((each) => h("li", {}, each.text ?? "")),
      ),
      (plan.ignoredConfigFields ?? []).length > 0 &&
        h("p", {}, "Not read of the config.json: ", plan.ignoredConfigFields!.join(", "), "."),
    )
  );
}
