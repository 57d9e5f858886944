// Elements without a library: views share a run and a few lists, not state that changes in many
// places at once, so that preact (6 kB) would save nothing.

type Child = Node | string | number | false | null | undefined;
export type Children = Child | Children[];
type Value = string | number | boolean | undefined | ((event: never) => void);
export type Attributes = Record<string, Value>;

function fill(element: Element, attributes: Attributes, children: Children): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      element.addEventListener(name, value as EventListener);
    } else if (value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  add(element, children);
}

// Appends what is not left out.
export function add(element: Element, children: Children): void {
  for (const child of Array.isArray(children) ? children : [children]) {
    if (Array.isArray(child)) add(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== undefined && child !== null && child !== false)
      element.append(String(child));
  }
}

// An HTML element. A function is a listener of the event by its name.
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Children[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

// An SVG element.
export function svg(tag: string, attributes: Attributes = {}, ...children: Children[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  fill(element, attributes, children);
  return element;
}

export function replace(element: Element, ...children: Children[]): void {
  element.replaceChildren();
  add(element, children);
}

// Changes what is shown; where the cursor was on what then is gone, it goes to `next`.
export function keepCursor(change: () => void, next: () => HTMLElement | null): void {
  const before = document.activeElement;
  change();
  const now = document.activeElement;
  if (before !== document.body && (now === document.body || !now?.checkVisibility())) {
    next()?.focus();
  }
}

// Copies without the clipboard's permission, which a page in plain text from another host lacks.
export async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const area = h("textarea", { class: "offscreen", readonly: true }, text);
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
  return;
}
