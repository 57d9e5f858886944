// Time against memory of the layouts that a search found.

import type { LayoutOptionJson, LayoutSearchResultJson } from "api/layout_search_pb";
import type { PlanJson } from "api/plan_pb";

import { h, replace, type Children } from "../../dom";
import { layoutLine } from "../../layout_words";
import { gib, gibText, percent, timeText, timeUnit } from "../../numbers";
import { dotKeys, scatter, type Dot } from "../../picture/scatter";

export type Open = (option: LayoutOptionJson) => void;

export const seconds = (of: LayoutOptionJson): number => Number(of.stepSeconds?.expected ?? 0);
const bytes = (of: LayoutOptionJson): number => Number(of.peakBytes?.expected ?? 0);
const nameOf = (of: LayoutOptionJson): string => JSON.stringify([of.layout, of.recompute]);

// "16.0 s, 73.24 GiB, 96 % chance that it fits".
export function optionWords(of: LayoutOptionJson): string {
  const chance = percent(Number(of.fitChance ?? 0), 0);
  return `${timeText(seconds(of))} a step, ${gibText(bytes(of))}, ${chance} chance that it fits`;
}

// Each layout once, from the fastest on; those that have no time are left out.
function timed(search: LayoutSearchResultJson): LayoutOptionJson[] {
  const all = [search.chosen ?? {}, ...(search.front ?? []), ...(search.alternatives ?? [])];
  const once = new Map(all.map((each) => [nameOf(each), each]));
  return [...once.values()]
    .filter((each) => seconds(each) > 0)
    .sort((a, b) => seconds(a) - seconds(b) || bytes(b) - bytes(a));
}

function dotOf(option: LayoutOptionJson, onFront: boolean, unit: number): Dot {
  const scaled = (from: LayoutOptionJson["stepSeconds"], factor: number) => ({
    expected: Number(from?.expected ?? 0) / factor,
    low: Number(from?.low ?? 0) / factor,
    high: Number(from?.high ?? 0) / factor,
  });
  return {
    x: scaled(option.stepSeconds, unit),
    y: scaled(option.peakBytes, 2 ** 30),
    kind: !onFront ? "beaten" : option.tie ? "tie" : "slower",
    label: `${optionWords(option)}: ${layoutLine(option)}`,
  };
}

function readout(option: LayoutOptionJson, open: Open): Children {
  const { low, high } = option.peakBytes ?? {};
  return [
    h(
      "p",
      {},
      h("b", {}, timeText(seconds(option))),
      ` a step (${timeText(Number(option.stepSeconds?.low))} to `,
      `${timeText(Number(option.stepSeconds?.high))}), `,
      h("b", {}, gibText(bytes(option))),
      ` (${gib(Number(low))} to ${gib(Number(high))}), `,
      `${percent(Number(option.fitChance ?? 0), 0)} chance that it fits`,
      option.tie && ", a tie with the fastest",
      ".",
    ),
    h("p", { class: "says" }, layoutLine(option)),
    h("button", { type: "button", class: "main", click: () => open(option) }, "Open as plan"),
  ];
}

export function front(plan: PlanJson, open: Open): Children {
  const search = plan.search!;
  const options = timed(search);
  const onFront = new Set((search.front ?? []).map(nameOf));
  const fastest = options[0];
  if (!fastest) return "";
  const best = options.findIndex((each) => nameOf(each) === nameOf(search.chosen ?? {}));
  const unit = timeUnit(seconds(fastest));
  const usable = Number(plan.memory?.capacity?.usableBytes ?? 0);
  const dots = options.map((each) => dotOf(each, onFront.has(nameOf(each)), unit.factor));
  const about = h("div", { class: "readout" });
  const look = (i: number): void => replace(about, readout(options[i]!, open));
  const kinds: [string, string][] = [
    ["best", "the plan’s"],
    ["tie", "a tie with the fastest"],
    ["slower", "slower, but smaller"],
    ["beaten", "beaten, or not sure to fit"],
  ];
  look(Math.max(best, 0));
  return h(
    "section",
    { class: "card", "aria-labelledby": "front" },
    h("h2", { id: "front", tabindex: -1 }, "Time against memory"),
    scatter({
      label: "Layouts, from the fastest to the smallest. Enter opens one as a plan",
      dots,
      best: Math.max(best, 0),
      x: `Time of a step, ${unit.name}`,
      y: "Memory of a device, GiB",
      limit: { value: usable / 2 ** 30, label: `${gib(usable)} GiB usable` },
      tied: ((1 + Number(search.tieRatio ?? 0)) * seconds(fastest)) / unit.factor,
      look,
      choose: (i) => open(options[i]!),
    }),
    dotKeys(kinds.filter(([kind]) => kind === "best" || dots.some((dot) => dot.kind === kind))),
    about,
  );
}
