// What a search chooses, and how far it goes.

import { h, replace } from "../../dom";
import { labelOf, shownValue } from "../../form/fields";
import type { Page } from "../../page";
import { get, paths, set, type Run } from "../../run";

// What a search would choose.
const CHOSEN =
  /^(layout\.(parallel|sharding|kernels|contextParallelSize|microBatchSize|schedule|sequenceParallel)\b|training\.recompute$)/;

function isBounded(run: Run): boolean {
  return get(run, "options.search") === "LAYOUT_SEARCH_BOUNDED";
}

function check(page: Page, path: string, label: string): HTMLElement {
  const box = h("input", {
    type: "checkbox",
    id: path,
    checked: get(page.run(), path) === true,
    change: () => page.change(set(page.run(), path, box.checked || undefined), label),
  });
  return h("label", { class: "check" }, box, label);
}

function fixed(page: Page): HTMLElement {
  const run = page.run();
  const all = paths(run).filter((path) => CHOSEN.test(path));
  const free = (freed: string[], what: string): void => {
    page.change(
      freed.reduce((left, path) => set(left, path, undefined), run),
      what,
    );
  };
  if (all.length === 0) {
    return h("p", { class: "says" }, "Nothing of the layout is fixed: all of it is searched for.");
  }
  return h(
    "div",
    { class: "way" },
    h("span", { class: "says" }, "Fixed:"),
    all.map((path) =>
      h(
        "button",
        {
          type: "button",
          class: "small",
          "data-free": path,
          title: "Search for it, too",
          click: () => free([path], `${labelOf(path)} is searched for.`),
        },
        `${labelOf(path)} ${shownValue(path, get(run, path))} ×`,
      ),
    ),
    all.length > 1 &&
      h(
        "button",
        {
          type: "button",
          class: "small",
          "data-free": "",
          click: () => free(all, "All of the layout is searched for."),
        },
        "Free all",
      ),
  );
}

export function showOptions(place: HTMLElement, page: Page): void {
  const { id } = document.activeElement ?? {};
  const reach = h(
    "select",
    {
      id: "reach",
      change: () => {
        const search = reach.value || undefined;
        page.change(set(page.run(), "options.search", search), "Searching again.");
      },
    },
    h("option", { value: "" }, "all layouts"),
    h(
      "option",
      { value: "LAYOUT_SEARCH_BOUNDED", selected: isBounded(page.run()) },
      "the likeliest 20,000",
    ),
  );
  replace(
    place,
    h(
      "div",
      { class: "options" },
      h("label", { for: "reach" }, "Look at"),
      reach,
      check(page, "options.tensorAcrossNodes", "Tensor groups across servers"),
      check(page, "options.searchKernels", "Kernels of the loss, too"),
    ),
    fixed(page),
  );
  if (id) place.querySelector<HTMLElement>(`[id="${id}"]`)?.focus();
}
