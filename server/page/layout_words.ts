// A layout in words.

import type { LayoutOptionJson } from "api/layout_search_pb";

import { settingWords } from "./views/plan/words";

function recomputeWords({ layout, recompute }: LayoutOptionJson): string {
  const kernels = layout?.kernels;
  if (recompute === "RECOMPUTE_POLICY_FULL") {
    const layers = Number(kernels?.recomputedLayersPerBlock ?? 1);
    return layers > 1 ? `full, by ${layers} layers` : "full";
  }
  if (recompute === "RECOMPUTE_POLICY_OPERATORS") return "by operator";
  const parts = [
    recompute === "RECOMPUTE_POLICY_SELECTIVE" && "selective",
    kernels?.recomputeNormOutputs && "norms",
    kernels?.recomputeActivationFunction && "activation functions",
    kernels?.recomputeLatentUpProjections && "latent projections",
  ].filter(Boolean);
  return parts.length > 0 ? parts.join(", ") : "none";
}

function shardedWords({ layout }: LayoutOptionJson): string {
  const sharding = layout?.sharding;
  const stage = settingWords({ enumName: sharding?.zeroStage ?? "ZERO_STAGE_NONE" });
  const group = sharding?.shardGroupSize ? `, in groups of ${sharding.shardGroupSize}` : "";
  return `${stage}${group}${sharding?.reshardAfterForward === false ? ", kept gathered" : ""}`;
}

const OFFLOADED = { none: "nothing", optimizer: "optimizer state", all: "state and weights" };

// Names of what a layout says, each with its value. What no search chose is absent.
export function layoutWords(option: LayoutOptionJson): [string, string][] {
  const layout = option.layout ?? {};
  const sizes = layout.parallel ?? {};
  const chunks = Number(sizes.virtualStageCount ?? 1);
  const stages = sizes.pipelineParallelSize ?? "1";
  const away = layout.sharding?.offloadParameters
    ? "all"
    : layout.sharding?.offloadOptimizer
      ? "optimizer"
      : "none";
  const all: [string, string | undefined][] = [
    ["Tensor parallel", sizes.tensorParallelSize ?? "1"],
    [
      "Sequence parallel",
      layout.sequenceParallel === undefined ? undefined : layout.sequenceParallel ? "on" : "off",
    ],
    ["Pipeline stages", chunks > 1 ? `${stages} × ${chunks} chunks` : stages],
    ["Context parallel", layout.contextParallelSize ?? "1"],
    ["Expert parallel", sizes.expertParallelSize],
    ["Expert tensor parallel", sizes.expertTensorParallelSize],
    ["Micro-batch", layout.microBatchSize],
    ["Sharded state", shardedWords(option)],
    ["Recomputation", recomputeWords(option)],
    ["Schedule", layout.schedule && settingWords({ enumName: layout.schedule })],
    ["Loss", layout.kernels?.loss && settingWords({ enumName: layout.kernels.loss })],
    ["Offloaded", OFFLOADED[away]],
  ];
  return all.filter((each): each is [string, string] => each[1] !== undefined);
}

// What most layouts have, and need not be said.
export const isUsual = ([, value]: [string, string]): boolean =>
  ["1", "off", "none", "nothing", "one forward one backward"].includes(value);

// In a line.
export function layoutLine(option: LayoutOptionJson): string {
  return layoutWords(option)
    .filter((each) => !isUsual(each))
    .map(([name, value]) => `${name.toLowerCase()} ${value}`)
    .join(", ");
}
