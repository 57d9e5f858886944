// The memory of every pipeline stage, alike ones as one bar.

import type { MemoryJson, StageMemoryJson } from "api/memory_pb";

import { h, replace, type Children } from "../../dom";
import { gib } from "../../numbers";
import { bars, key, kindClass, picture } from "../../picture/picture";
import { capital, wordsOf } from "./words";

const MOST_BARS = 12;
const KINDS = [
  "WEIGHT",
  "GRADIENT",
  "MASTER_WEIGHT",
  "OPTIMIZER_STATE",
  "ACTIVATION",
  "TRANSIENT",
  "COMMUNICATION_BUFFER",
  "FRAMEWORK_RESERVE",
];

interface Stages {
  first: number;
  last: number;
  fullest: StageMemoryJson;
}

const total = (stage: StageMemoryJson): number => Number(stage.totalBytes ?? 0);

function sum(stage: StageMemoryJson, kind: string): number {
  return Number(stage.sums?.find((each) => each.kind === `LEDGER_KIND_${kind}`)?.sizeBytes ?? 0);
}

// Neighbours of which no kind differs by more than `tolerance` bytes from the first.
function folded(stages: StageMemoryJson[], tolerance: number): Stages[] {
  const out: Stages[] = [];
  let first: StageMemoryJson | undefined;
  for (const [i, stage] of stages.entries()) {
    const alike =
      first && KINDS.every((kind) => Math.abs(sum(first!, kind) - sum(stage, kind)) <= tolerance);
    const last = out[out.length - 1];
    if (alike && last) {
      last.last = i;
      if (total(stage) > total(last.fullest)) last.fullest = stage;
    } else {
      first = stage;
      out.push({ first: i, last: i, fullest: stage });
    }
  }
  return out;
}

// As few bars as people look at: stages that differ little become one, the last ones too.
export function foldStages(stages: StageMemoryJson[], most = MOST_BARS): Stages[] {
  const fullest = Math.max(...stages.map(total));
  for (const share of [0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]) {
    const out = folded(stages, share * fullest);
    if (out.length <= most) return out;
  }
  return folded(stages, 0.3 * fullest);
}

function labelOf({ first, last }: Stages): string {
  return first === last ? `Stage ${first}` : `Stages ${first}–${last}`;
}

// What a stage holds, row by row, asked for once somebody looks.
function rows(stage: number, load: () => Promise<StageMemoryJson | undefined>): HTMLElement {
  const place = h(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": `What stage ${stage} holds` },
    h("p", { class: "says" }, "Asking…"),
  );
  const show = async (): Promise<void> => {
    const ledger = (await load())?.ledger ?? [];
    replace(
      place,
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            ["Tensor", "Shape", "Kind", "GiB", "Why"].map((head) =>
              h("th", { scope: "col", class: head === "GiB" && "number" }, head),
            ),
          ),
        ),
        h(
          "tbody",
          {},
          ledger.map((row) =>
            h(
              "tr",
              {},
              h(
                "th",
                { scope: "row" },
                row.name ?? "",
                Number(row.layerCount ?? 0) > 1 && ` × ${row.layerCount} layers`,
              ),
              h("td", {}, row.shape || (row.dimensions ?? []).join(" × ")),
              h("td", {}, wordsOf(row.kind, "LEDGER_KIND_")),
              h("td", { class: "number" }, gib(Number(row.sizeBytes ?? 0))),
              h("td", { class: "source" }, row.why ?? ""),
            ),
          ),
        ),
      ),
    );
  };
  const details = h(
    "details",
    {
      "data-keep": "ledger",
      toggle: () => {
        if (details.open) show().catch((error: Error) => replace(place, h("p", {}, error.message)));
      },
    },
    h("summary", {}, `What stage ${stage} holds, row by row`),
    place,
  );
  return details;
}

// `load` asks for the ledger of a stage.
export function memory(
  of: MemoryJson,
  load: (stage: number) => Promise<StageMemoryJson | undefined>,
): Children {
  const stages = of.stages ?? [];
  if (stages.length === 0) return "";
  const usable = Number(of.capacity?.usableBytes ?? 0);
  const kinds = KINDS.filter((kind) => stages.some((stage) => sum(stage, kind) > 0));
  const classOf = (kind: string): string => kindClass(KINDS.indexOf(kind));
  const shown = foldStages(stages);
  const exact = shown.every((row) => folded(stages.slice(row.first, row.last + 1), 0).length === 1);
  const drawn = shown.map((row) => ({
    label: labelOf(row),
    low: Number(row.fullest.processBytes?.low ?? 0) / 2 ** 30,
    high: Number(row.fullest.processBytes?.high ?? 0) / 2 ** 30,
    parts: kinds.map((kind) => ({
      kind: classOf(kind),
      value: sum(row.fullest, kind) / 2 ** 30,
      label: `${wordsOf(kind, "")}: ${gib(sum(row.fullest, kind))} GiB`,
    })),
  }));
  const label =
    "Memory of a device of each stage, in GiB: " +
    shown.map((row) => `${labelOf(row)} ${gib(total(row.fullest))}`).join(", ") +
    `; ${gib(usable)} usable`;
  return h(
    "section",
    { class: "card", "aria-labelledby": "memory" },
    h("h2", { id: "memory", tabindex: -1 }, "Memory of each stage"),
    picture(label, (width) =>
      bars(width, drawn, "GiB", { value: usable / 2 ** 30, label: "usable" }),
    ),
    h(
      "table",
      { class: "stages" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "GiB at the peak"),
          shown.slice(0, 4).map((row) => h("th", { scope: "col", class: "number" }, labelOf(row))),
        ),
      ),
      h(
        "tbody",
        {},
        kinds.map((kind) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, key(classOf(kind)), capital(wordsOf(kind, ""))),
            shown
              .slice(0, 4)
              .map((row) => h("td", { class: "number" }, gib(sum(row.fullest, kind)))),
          ),
        ),
        h(
          "tr",
          { class: "sum" },
          h("th", { scope: "row" }, "Together"),
          shown.slice(0, 4).map((row) =>
            h(
              "td",
              {
                class: "number",
                "data-stage": row.fullest.stage ?? "0",
                "data-value": String(row.fullest.totalBytes),
              },
              gib(total(row.fullest)),
            ),
          ),
        ),
      ),
    ),
    shown.length > 2 &&
      h(
        "p",
        { class: shown.length > 4 ? "says" : "says narrow" },
        "The picture has all stages, the table the first.",
      ),
    shown.length < stages.length &&
      h(
        "p",
        { class: "says" },
        exact
          ? "Stages with the same memory are one bar."
          : "Neighbours with nearly the same memory are one bar: that of the fullest.",
      ),
    rows(Number(of.peakStage ?? 0), () => load(Number(of.peakStage ?? 0))),
  );
}
