// What a count says: shares of the components as bars, and every number in tables.

import type { CountModelResponseJson } from "api/accounting_service_pb";
import type {
  ModelFlops_ComponentJson,
  PassFlopsJson,
  StageParametersJson,
} from "api/model_count_pb";
import type { PlanJson } from "api/plan_pb";

import { h, type Children } from "../../dom";
import { grouped, percent, shortScaled, threeDigits } from "../../numbers";
import { card, table, tile } from "../../parts";
import { bars, key, kindClass, picture } from "../../picture/picture";
import { capital } from "../plan/words";

const CAUSAL = "MASK_CONVENTION_CAUSAL";

interface Component {
  name: string;
  kind: string;
  parameters: number;
  active: number;
  flops: number; // a token
}

const CONVENTIONS: Record<string, string> = {
  six_n_total: "6 N",
  six_n_non_embedding: "6 N without embeddings",
  palm_2022: "PaLM 2022",
};

const words = (name: string | undefined): string => capital((name ?? "").replace(/_/g, " "));

// "8.03 B": parameters as they are spoken of.
const short = (value: number): string => shortScaled(value, "").replace("G", "B").trim();

const number = (name: string, value: unknown): HTMLElement =>
  h("span", { "data-symbol": name, "data-value": String(value) }, grouped(Number(value ?? 0)));

// Model FLOPs: forward and both gradients, with half of a causal mask where there is one.
function flopsOf(component: ModelFlops_ComponentJson): number {
  const passes: PassFlopsJson = component.passes?.[1] ?? component.passes?.[0] ?? {};
  return [passes.forward, passes.inputGradient, passes.weightGradient].reduce<number>(
    (sum, each) => sum + Number(each ?? 0),
    0,
  );
}

// Components of parameters and of FLOPs by name, in the order of the forward pass.
function componentsOf(answer: CountModelResponseJson): Component[] {
  const all = new Map<string, Component>();
  const at = (name: string | undefined): Component => {
    const kind = kindClass(all.size);
    const found = all.get(name ?? "") ?? {
      name: words(name),
      kind,
      parameters: 0,
      active: 0,
      flops: 0,
    };
    all.set(name ?? "", found);
    return found;
  };
  for (const each of answer.parameters?.components ?? []) {
    const component = at(each.name);
    component.parameters = Number(each.parameterCount ?? 0);
    component.active = Number(each.activeParameterCount ?? 0);
  }
  for (const each of answer.flops?.components ?? []) at(each.name).flops += flopsOf(each);
  return [...all.values()];
}

function shares(components: Component[], experts: boolean): Children {
  const rows: [string, (of: Component) => number][] = [
    ["Parameters", (of) => of.parameters],
    ["A token’s", (of) => of.active],
    ["FLOPs", (of) => of.flops],
  ];
  const drawn = rows
    .filter(([label]) => experts || label !== "A token’s")
    .map(([label, of]) => ({ label, of, all: components.reduce((sum, each) => sum + of(each), 0) }))
    .filter(({ all }) => all > 0)
    .map(({ label, of, all }) => ({
      label,
      parts: components.map((each) => ({
        kind: each.kind,
        value: (100 * of(each)) / all,
        label: `${each.name}: ${percent(of(each) / all)}`,
      })),
    }));
  const label = drawn
    .map((bar) => `${bar.label}: ${bar.parts.map((part) => part.label).join(", ")}`)
    .join("; ");
  return picture(`Shares of the components. ${label}`, (width) => bars(width, drawn, "%"));
}

function tiles(answer: CountModelResponseJson): Children {
  const of = answer.parameters ?? {};
  const mask =
    answer.flops?.masks?.find((each) => each.mask === CAUSAL) ?? answer.flops?.masks?.[0];
  const count = (title: string, name: string, value: unknown): Children =>
    value !== undefined &&
    (name === "total" || value !== of.total) &&
    Number(value) > 0 &&
    tile(title, short(Number(value)), number(`parameters.${name}`, value));
  const flops = (title: string, name: string, value: unknown): Children =>
    value !== undefined &&
    tile(
      title,
      shortScaled(Number(value), "FLOP"),
      h("span", { "data-symbol": name, "data-value": String(value) }, "forward and backward"),
    );
  return h(
    "dl",
    { class: "tiles" },
    count("Parameters", "total", of.total),
    count("A token meets", "active", of.active),
    count("Trained", "trainable", of.trainable),
    count("Of embeddings", "embedding", of.embedding),
    count("Of predicting more tokens", "multi_token_prediction", of.multiTokenPrediction),
    flops("FLOPs a token", "model_flops_per_token", mask?.modelFlopsPerToken),
    mask?.hardwareFlopsPerToken !== mask?.modelFlopsPerToken &&
      flops("With recomputation", "hardware_flops_per_token", mask?.hardwareFlopsPerToken),
  );
}

