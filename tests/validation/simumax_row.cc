#include "tests/validation/simumax_row.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"
#include "tests/validation/megatron_row.h"
#include "tests/validation/request.h"

namespace sextant {
namespace {

using nlohmann::json;

constexpr char kAccelerator[] = "b200-sxm";
constexpr double kMebibyte = 0x1p20;  // the logs' MB

json Cut(const CsvRow& row) {
  json out = {{"num-layers", WholeCell(row, "layers").value_or(0)},
              {"hidden-size", WholeCell(row, "hidden").value_or(0)},
              {"ffn-hidden-size", WholeCell(row, "ffn_hidden").value_or(0)},
              {"num-attention-heads", WholeCell(row, "heads").value_or(0)},
              {"seq-length", WholeCell(row, "seq_len").value_or(0)},
              {"micro-batch-size", WholeCell(row, "micro_batch").value_or(1)}};
  const std::pair<const char*, const char*> kSizes[] = {{"tp", "tensor-model-parallel-size"},
                                                        {"pp", "pipeline-model-parallel-size"},
                                                        {"cp", "context-parallel-size"},
                                                        {"ep", "expert-model-parallel-size"}};
  for (const auto& [column, argument] : kSizes) {
    out[argument] = WholeCell(row, column).value_or(1);
  }
  // NullTokenizer's size is less its end-of-document token; the launchers give the model's own.
  out["tokenizer-type"] = "NullTokenizer";
  out["vocab-size"] = WholeCell(row, "vocab").value_or(0);
  return out;
}

void AddModel(const CsvRow& row, json& out) {
  for (const char* flag :
       {"bf16", "swiglu", "disable-bias-linear", "untie-embeddings-and-output-weights",
        "use-distributed-optimizer", "sequence-parallel"}) {
    out[flag] = true;
  }
  out["normalization"] = "RMSNorm";
  out["position-embedding-type"] = "rope";
  out["hidden-dropout"] = out["attention-dropout"] = 0.0;
  out["cross-entropy-loss-fusion"] = true;
  out["cross-entropy-fusion-impl"] = "te";
  if (Cell(row, "attention") != "MLA") {
    out["group-query-attention"] = true;
    out["num-query-groups"] = WholeCell(row, "kv_heads").value_or(0);
    return;
  }
  const int64_t layers = WholeCell(row, "layers").value_or(0);
  out["multi-latent-attention"] = out["qk-layernorm"] = out["moe-grouped-gemm"] = true;
  out["q-lora-rank"] = 1536;
  out["kv-lora-rank"] = 512;
  out["num-experts"] = WholeCell(row, "experts").value_or(0);
  out["moe-router-topk"] = WholeCell(row, "topk").value_or(0);
  out["moe-ffn-hidden-size"] = WholeCell(row, "moe_ffn_hidden").value_or(0);
  out["moe-layer-freq"] = absl::StrCat("([0]*1+[1]*", layers - 1, ")*1");
  out["moe-shared-expert-intermediate-size"] =
      absl::StrContains(Cell(row, "model"), "deepseek-v2") ? 3072 : 2048;
}

// "...; max over ranks alloc 28965.36 MB reserved 29816.0 MB"
absl::Status AddFigures(const std::string& text, MeasuredCase& out) {
  const std::vector<std::string> words = absl::StrSplit(text, absl::ByAnyChar(" ;,"));
  for (size_t i = 0; i + 2 < words.size(); ++i) {
    if (words[i + 2] != "MB") continue;
    const auto size = PublishedBytes(absl::StrCat(words[i + 1], "MB"), kMebibyte);
    if (!size.has_value()) continue;
    if (words[i] == "alloc") out.measured.push_back({MemoryDefinition::kAllocated, *size});
    if (words[i] == "reserved") out.measured.push_back({MemoryDefinition::kReserved, *size});
  }
  if (out.measured.size() == 2) return absl::OkStatus();
  return absl::InvalidArgumentError("no measured memory");
}

}  // namespace

absl::StatusOr<MeasuredCase> SimumaxCase(const CsvRow& row) {
  json arguments = Cut(row);
  AddModel(row, arguments);
  SEXTANT_ASSIGN_OR_RETURN(const MegatronArguments parsed,
                           MegatronArguments::Parse(arguments.dump()));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t gpus, RequiredCell(row, "gpus", "GPU count"));
  MeasuredCase out;
  const MegatronMachine machine = {.accelerator = kAccelerator, .gpu_count = gpus};
  SEXTANT_RETURN_IF_ERROR(DescribeMegatron(parsed, machine, false, out));
  out.hardware = Cell(row, "hardware");
  out.series = Cell(row, "model");
  v1::PlanRunRequest& request = out.all_fields;
  request.mutable_layout()->mutable_kernels()->set_loss(v1::KernelChoices::LOSS_FUSED);
  SetSizes({.data_parallel_size = DataParallelSize(request),
            .micro_batch_count = WholeCell(row, "grad_accum").value_or(1)},
           request);
  SEXTANT_RETURN_IF_ERROR(AddFigures(Cell(row, "peak_mem_as_published"), out));
  return out;
}

}  // namespace sextant
