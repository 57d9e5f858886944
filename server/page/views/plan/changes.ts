// What to change so that the run fits, as buttons; and the layout that a search found.

import type { LayoutSearchResultJson } from "api/layout_search_pb";
import type { FittingChangeJson, MemoryJson } from "api/memory_pb";

import { h, type Children } from "../../dom";
import { isUsual, layoutWords } from "../../layout_words";
import { gib, gibText, grouped } from "../../numbers";
import type { Page } from "../../page";
import { camel, set, withLayout } from "../../run";
import { capital, changeWords, settingValue } from "./words";

function toDo(change: FittingChangeJson): string {
  const all = (change.settings ?? []).map((each) => changeWords(each.field ?? "", each.newValue));
  return capital(all.join(", "));
}

export function changes(memory: MemoryJson, page: Page): Children {
  const all = memory.changes ?? [];
  if (all.length === 0) return "";
  const apply = (change: FittingChangeJson): void => {
    let run = page.run();
    for (const { field, newValue } of change.settings ?? []) {
      run = set(run, camel(field ?? ""), settingValue(newValue));
    }
    page.change(run, `Changed: ${toDo(change)}. The browser’s Back undoes it.`);
  };
  return h(
    "section",
    { class: "card", "aria-labelledby": "changes" },
    h("h2", { id: "changes", tabindex: -1 }, "What to change"),
    h("p", { class: "says" }, "Each of these alone makes it fit, the cheapest first."),
    h(
      "ul",
      { class: "changes" },
      all.map((change) =>
        h(
          "li",
          {},
          h("button", { type: "button", class: "main", click: () => apply(change) }, toDo(change)),
          h(
            "p",
            {},
            `Then ${gibText(Number(change.peakBytes?.expected ?? 0))} `,
            `(${gib(Number(change.peakBytes?.low ?? 0))} to `,
            `${gib(Number(change.peakBytes?.high ?? 0))}). `,
            "It costs ",
            change.costText,
            ".",
          ),
        ),
      ),
    ),
  );
}

// What nobody misses is not said.
const isSaid = (each: [string, string]): boolean =>
  !isUsual(each) || !["Schedule", "Offloaded"].includes(each[0]);

export function layout(search: LayoutSearchResultJson | undefined, page: Page): Children {
  if (!search?.chosen?.layout) return "";
  const considered = grouped(Number(search.consideredCount ?? 0));
  const evaluated = Number(search.evaluatedCount ?? 0);
  const keep = (): void =>
    page.change(withLayout(page.run(), search.chosen!), "The layout is part of the run now.");
  return h(
    "section",
    { class: "card", "aria-labelledby": "layout" },
    h("h2", { id: "layout", tabindex: -1 }, "The layout found"),
    h(
      "dl",
      { class: "tiles small" },
      layoutWords(search.chosen)
        .filter(isSaid)
        .map(([name, value]) => h("div", { class: "tile" }, h("dt", {}, name), h("dd", {}, value))),
    ),
    h(
      "p",
      { class: "says" },
      evaluated === 0
        ? "None fits: this one takes the least memory. "
        : `The fastest of ${grouped(evaluated)} that fit or may, of ${considered} considered. `,
      search.exhaustive ? "" : "Not all of them were looked at. ",
      h("button", { type: "button", class: "small", click: keep }, "Keep this layout"),
      " ",
      h("button", { type: "button", class: "small", click: () => page.open("search") }, "See all"),
    ),
  );
}