function conventions(answer: CountModelResponseJson): Children {
  const all = answer.flops?.conventions ?? [];
  return (
    all.length > 0 &&
    card(
      "conventions",
      "The same by published conventions",
      table(
        "brief",
        ["Convention", ">FLOPs a token", ">To the exact count", "What it counts"],
        all.map((each) => [
          CONVENTIONS[each.name ?? ""] ?? words(each.name),
          each.flopsPerToken === undefined
            ? "–"
            : h(
                "span",
                { "data-convention": each.name, "data-value": each.flopsPerToken as number },
                shortScaled(Number(each.flopsPerToken), "FLOP"),
              ),
          each.ratioToExact === undefined ? "–" : threeDigits(Number(each.ratioToExact)),
          h("span", { class: "source" }, each.whyNot || each.definition, h("br"), each.source),
        ]),
      ),
    )
  );
}

// Stages of the same size as one row.
function stageRows(stages: StageParametersJson[]): Children[][] {
  const alike = (i: number): boolean =>
    stages[i]?.parameterCount === stages[i - 1]?.parameterCount &&
    stages[i]?.layerCount === stages[i - 1]?.layerCount;
  return stages.flatMap((each, i) => {
    if (i > 0 && alike(i)) return [];
    let last = i;
    while (last + 1 < stages.length && alike(last + 1)) ++last;
    return [
      [
        last > i ? `Stages ${i}–${last}` : `Stage ${i}`,
        grouped(Number(each.layerCount ?? 0)),
        number(`stages.${i}`, each.parameterCount),
      ],
    ];
  });
}

function layers(answer: CountModelResponseJson): Children {
  const stages = answer.stages ?? [];
  return card(
    "layers",
    "Layers",
    table(
      "compact",
      ["Kind", ">Layers", ">Parameters of each"],
      (answer.layerKinds ?? []).map((each) => [
        `${words(each.part)}, ${(each.layerKind ?? "").replace(/_/g, " ")}`,
        grouped(Number(each.layerCount ?? 0)),
        grouped(Number(each.parametersPerLayer ?? 0)),
      ]),
    ),
    stages.length > 1 &&
      table("compact", ["Stage", ">Layers", ">On each device"], stageRows(stages)),
  );
}

export function counts(answer: CountModelResponseJson): Children {
  const components = componentsOf(answer);
  const of = answer.parameters ?? {};
  const ignored = answer.ignoredConfigFields ?? [];
  const dash = (value: number, shown: Children): Children => (value > 0 ? shown : "–");
  return [
    card(
      "parameters",
      answer.modelName ?? "",
      tiles(answer),
      shares(components, of.active !== undefined && of.active !== of.total),
      table(
        "compact",
        ["Component", ">Parameters", ">FLOPs a token"],
        components.map((each) => [
          [key(each.kind), each.name],
          dash(each.parameters, number(`components.${each.name}`, each.parameters)),
          dash(
            each.flops,
            h(
              "span",
              { "data-symbol": `flops.${each.name}`, "data-value": each.flops },
              shortScaled(each.flops, "FLOP"),
            ),
          ),
        ]),
      ),
      h(
        "p",
        { class: "says" },
        answer.flops
          ? `Products of matrices, in sequences of ${grouped(Number(answer.flops.tokenCount))} ` +
              "tokens: forward and both gradients, half of a causal mask."
          : "No FLOPs: give the length of sequences, and of the encoder’s where there is one.",
      ),
      ignored.length > 0 && h("p", {}, "Not read of the config.json: ", ignored.join(", "), "."),
    ),
    layers(answer),
    conventions(answer),
  ];
}

// Of a number of parameters alone.
export function bareCount(plan: PlanJson): Children {
  const [of] = plan.flops?.counts ?? [];
  return card(
    "parameters",
    `${short(Number(plan.parameters?.total ?? 0))} parameters`,
    h(
      "dl",
      { class: "tiles" },
      tile(
        "Parameters",
        short(Number(plan.parameters?.total ?? 0)),
        number("parameters.total", plan.parameters?.total),
      ),
      of &&
        tile(
          "FLOPs a token",
          shortScaled(Number(of.flopsPerToken), "FLOP"),
          h(
            "span",
            { "data-symbol": "model_flops_per_token", "data-value": String(of.flopsPerToken) },
            "6 × parameters",
          ),
        ),
    ),
    h(
      "p",
      {},
      "A number has no components: name a model, or drop its config.json, to see what they are.",
    ),
  );
}
