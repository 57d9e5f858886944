// The best layouts of a search, and what it left out.

import type { LayoutOptionJson, LayoutSearchResultJson } from "api/layout_search_pb";

import { h, type Children } from "../../dom";
import { isUsual, layoutLine, layoutWords } from "../../layout_words";
import { gib, grouped, percent, timeText } from "../../numbers";
import { wordsOf } from "../plan/words";
import { optionWords, seconds, type Open } from "./front";

const REASONS: Record<string, string> = {
  BATCH: "whose ranks do not divide the batch",
  ROUNDS: "whose stages do not divide the micro-batches",
  WEIGHTS: "whose weights alone are too large",
  REFUSED: "that framework or model refuse",
  MEMORY: "that do not fit",
};

export function table(search: LayoutSearchResultJson, open: Open): Children {
  const options = [search.chosen ?? {}, ...(search.alternatives ?? [])];
  const words = options.map((each) => new Map(layoutWords(each)));
  // What all have as usual is left out.
  const names = [...new Set(words.flatMap((each) => [...each.keys()]))].filter((name) =>
    words.some((each) => each.has(name) && !isUsual([name, each.get(name)!])),
  );
  const head = (text: string, number = false): HTMLElement =>
    h("th", { scope: "col", class: number && "number" }, text);
  const row = (option: LayoutOptionJson, i: number): HTMLElement =>
    h(
      "tr",
      { "data-seconds": seconds(option), "data-bytes": option.peakBytes?.expected ?? "" },
      h(
        "th",
        { scope: "row" },
        seconds(option) > 0 ? timeText(seconds(option)) : "—",
        option.tie && [" ", h("span", { class: "badge" }, "tie")],
      ),
      h("td", { class: "number" }, `${gib(Number(option.peakBytes?.expected ?? 0))} GiB`),
      h("td", { class: "number", "data-head": "Fits" }, percent(Number(option.fitChance ?? 0), 0)),
      names.map((name) => h("td", { "data-head": name }, words[i]!.get(name) ?? "—")),
      h(
        "td",
        {},
        h(
          "button",
          {
            type: "button",
            class: "small",
            "aria-label": `Open as plan: ${optionWords(option)}, ${layoutLine(option)}`,
            click: () => open(option),
          },
          "Open",
        ),
      ),
    );
  return h(
    "section",
    { class: "card", "aria-labelledby": "best" },
    h("h2", { id: "best", tabindex: -1 }, "The best layouts"),
    h(
      "div",
      { class: "sideways", tabindex: 0, role: "region", "aria-label": "Table of layouts" },
      h(
        "table",
        { class: "wide layouts" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            head("A step"),
            head("Memory", true),
            head("Fits", true),
            names.map((name) => head(name)),
            h("td", {}),
          ),
        ),
        h("tbody", {}, options.map(row)),
      ),
    ),
    h("p", { class: "says" }, ties(options, search)),
  );
}

function ties(options: LayoutOptionJson[], search: LayoutSearchResultJson): Children {
  if (Number(search.evaluatedCount ?? 0) === 0) return "It takes the least memory of all.";
  const count = options.filter((each) => each.tie).length;
  if (count < 2) return "No other layout is a tie with the fastest.";
  return [
    `${count} of these are ties: within ${percent(Number(search.tieRatio ?? 0), 0)} of the `,
    "fastest. Predictions do not tell them apart, so choose among them by memory, or by what is ",
    "simpler to run.",
  ];
}

// Which rates the choice stands on.
function sensitivity(search: LayoutSearchResultJson): string {
  if (!search.alternatives) return "";
  const parts = (search.sensitivities ?? []).map((each) => {
    const slowness = Number(each.slowness ?? 1);
    const times = slowness > 1 ? `${slowness} times as slow` : `${1 / slowness} times as fast`;
    return `${wordsOf(each.rate, "RATE_")} is ${times} (row ${Number(each.alternative ?? 0) + 2})`;
  });
  return parts.length > 0
    ? `Another one is faster by more than a tie where ${parts.join(", or ")}.`
    : "The first stays the fastest, or a tie, with each rate half or twice as high.";
}

export function counts(search: LayoutSearchResultJson): Children {
  const considered = Number(search.consideredCount ?? 0);
  const evaluated = Number(search.evaluatedCount ?? 0);
  const pruned = search.pruned ?? [];
  const left = pruned.reduce((sum, each) => sum - Number(each.count ?? 0), considered - evaluated);
  return h(
    "section",
    { class: "card", "aria-labelledby": "counts" },
    h("h2", { id: "counts", tabindex: -1 }, "What was looked at"),
    h("p", {}, `${grouped(considered)} layouts considered, ${grouped(evaluated)} timed. Left out:`),
    h(
      "ul",
      {},
      pruned.map((each) => {
        const why = (each.reason ?? "").replace("REASON_", "");
        return h("li", {}, `${grouped(Number(each.count))} ${REASONS[why] ?? wordsOf(why, "")}`);
      }),
      !search.exhaustive &&
        h("li", {}, `${grouped(left)} that are likely to be slower were not looked at`),
    ),
    h("p", { class: "says" }, sensitivity(search)),
  );
}
