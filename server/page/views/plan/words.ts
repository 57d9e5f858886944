// Words for what the API has names for; a name that is not known here stands as it is.

import { grouped } from "../../numbers";

const WORDS: Record<string, string> = {
  MATMUL: "matrix products",
  EXPERTS: "products of experts",
  MEMORY_PASS: "passes over memory",
  TENSOR_EXCHANGE: "tensor parallel exchange",
  CONTEXT_EXCHANGE: "context parallel exchange",
  EXPERT_EXCHANGE: "exchange among experts",
  SHARD_EXCHANGE: "exchange of shards",
  HOST: "waiting for the host",
  PIPELINE_EXCHANGE: "sends between stages",
  DATA_EXCHANGE: "data parallel exchange",
  OPTIMIZER: "optimizer step",
  SCALE: "stragglers and jitter",
  HOST_COPY: "copies to and from the host",
  HOST_OPTIMIZER: "optimizer step on the host",
  ARITHMETIC: "arithmetic",
  LINK: "link within servers",
  NETWORK: "network between servers",
  MEASURED_SUPPLIED: "measured, by a calibration in the request",
  MEASURED_DEVICE: "measured on these devices",
  MEASURED_MODEL: "measured on other devices of the product",
  REFERENCE: "published measurements",
  DATASHEET: "datasheet",
  REQUEST: "given in the request",
  PREDICTED: "predicted",
  LOWER_BOUND: "at least (full peak)",
  TEXTBOOK: "by the textbook",
  MEASURED_BOUND: "at the measured rate",
  MASTER_WEIGHT: "fp32 weights",
  TRANSIENT: "during a computation",
  COMMUNICATION_BUFFER: "communication buffers",
  FRAMEWORK_RESERVE: "driver, libraries, allocator",
  WEIGHT: "weights",
  GRADIENT: "gradients",
  ACTIVATION: "activations",
};

// "pipeline bubble" of STEP_CAUSE_PIPELINE_BUBBLE.
export function wordsOf(name: string | undefined, prefix: string): string {
  const bare = (name ?? "").replace(prefix, "");
  return WORDS[bare] ?? bare.toLowerCase().replace(/_/g, " ");
}

// "pipeline parallel size" of layout.parallel.pipeline_parallel_size.
export function fieldWords(path: string): string {
  const names = path.split(".").filter((name) => name !== "name" && name !== "kind");
  return (names[names.length - 1] ?? path).replace(/_/g, " ");
}

const ZERO: Record<string, string> = {
  NONE: "0: nothing",
  OPTIMIZER: "1: optimizer state",
  GRADIENTS: "2: and gradients",
  PARAMETERS: "3: and weights",
};

const SHARD: Record<string, string> = {
  ZERO_STAGE_NONE: "shard no state",
  ZERO_STAGE_OPTIMIZER: "shard optimizer state (ZeRO 1)",
  ZERO_STAGE_GRADIENTS: "shard optimizer state and gradients (ZeRO 2)",
  ZERO_STAGE_PARAMETERS: "shard optimizer state, gradients and weights (ZeRO 3)",
};

interface Setting {
  number?: string;
  enabled?: boolean;
  enumName?: string;
}

// A changed setting in words, as something to do.
export function changeWords(field: string, value: Setting | undefined): string {
  const name = field.slice(field.lastIndexOf(".") + 1);
  const words = settingWords(value);
  switch (name) {
    case "zero_stage":
      return SHARD[value?.enumName ?? ""] ?? `shard ${words}`;
    case "offload_optimizer":
      return words === "on" ? "keep optimizer state in host memory" : "offload no optimizer state";
    case "offload_parameters":
      return words === "on" ? "keep weights in host memory" : "offload no weights";
    case "recompute":
      return `recompute ${words === "full" ? "all activations" : words}`;
    case "device_count":
      return `use ${grouped(Number(words))} devices`;
    case "sequence_length":
      return `train on sequences of ${grouped(Number(words))} tokens`;
    default:
      return `${fieldWords(field)}: ${words}`;
  }
}

// A setting's value in words.
export function settingWords(value: Setting | undefined): string {
  if (value?.enumName?.startsWith("ZERO_STAGE_")) {
    return ZERO[value.enumName.replace("ZERO_STAGE_", "")] ?? value.enumName;
  }
  if (value?.enumName !== undefined) {
    return value.enumName
      .replace(/^(RECOMPUTE_POLICY|PIPELINE_SCHEDULE|LOSS|ATTENTION|DATA_TYPE|KIND)_/, "")
      .toLowerCase()
      .replace(/_/g, " ");
  }
  return value?.enabled !== undefined ? (value.enabled ? "on" : "off") : (value?.number ?? "0");
}

// As JSON has it in a request.
export function settingValue(value: Setting | undefined): unknown {
  return value?.enumName ?? value?.enabled ?? value?.number ?? "0";
}

export const capital = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);
