// Runs as a recipe of Megatron-Bridge, written: the settings that Megatron-LM's arguments become.
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/launcher/launcher.h"
#include "server/launcher/nemo.h"
#include "server/launcher/nemo_arguments.h"
#include "server/launcher/python_file.h"

namespace sextant::server {
namespace {

using Value = SettingList::Value;

// Arguments that are settings of other sections than the model's.
// Source: Megatron-Bridge's training/config.py, whose sections are dataclasses of Megatron-Core's.
constexpr std::pair<const char*, const char*> kBridgeSections[] = {
    {"--micro-batch-size", "train"},
    {"--global-batch-size", "train"},
    {"--train-samples", "train"},
    {"--rampup-batch-size", "train"},
    {"--train-iters", "train"},
    {"--use-distributed-optimizer", "ddp"},
    {"--num-distributed-optimizer-instances", "ddp"},
    {"--use-megatron-fsdp", "ddp"},
    {"--data-parallel-sharding-strategy", "ddp"},
    {"--overlap-grad-reduce", "ddp"},
    {"--overlap-param-gather", "ddp"},
    {"--accumulate-allreduce-grads-in-fp32", "mixed_precision"},
    {"--grad-reduce-in-bf16", "mixed_precision"},
    {"--fp8-param-gather", "mixed_precision"},
    {"--use-precision-aware-optimizer", "optimizer"},
    {"--exp-avg-dtype", "optimizer"},
    {"--exp-avg-sq-dtype", "optimizer"},
    {"--main-grads-dtype", "optimizer"},
    {"--main-params-dtype", "optimizer"},
    {"--optimizer-cpu-offload", "optimizer"},
    {"--optimizer-offload-fraction", "optimizer"},
    {"--optimizer", "optimizer"},
    {"--sgd-momentum", "optimizer"},
    {"--ckpt-format", "checkpoint"},
    {"--tp-comm-overlap", "comm_overlap"},
    {"--no-overlap-p2p-communication", "comm_overlap"},
};

// Those that the recipe of mixed precision stands for, and those that no section has.
constexpr const char* kBridgeElsewhere[] = {
    "--bf16",
    "--fp16",
    "--fp8-format",
    "--fp8-recipe",
    "--fp4-format",
    "--swiglu",
    "--group-query-attention",
    "--max-position-embeddings",
};

constexpr const char* kShape[] = {
    "num_layers",       "hidden_size", "ffn_hidden_size", "num_attention_heads",
    "num_query_groups", "kv_channels", "vocab_size",
};

std::string SectionOf(const std::string& argument) {
  const auto row =
      absl::c_find_if(kBridgeSections, [&](const auto& each) { return argument == each.first; });
  return row == std::end(kBridgeSections) ? "model" : row->second;
}

// The words that stand for a data type in Python.
Value TypedValue(const std::string& key, const Value& value) {
  if (!value.is_string()) return value;
  const auto& text = value.get_ref<const std::string&>();
  if (absl::EndsWith(key, "_dtype")) {
    const char* const type = text == "fp32"   ? "torch.float32"
                             : text == "bf16" ? "torch.bfloat16"
                             : text == "fp16"
                                 ? "torch.float16"
                                 : "torch.uint8";  // 8-bit states, as Megatron has them
    return absl::StrCat(kPythonName, type);
  }
  // An expression of Python's: "([0]*3+[1]*58)".
  if (key == "moe_layer_freq") return absl::StrCat(kPythonName, text);
  if (key == "attention_backend") return absl::StrCat(kPythonName, "AttnBackend.", text);
  if (key == "recompute_modules") {
    return std::vector<std::string>(absl::StrSplit(text, ' '));
  }
  if (key == "rampup_batch_size") {
    Value numbers = Value::array();
    for (const absl::string_view word : absl::StrSplit(text, ' ')) {
      int64_t number = 0;
      if (absl::SimpleAtoi(word, &number)) numbers.push_back(number);
    }
    return numbers;
  }
  double number = 0;
  if (absl::SimpleAtod(text, &number)) return number;
  return text;
}

// The recipe of mixed precision of the run's arguments.
std::string RecipeOf(const SettingList& list) {
  std::string fp8;
  bool half = false;
  bool bf16 = false;
  for (const auto& [name, value] : list.all()) {
    half = half || name == "--fp16";
    bf16 = bf16 || name == "--bf16";
    if (name == "--fp4-format") fp8 = "nvfp4";
    if (name == "--fp8-format" && fp8.empty()) fp8 = "fp8_delayed_scaling";
    if (name != "--fp8-recipe") continue;
    fp8 = value == "mxfp8"        ? "mxfp8"
          : value == "tensorwise" ? "fp8_current_scaling"
          : value == "blockwise"  ? "fp8_subchannel_scaling"
                                  : "fp8_delayed_scaling";
  }
  if (!half && !bf16) return "";
  const std::string wide = half ? "fp16" : "bf16";
  return fp8.empty() ? absl::StrCat(wide, "_mixed") : absl::StrCat(wide, "_with_", fp8, "_mixed");
}

// A recipe's parts: the arguments of its model, and its assignments.
struct BridgeParts {
  Value model = Value::object();
  std::vector<std::string> lines = {};
};

BridgeParts PartsOf(const SettingList& list) {
  BridgeParts out;
  for (const auto& [name, value] : list.all()) {
    if (name == "--swiglu") {
      out.model["gated_linear_unit"] = true;
      out.model["activation_func"] = absl::StrCat(kPythonName, "torch.nn.functional.silu");
    }
    if (absl::c_linear_search(kBridgeElsewhere, name)) continue;
    const NemoSetting setting = NemoSettingOf(name);
    const Value typed = value == true ? Value(setting.is_on) : TypedValue(setting.key, value);
    if (absl::c_linear_search(kShape, setting.key)) {
      out.model[setting.key] = typed;
      continue;
    }
    out.lines.push_back(
        absl::StrCat("cfg.", SectionOf(name), ".", setting.key, " = ", PythonText(typed)));
    if (name == "--seq-length") {
      out.lines.push_back(absl::StrCat("cfg.dataset.seq_length = ", PythonText(typed)));
    }
  }
  return out;
}

}  // namespace

absl::StatusOr<LauncherFile> WriteMegatronBridge(const LaunchedRun& run) {
  absl::StatusOr<Writing> written = WriteSettings("Megatron-Bridge", MegatronSettings(), run);
  if (!written.ok()) return written.status();
  const std::string recipe = RecipeOf(written->list);
  if (recipe.empty()) {
    written->refusals.Add("training.precision.compute_data_type",
                          "its recipes compute in 16 bits or fewer", "fp32");
    return written->refusals.status();
  }
  const BridgeParts parts = PartsOf(written->list);
  std::string imports = "import torch\n";
  const std::string text = absl::StrJoin(parts.lines, "\n    ");
  if (absl::StrContains(text, "AttnBackend")) {
    absl::StrAppend(&imports, "from megatron.core.transformer.enums import AttnBackend\n");
  }
  const bool overlaps = absl::StrContains(text, "cfg.comm_overlap.");
  if (overlaps) {
    absl::StrAppend(&imports,
                    "from megatron.bridge.training.comm_overlap import CommOverlapConfig\n");
  }
  LauncherFile out = std::move(written->out);
  out.text = absl::StrCat(
      imports, "from megatron.bridge.models.gpt_provider import GPTModelProvider\n",
      "from megatron.bridge.recipes.common import _pretrain_common\n",
      "from megatron.bridge.training.config import ConfigContainer\n",
      "from megatron.bridge.training.mixed_precision import ", recipe, "\n\n\n",
      "def planned_config() -> ConfigContainer:\n    cfg = _pretrain_common()\n    cfg.model = ",
      PythonCall("GPTModelProvider", parts.model, 4), "\n    cfg.mixed_precision = ", recipe,
      "()\n", overlaps ? "    cfg.comm_overlap = CommOverlapConfig(tp_comm_overlap=False)\n" : "",
      "    ", text, "\n    return cfg\n");
  out.left_out.emplace_back("cfg.tokenizer");
  return out;
}

}  // namespace sextant::server
