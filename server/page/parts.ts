// What views are made of.

import { h, type Children } from "./dom";

// A part of a view, under its title.
export function card(id: string, title: string, ...children: Children[]): HTMLElement {
  return h(
    "section",
    { class: "card", "aria-labelledby": id },
    h("h2", { id, tabindex: -1 }, title),
    children,
  );
}

// A figure, and what is said of it.
export function tile(title: string, value: Children, below: Children = ""): HTMLElement {
  return h(
    "div",
    { class: "tile" },
    h("dt", {}, title),
    h("dd", {}, value),
    below !== "" && h("dd", { class: "below" }, below),
  );
}

// A table whose first column names its rows. A heading that begins with ">" is of numbers.
export function table(kind: string, headings: string[], rows: Children[][]): HTMLElement {
  const classes = headings.map((heading) => heading.startsWith(">") && "number");
  return h(
    "table",
    { class: kind },
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        headings.map((heading, i) =>
          h("th", { scope: "col", class: classes[i] }, heading.replace(/^>/, "")),
        ),
      ),
    ),
    h(
      "tbody",
      {},
      rows.map((row) =>
        h(
          "tr",
          {},
          row.map((cell, i) =>
            i === 0 ? h("th", { scope: "row" }, cell) : h("td", { class: classes[i] }, cell),
          ),
        ),
      ),
    ),
  );
}

// Opens a dialog, which Escape, a click beside it and its own button close.
export function openDialog(kind: string, title: string, body: Children): void {
  const dialog = h(
    "dialog",
    { class: kind, "aria-labelledby": "dialog-title" },
    h(
      "div",
      { class: "dialog-head" },
      h("h2", { id: "dialog-title", tabindex: -1 }, title),
      h("button", { type: "button", "aria-label": "Close", click: () => dialog.close() }, "×"),
    ),
    body,
  );
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
}

// A field with its label, in a row of `fields`.
export function labelled(label: string, control: HTMLElement, kind = "field short"): HTMLElement {
  return h("div", { class: kind }, h("label", { for: control.id }, label), control);
}

// A choice; a change calls `picked`.
export function choice(
  id: string,
  options: [value: string, text: string][],
  chosen: string,
  picked: (value: string) => void = () => {},
): HTMLSelectElement {
  const select = h(
    "select",
    { id, change: () => picked(select.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)),
  );
  return select;
}

// A button of a part.
export function button(text: string, click: () => void, kind = "small"): HTMLButtonElement {
  return h("button", { type: "button", class: kind, click }, text);
}
