#include "tests/validation/step_row.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"
#include "tests/validation/request.h"
#include "tests/validation/step_layout.h"
#include "tests/validation/step_measured.h"
#include "tests/validation/step_model.h"
#include "tests/validation/step_recipe.h"
#include "tests/validation/step_software.h"

namespace sextant {
namespace {

// The baseline of docs/accuracy-step-time.md.
constexpr double kBaselineMfu = 0.45;
// Products with one scale a row over those with one scale a tensor: torchtitan's of 2024
// (docs/step_time.md).
constexpr double kRowScaledRatio = 1.6;

// How far recomputation by operator is from none to all layers, in time: 0.45 of the linear layers'
// forward pass (torchtitan, fms-fsdp); half of it where JAX frameworks don't say; all of it for
// Pax.
constexpr double kByOperator = 0.45;
constexpr double kMaxTextUnknown = 0.5;

struct Parts {
  const StepSoftware* software = nullptr;
  const StepHardware* hardware = nullptr;
  StepFormat format = {};
  StepModel model = {};
  StepRecipe recipe = {};
};

// LoRA of NVIDIA's fine-tuning recipes in their fastest settings: rank 8 for models of 7 to 13
// billion parameters and 16 above, on the product of query, key and value alone. Source:
// NVIDIA/NeMo nemo/collections/llm/recipes/llama3_70b.py, performance_mode; ranks from memory.
constexpr int64_t kSmallRank = 8;
constexpr int64_t kLargeRank = 16;
constexpr int64_t kLargeHidden = 8192;

void SetAdapters(const CsvRow& row, v1::ModelSpec& out) {
  v1::ModelChanges& changes = *out.mutable_changes();
  const bool large = WholeCell(row, "hidden").value_or(0) >= kLargeHidden;
  changes.mutable_adapters()->set_rank(large ? kLargeRank : kSmallRank);
  for (const char* target : {"attention.query", "attention.key", "attention.value"}) {
    changes.mutable_adapters()->add_targets(target);
  }
  changes.set_base_frozen(true);
}

StepLayoutSource SourceOf(const CsvRow& row, const Parts& parts) {
  return {.row = &row, .model = &parts.model, .software = parts.software, .recipe = parts.recipe};
}

absl::Status CheckTask(const CsvRow& row, StepTask task) {
  const std::string name = Cell(row, "task");
  const bool tuned = name != "pretrain";
  if (tuned != (task == StepTask::kFineTuning)) {
    return absl::InvalidArgumentError(tuned ? "fine-tuning" : "pre-training");
  }
  if (tuned && !WholeCell(row, "micro_batch").has_value()) {
    return absl::InvalidArgumentError("printed again with its micro-batch");
  }
  return absl::OkStatus();
}

absl::StatusOr<Parts> PartsOf(const CsvRow& row) {
  Parts out;
  SEXTANT_ASSIGN_OR_RETURN(out.hardware, StepHardwareOf(row));
  SEXTANT_ASSIGN_OR_RETURN(out.software, StepSoftwareOf(row));
  SEXTANT_ASSIGN_OR_RETURN(out.format, StepFormatOf(row));
  SEXTANT_ASSIGN_OR_RETURN(out.model, StepModelOf(row));
  out.recipe = StepRecipeOf(row);
  if (Cell(row, "task") == "lora") SetAdapters(row, out.model.spec);
  return out;
}

void SetPrecision(const CsvRow& row, const Parts& parts, v1::PlanRunRequest& out) {
  v1::PrecisionPolicy& precision = *out.mutable_training()->mutable_precision();
  precision.set_compute_data_type(parts.format.type);
  const absl::string_view stack = parts.software->stack;
  const bool deepspeed = stack == "megatron_deepspeed";
  const bool wide = absl::StrContains(Cell(row, "precision"), "fp32 grad accumulation");
  if (stack == "megatron_lm_2022" || wide) {
    precision.set_gradient_data_type(v1::DATA_TYPE_FP32);
  } else if (deepspeed || stack == "internevo") {
    precision.set_gradient_data_type(parts.format.type);
  }
}

v1::PlanRunRequest BaseRequest(const CsvRow& row, const Parts& parts) {
  v1::PlanRunRequest out = RequestOn(std::string(parts.hardware->accelerator));
  *out.mutable_model() = parts.model.spec;
  out.mutable_training()->set_sequence_length(WholeCell(row, "seq_len").value_or(0));
  SetPrecision(row, parts, out);
  v1::ClusterSpec& cluster = *out.mutable_cluster();
  cluster.set_node_type(std::string(parts.hardware->node_type));
  cluster.mutable_network()->set_bytes_per_second(StepNetworkOf(row, *parts.hardware));
  out.mutable_options()->set_assumed_mfu(kBaselineMfu);
  // It says nothing about experts and frozen weights: theirs are counted exactly.
  if (!parts.model.experts && !out.model().changes().base_frozen()) {
    out.mutable_options()->set_flops_convention(v1::FLOPS_CONVENTION_PALM_2022);
  }
  return out;
}

// A vocabulary that the tensor parallel ranks can't divide, padded as Megatron does.
void SetVocabulary(const CsvRow& row, const Parts& parts, int64_t tensor, v1::ModelSpec& out) {
  const int64_t multiple = 128 * tensor;
  const bool divides = WholeCell(row, "vocab").value_or(0) % multiple == 0;
  if (!parts.software->pads_vocabulary || (divides && !parts.model.experts)) return;
  out.mutable_changes()->set_vocabulary_multiple(multiple);
}

// The request for one choice of what is open.
struct Choice {
  StepLayout layout = {};
  v1::RecomputePolicy recompute = v1::RECOMPUTE_POLICY_NONE;
};

v1::PlanRunRequest RequestFor(const CsvRow& row, const Parts& parts, const Choice& choice) {
  v1::PlanRunRequest out = BaseRequest(row, parts);
  const StepLayoutSource source = SourceOf(row, parts);
  SetStepLayout(source, choice.layout, out);
  SetVocabulary(row, parts, choice.layout.tensor, *out.mutable_model());
  // Transformer Engine keeps inputs as it multiplies them, at 8 bits where the ledger knows no
  // fewer; torchao quantises them again.
  if (parts.format.narrow() && parts.software->stack != "torchtitan") {
    out.mutable_layout()->mutable_kernels()->set_matmul_input_data_type(v1::DATA_TYPE_FP8_E4M3);
  }
  out.mutable_training()->set_recompute(choice.recompute);
  out.mutable_training()->set_token_count(out.layout().global_batch_size() *
                                          out.training().sequence_length());
  return out;
}

std::vector<v1::RecomputePolicy> RecomputeOf(const CsvRow& row, const Parts& parts, StepRow& out) {
  const std::string text = Cell(row, "recompute");
  if (parts.recipe.recompute.has_value()) return {*parts.recipe.recompute};
  if (text == "none") return {v1::RECOMPUTE_POLICY_NONE};
  if (text == "full") return {v1::RECOMPUTE_POLICY_FULL};
  if (text == "selective" && parts.software->pads_vocabulary) {
    return {v1::RECOMPUTE_POLICY_SELECTIVE};
  }
  const absl::string_view stack = parts.software->stack;
  out.recompute_blank = text.empty();
  out.likely_none = parts.software->pads_vocabulary;
  if (!out.likely_none) {
    out.point_share = stack == "pax" ? 1 : stack == "maxtext" ? kMaxTextUnknown : kByOperator;
  }
  if (!text.empty()) out.open.push_back("recomputation by operator");
  return {v1::RECOMPUTE_POLICY_NONE, v1::RECOMPUTE_POLICY_FULL};
}

bool Has(const std::vector<std::string>& names, absl::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Layouts of the choices of interleaving and micro-batch, the likely one first.
std::vector<StepLayout> LayoutsOf(const StepRow& row) {
  std::vector<StepLayout> out = {row.layout};
  if (Has(row.open, "interleaving") && row.layout.chunks > 1) {
    out.push_back(row.layout);
    out.back().chunks = 1;
  }
  if (!Has(row.open, "micro-batch")) return out;
  const std::vector<StepLayout> first = out;
  for (const int64_t size : {int64_t{2}, int64_t{4}}) {
    for (StepLayout layout : first) {
      const int64_t count = layout.micro_batches * layout.micro_batch;
      if (count % size != 0) continue;
      layout.micro_batch = size;
      layout.micro_batches = count / size;
      out.push_back(layout);
    }
  }
  return out;
}

std::string StrategyOf(const StepLayout& layout, bool sharded, bool experts) {
  if (experts) return layout.experts > 1 ? "experts, divided" : "experts";
  std::string out = sharded ? "fully sharded" : "";
  const std::pair<const char*, int64_t> kSizes[] = {
      {"tensor", layout.tensor}, {"pipeline", layout.stages}, {"context", layout.context}};
  for (const auto& [name, size] : kSizes) {
    if (size > 1) absl::StrAppend(&out, out.empty() ? "" : ", ", name);
  }
  return out.empty() ? "data alone" : out;
}

// The fewest and the most heads that BLOOM's trials have: of 300 and of 90 features.
void AddHeads(StepRow& out) {
  const v1::PlanRunRequest likely = out.requests.front();
  for (const int64_t heads : {int64_t{48}, int64_t{160}}) {
    out.requests.push_back(likely);
    v1::TransformerSpec& model = *out.requests.back().mutable_model()->mutable_transformer();
    model.set_attention_head_count(heads);
    model.clear_key_value_head_count();
  }
}

void SetScales(const Parts& parts, StepRow& out) {
  const StepHardware& hardware = *parts.hardware;
  if (hardware.product_time_ratio != 1) {
    out.scales.push_back({"sustained_time_ratio", hardware.product_time_ratio});
    out.scales.push_back({"narrow_sustained_time_ratio", hardware.product_time_ratio});
  }
  if (hardware.memory_time_ratio != 1) {
    out.scales.push_back({"memory_pass_time_ratio", hardware.memory_time_ratio});
  }
}

void SetNames(const CsvRow& row, const Parts& parts, StepRow& out) {
  out.id = Cell(row, "id");
  out.source = Cell(row, "source");
  out.task = Cell(row, "task");
  out.framework = std::string(parts.software->name);
  out.stack = std::string(parts.software->stack);
  out.hardware = std::string(parts.hardware->label);
  out.accelerator = std::string(parts.hardware->accelerator);
  out.model = parts.model.name;
  out.format = parts.format.name;
  out.narrow = parts.format.narrow();
  out.row_scaled = parts.format.row_scaled;
  out.flash_attention_2 = parts.recipe.flash_attention_2;
  out.expert_host = parts.recipe.overlaps_experts ? StepExpertHost::kOverlap
                    : parts.recipe.partial_graphs ? StepExpertHost::kGraphs
                                                  : StepExpertHost::kEager;
  out.experts = parts.model.experts;
  out.family = absl::StrCat(out.model, " | ", out.framework, " | ", out.format);
  const bool trial = absl::StartsWith(out.source, "BLOOM");
  out.sweep = absl::StrCat(out.source, " | ", trial ? Cell(row, "source_table") : out.model, " | ",
                           out.hardware, " | ", out.format);
}

}  // namespace

std::string ClassName(StepClass step_class) {
  switch (step_class) {
    case StepClass::kWide:
      return "dense, 16 bit";
    case StepClass::kNarrow:
      return "dense, 8 bit and less";
    case StepClass::kOpen:
      return "dense, something open";
    case StepClass::kExperts:
      return "experts";
  }
  return "";
}

StepClass StepRow::step_class() const {
  if (experts) return StepClass::kExperts;
  if (!open.empty()) return StepClass::kOpen;
  return narrow ? StepClass::kNarrow : StepClass::kWide;
}

absl::StatusOr<StepRow> StepRowOf(const CsvRow& row, StepTask task) {
  StepRow out;
  SEXTANT_ASSIGN_OR_RETURN(out.measured, MeasuredStepSeconds(row));
  SEXTANT_RETURN_IF_ERROR(CheckTask(row, task));
  SEXTANT_ASSIGN_OR_RETURN(const Parts parts, PartsOf(row));
  SEXTANT_RETURN_IF_ERROR(RequiredCell(row, "seq_len", "sequence length").status());
  SetNames(row, parts, out);
  SetScales(parts, out);
  const StepLayoutSource source = SourceOf(row, parts);
  SEXTANT_ASSIGN_OR_RETURN(out.layout, StepLayoutOf(source, out.open));
  if (parts.model.heads_open) out.open.push_back("heads");
  if (parts.hardware->power_open) out.open.push_back("power limit");
  const std::vector<v1::RecomputePolicy> policies = RecomputeOf(row, parts, out);
  for (const v1::RecomputePolicy policy : policies) {
    for (const StepLayout& layout : LayoutsOf(out)) {
      out.requests.push_back(RequestFor(row, parts, {.layout = layout, .recompute = policy}));
      if (!out.row_scaled) continue;
      out.requests.back().mutable_layout()->mutable_software()->set_narrow_product_time_ratio(
          kRowScaledRatio);
    }
  }
  if (parts.model.heads_open) AddHeads(out);
  const bool sharded =
      out.requests.front().layout().sharding().zero_stage() == v1::ZERO_STAGE_PARAMETERS;
  out.strategy = StrategyOf(out.layout, sharded, out.experts);
  return out;
}

StepRows StepRowsOf(const std::vector<CsvRow>& table, StepTask task) {
  StepRows out;
  for (const CsvRow& row : table) {
    absl::StatusOr<StepRow> translated = StepRowOf(row, task);
    if (translated.ok()) {
      out.rows.push_back(*std::move(translated));
    } else {
      out.left_out.push_back(
          {Cell(row, "source"), Cell(row, "id"), std::string(translated.status().message())});
    }
  }
  return out;
}

}  // namespace sextant
