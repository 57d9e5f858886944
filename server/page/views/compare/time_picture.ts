// The time of compared runs, by the causes of their steps' time.

import { h, type Children } from "../../dom";
import { durationUnit, inUnit, percent } from "../../numbers";
import { bars, key, kindClass, picture } from "../../picture/picture";
import { basisOf } from "../plan/costs";
import { capital, wordsOf } from "../plan/words";
import type { Column } from "./columns";

const MOST_CAUSES = 8;

export function timePicture(columns: Column[]): Children {
  const timed = columns.flatMap(({ name, plan }) => {
    const elapsed = plan && basisOf(plan)?.elapsedSeconds;
    if (!elapsed || !plan.stepTime) return [];
    const shares = new Map(
      (plan.stepTime.parts ?? []).map((each) => [each.cause ?? "", Number(each.share ?? 0)]),
    );
    return [{ name, elapsed, total: Number(elapsed.expected ?? 0), shares }];
  });
  if (timed.length < 2) return "";
  const sums = new Map<string, number>();
  for (const { total, shares } of timed) {
    for (const [cause, share] of shares) sums.set(cause, (sums.get(cause) ?? 0) + share * total);
  }
  const causes = [...sums.keys()].sort((a, b) => sums.get(b)! - sums.get(a)!);
  const few = causes.slice(0, MOST_CAUSES);
  const parts = [
    ...few.map((cause) => ({ words: wordsOf(cause, "STEP_CAUSE_"), all: [cause] })),
    ...(causes.length > few.length ? [{ words: "the rest", all: causes.slice(few.length) }] : []),
  ];
  const unit = durationUnit(Math.max(...timed.map((each) => each.total)));
  const label = `Time of the runs: ${timed
    .map((each) => `${each.name} ${inUnit(each.total, unit)}`)
    .join(", ")}`;
  const drawn = timed.map(({ name, elapsed, total, shares }) => ({
    label: name,
    low: Number(elapsed.low ?? 0) / unit.factor,
    high: Number(elapsed.high ?? 0) / unit.factor,
    parts: parts.map(({ words, all }, i) => {
      const share = all.reduce((sum, cause) => sum + (shares.get(cause) ?? 0), 0);
      return {
        kind: kindClass(i),
        value: (share * total) / unit.factor,
        label: `${words}: ${percent(share)}`,
      };
    }),
  }));
  return h(
    "section",
    { class: "card", "aria-labelledby": "times" },
    h("h2", { id: "times", tabindex: -1 }, "Where the time goes"),
    picture(label, (width) => bars(width, drawn, unit.name)),
    h(
      "ul",
      { class: "keys" },
      parts.map(({ words }, i) => h("li", {}, key(kindClass(i)), capital(words))),
    ),
  );
}
