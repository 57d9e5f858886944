// The page around the views: navigation, the form of the run, and the link, which holds both.

import { setTokenDialog, type Failure } from "./api";
import { h, replace } from "./dom";
import { Form } from "./form/form";
import { LaunchFiles } from "./form/launch_files";
import { MAX_KEPT } from "./keep";
import type { Opened, Page, View } from "./page";
import { decode, decodeJson, differences, encode, encodeJson, EXAMPLE, type Run } from "./run";
import { askForToken } from "./token";
import { VIEWS } from "./views";

setTokenDialog(askForToken);

const status = h("p", { class: "offscreen", role: "status" });
const mistake = h("div", { class: "mistake", role: "alert", hidden: true });
const place = h("div", { class: "view" });
const nav = h("nav", { "aria-label": "Views" });
const side = h("div", { class: "side" });
// What is before a view's own question, in a link.
const ASKED = "&ask=";
const asked = new Map<View, object>();
// What is before each run that is kept, in a link.
const KEPT = "&kept=";
let view: View | undefined;
let opened: Opened = {};
let run: Run = {};
let kept: Run[] = [];

function linkOf(of: View, ofRun: Run): string {
  const parts = [`#${of.name}=${encode(ofRun)}`, ...kept.map(encode)];
  const question = asked.get(of);
  return parts.join(KEPT) + (question ? ASKED + encodeJson(question) : "");
}

function showLinks(): void {
  replace(
    nav,
    VIEWS.map((each) =>
      h("a", { href: linkOf(each, run), "aria-current": each === view && "page" }, [
        each.title,
        each.name === "compare" && kept.length > 0 && ` (${kept.length})`,
      ]),
    ),
  );
}

function enter(next: View): void {
  if (next === view) return;
  opened.close?.();
  view = next;
  document.title = `${next.title} · Sextant`;
  side.hidden = !next.hasRun;
  place.replaceChildren();
  opened = next.open(place, page);
}

function setRun(next: Run, typing: boolean): void {
  run = next;
  form.show(run);
  showLinks();
  opened.show?.(run, typing);
}

const page: Page = {
  run: () => run,
  change(next, what) {
    history.pushState(null, "", linkOf(view!, next));
    mistake.hidden = true;
    setRun(next, false);
    this.say(what);
  },
  open(name, ofRun = run) {
    location.hash = linkOf(VIEWS.find((each) => each.name === name)!, ofRun);
  },
  kept: () => kept,
  keep(runs, what) {
    kept = runs;
    history.pushState(null, "", linkOf(view!, run));
    showLinks();
    opened.kept?.();
    this.say(what);
  },
  asked: () => asked.get(view!),
  ask(question) {
    asked.set(view!, question);
    history.replaceState(null, "", linkOf(view!, run));
    mistake.hidden = true;
    showLinks();
  },
  showWrong: (failure: Failure | undefined) => form.showWrong(failure),
  showFound: (found) => form.showFound(found),
  focus: (path) => form.focus(path),
  say(words) {
    status.textContent = words;
  },
};

const form = new Form((next, typing) => {
  if (!next) return opened.unread?.();
  history.replaceState(null, "", linkOf(view!, next));
  mistake.hidden = true;
  setRun(next, typing);
});

const files = new LaunchFiles(page);

// Opens what the link says. What it says wrong is shown, and nothing asked.
function follow(): void {
  const [runs = "", question] = location.hash.slice(1).split(ASKED);
  const [first = "", ...others] = runs.split(KEPT);
  const [name, ...link] = first.split("=");
  enter(VIEWS.find((each) => each.name === name) ?? VIEWS[0]!);
  mistake.hidden = true;
  try {
    if (question) asked.set(view!, decodeJson(question));
    kept = others.slice(0, MAX_KEPT).map(decode);
    const next = link.length > 0 ? decode(link.join("=")) : EXAMPLE;
    if (differences([run, next]).length > 0) files.begin(next);
    setRun(next, false);
  } catch (error) {
    const start = h("a", { href: `#${view!.name}` }, "Start with an example");
    replace(
      mistake,
      h(
        "p",
        {},
        h("b", {}, "This link holds no plan. "),
        error instanceof Error ? error.message : "",
        " ",
      ),
      h("p", {}, start, "."),
    );
    mistake.hidden = false;
    opened.close?.();
    place.replaceChildren();
    view = undefined;
    document.title = "Sextant";
  }
}

document.body.append(
  h(
    "header",
    {},
    h(
      "a",
      {
        class: "skip",
        href: "#",
        click: (event: Event) => {
          event.preventDefault();
          place.querySelector<HTMLElement>("h2")?.focus();
        },
      },
      "To the answer",
    ),
    h("h1", {}, "Sextant"),
    nav,
    h("a", { class: "aside", href: "openapi.json" }, "API"),
  ),
  h("main", {}, mistake, h("div", { class: "columns" }, side, place)),
  status,
);
side.append(files.element, form.element);
addEventListener("popstate", follow);
follow();
