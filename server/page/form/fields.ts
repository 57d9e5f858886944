// The fields of the form: where each is in the request, and how it is read.

import type { Read } from "../numbers";
import { countText, readBytes, readCount, readLength, readNumber } from "../numbers";

export interface Choice {
  value: string;
  text: string;
}

export interface Field {
  path: string; // in JSON
  label: string;
  read?: (text: string) => Read; // of numbers
  choices?: Choice[]; // of a choice; a first one, of none, is added
  none?: string; // what none means
  date?: boolean;
  short?: boolean; // beside others
  list?: string; // the id of names to choose from
  unit?: string;
}

export interface Group {
  title: string;
  fields: Field[];
  folded?: boolean; // unless one of them is given
  says?: string;
}

function choices(prefix: string, texts: Record<string, string>): Choice[] {
  return Object.entries(texts).map(([name, text]) => ({ value: `${prefix}${name}`, text }));
}

const size = (path: string, label: string): Field => ({
  path,
  label,
  read: readLength,
  short: true,
});

export const GROUPS: Group[] = [
  {
    title: "Run",
    fields: [
      { path: "model.preset", label: "Model", list: "models" },
      { path: "training.tokenCount", label: "Tokens", read: readCount, short: true },
      { path: "training.sequenceLength", label: "Sequence length", read: readLength, short: true },
      { path: "layout.globalBatchSize", label: "Sequences a step", read: readLength, short: true },
    ],
  },
  {
    title: "Devices",
    fields: [
      { path: "cluster.device.accelerator", label: "Device", list: "accelerators" },
      { path: "cluster.deviceCount", label: "How many", read: readCount, short: true },
      { path: "cluster.nodeType", label: "Server", choices: [], none: "the usual one" },
      { path: "cluster.network.name", label: "Network", choices: [], none: "the usual one" },
    ],
  },
  {
    title: "Layout",
    folded: true,
    says: "What is left empty is searched for.",
    fields: [
      {
        path: "layout.framework.kind",
        label: "Framework",
        none: "Megatron-LM’s defaults",
        choices: choices("KIND_", {
          MEGATRON_LM: "Megatron-LM",
          MEGATRON_BRIDGE: "Megatron-Bridge",
          DEEPSPEED: "DeepSpeed",
          PYTORCH_FSDP: "PyTorch FSDP2",
          TORCHTITAN: "torchtitan",
          LLM_FOUNDRY: "llm-foundry",
          HUGGING_FACE_TRAINER: "Hugging Face Trainer",
          PYTORCH_DDP: "PyTorch DDP",
        }),
      },
      size("layout.parallel.tensorParallelSize", "Tensor parallel"),
      size("layout.parallel.pipelineParallelSize", "Pipeline stages"),
      size("layout.parallel.virtualStageCount", "Chunks a stage"),
      size("layout.contextParallelSize", "Context parallel"),
      size("layout.parallel.expertParallelSize", "Expert parallel"),
      size("layout.microBatchSize", "Micro-batch"),
      {
        path: "layout.sharding.zeroStage",
        label: "Sharded state",
        none: "the framework’s",
        choices: choices("ZERO_STAGE_", {
          NONE: "0: nothing",
          OPTIMIZER: "1: optimizer state",
          GRADIENTS: "2: and gradients",
          PARAMETERS: "3: and weights (FSDP)",
        }),
      },
      {
        path: "layout.schedule",
        label: "Schedule",
        none: "1F1B",
        choices: choices("PIPELINE_SCHEDULE_", {
          GPIPE: "GPipe",
          ZERO_BUBBLE_H1: "Zero bubble H1",
          ZERO_BUBBLE_H2: "Zero bubble H2",
          DUALPIPE: "DualPipe",
        }),
      },
      {
        path: "training.recompute",
        label: "Recomputation",
        none: "none",
        choices: choices("RECOMPUTE_POLICY_", {
          NONE: "none",
          SELECTIVE: "selective",
          FULL: "full",
          OPERATORS: "by operator",
        }),
      },
    ],
  },
  {
    title: "Numbers and optimizer",
    folded: true,
    fields: [
      {
        path: "training.precision.computeDataType",
        label: "Computes in",
        none: "bf16",
        choices: choices("DATA_TYPE_", {
          FP32: "fp32",
          TF32: "tf32",
          FP16: "fp16",
          BF16: "bf16",
          FP8: "fp8",
          MXFP8: "mxfp8",
          NVFP4: "nvfp4",
        }),
      },
      {
        path: "training.optimizer.kind",
        label: "Optimizer",
        none: "AdamW",
        choices: choices("KIND_", {
          SGD: "SGD",
          SGD_MOMENTUM: "SGD with momentum",
          ADAM: "Adam",
          ADAMW: "AdamW",
          ADAFACTOR: "Adafactor",
          LION: "Lion",
          MUON: "Muon",
          ADAM_8BIT: "8-bit Adam",
          GALORE: "GaLore",
        }),
      },
      {
        path: "cluster.reservedMemoryBytes",
        label: "Memory kept free on a device",
        read: readBytes,
      },
    ],
  },
  {
    title: "Money and power",
    folded: true,
    fields: [
      {
        path: "economics.deviceHourPriceUsd",
        label: "Price of a device-hour",
        read: readNumber,
        unit: "USD",
        short: true,
      },
      { path: "economics.budgetUsd", label: "Budget", read: readNumber, unit: "USD", short: true },
      { path: "economics.deadline", label: "Done by", date: true, short: true },
      {
        path: "economics.powerUsageEffectiveness",
        label: "Facility over IT power (PUE)",
        read: readNumber,
        short: true,
      },
    ],
  },
];

// Fields of JSON numbers; whole ones of 64 bits are texts.
export const isDouble = (field: Field): boolean => field.read === readNumber;

const FIELDS = new Map(GROUPS.flatMap((group) => group.fields.map((each) => [each.path, each])));

// True where the form edits a part of the run.
export const hasControl = (part: string): boolean =>
  FIELDS.has(part) || part === "model" || part === "cluster.device";

// What the form calls the field of a path; words of the path where it has none.
export function labelOf(path: string): string {
  const name = path.split(".").pop() ?? path;
  const words = name.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);
  return FIELDS.get(path)?.label ?? words.charAt(0).toUpperCase() + words.slice(1);
}

// A value of the request as the form has it, cut where it is long.
export function shownValue(path: string, value: unknown): string {
  const field = FIELDS.get(path);
  if (value === undefined) return field?.none ?? "—";
  const text = typeof value === "object" ? JSON.stringify(value) : String(value);
  const choice = field?.choices?.find((each) => each.value === text)?.text;
  if (choice) return choice;
  if (/^[A-Z]+(_[A-Z\d]+)+$/.test(text)) return text.toLowerCase().replace(/_/g, " ");
  return (field?.read === readCount ? countText(text) : text).slice(0, 60);
}
