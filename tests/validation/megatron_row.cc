#include "tests/validation/megatron_row.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "tests/validation/cells.h"
#include "tests/validation/megatron_model.h"
#include "tests/validation/request.h"
#include "tests/validation/traits.h"

namespace sextant {
namespace {

constexpr int64_t kUsualGpuCount = 8;  // of a test whose recipe is not in the table

absl::optional<Bytes> BytesOf(const CsvRow& row, const std::string& column) {
  const absl::optional<int64_t> out = WholeCell(row, column);
  if (!out.has_value() || *out < 1) return absl::nullopt;
  return Bytes(*out);
}

absl::StatusOr<std::string> AcceleratorOf(const std::string& hardware) {
  if (hardware == "a100") return std::string("a100-sxm-80");
  if (hardware == "h100") return std::string("h100-sxm");
  if (hardware == "gb200") return std::string("gb200");
  return absl::InvalidArgumentError(absl::StrCat("unknown hardware ", hardware));
}

// As the recipe says; else 8, where that is possible at all.
absl::StatusOr<int64_t> GpuCount(const CsvRow& row, const MegatronArguments& arguments,
                                 std::vector<std::string>& assumptions) {
  const int64_t replica = GpusOfReplica(arguments);
  const absl::optional<int64_t> nodes = WholeCell(row, "nodes");
  const absl::optional<int64_t> per_node = WholeCell(row, "gpus_per_node");
  int64_t out = kUsualGpuCount;
  if (nodes.has_value() && per_node.has_value()) {
    out = *nodes * *per_node;
  } else if (absl::StrContains(Cell(row, "test"), "release") || out % replica != 0) {
    // Release tests run on several nodes; one replica stands for all where none shares state.
    if (SharesState(arguments) || arguments.Has("num-experts")) {
      return absl::InvalidArgumentError("GPU count not published, and not one node's");
    }
    out = replica;
  } else if (SharesState(arguments)) {
    assumptions.push_back("8 GPUs");
  }
  if (out < 1 || out % replica != 0) {
    return absl::InvalidArgumentError("GPU count is no multiple of the parallel sizes");
  }
  return out;
}

void SetTraits(const MegatronArguments& arguments, const MegatronMachine& machine, bool bert,
               MeasuredCase& out) {
  const bool experts = arguments.Has("num-experts");
  const bool blackwell = absl::StrContains(machine.accelerator, "b200");
  const bool newest = blackwell && !arguments.Flag("deterministic-mode");
  const std::pair<const char*, bool> kTraits[] = {
      {kTraitExperts, experts},
      {kTraitFsdp, arguments.Flag("use-megatron-fsdp")},
      {kTraitBert, bert},
      {kTraitLocalLayers, !UsesTransformerEngine(arguments)},
      {kTraitContextParallel, arguments.Count("context-parallel-size", 1) > 1},
      {kTraitNewestWorkspace, newest}};
  for (const auto& [trait, holds] : kTraits) {
    if (holds) out.traits.insert(trait);
  }
}

absl::StatusOr<MeasuredCase> Translate(const CsvRow& row) {
  SEXTANT_ASSIGN_OR_RETURN(const MegatronArguments arguments,
                           MegatronArguments::Parse(Cell(row, "all_args")));
  const std::string test = Cell(row, "test");
  const bool bert = absl::StartsWith(test, "bert");
  MeasuredCase out;
  out.source = kMegatronSource;
  out.id = MegatronRowId(row);
  out.series = test;
  out.hardware = Cell(row, "hardware");
  MegatronMachine machine;
  SEXTANT_ASSIGN_OR_RETURN(machine.accelerator, AcceleratorOf(out.hardware));
  SEXTANT_ASSIGN_OR_RETURN(machine.gpu_count, GpuCount(row, arguments, out.assumptions));
  SEXTANT_RETURN_IF_ERROR(DescribeMegatron(arguments, machine, bert, out));
  // Ranks that hold all experts take all tokens, whatever the router sends where.
  const bool shares =
      arguments.Has("num-experts") && arguments.Count("expert-model-parallel-size", 1) > 1;
  if (shares) out.assumptions.push_back("even shares of experts");
  const auto peak = BytesOf(row, "max_mem_allocated_bytes");
  if (!peak.has_value()) return absl::InvalidArgumentError("no measured memory");
  out.measured.push_back({MemoryDefinition::kAllocated, *peak});
  out.between_steps = BytesOf(row, "mem_allocated_bytes");
  // The last rank writes the log.
  out.stage = out.all_fields.layout().parallel().pipeline_parallel_size() - 1;
  out.defaults = DefaultsOf(out.all_fields);
  return out;
}

}  // namespace

absl::Status DescribeMegatron(const MegatronArguments& arguments, const MegatronMachine& machine,
                              bool bert, MeasuredCase& out) {
  if (const auto reason = arguments.Undescribed(); reason.has_value()) {
    return absl::InvalidArgumentError(*reason);
  }
  out.all_fields = RequestOn(machine.accelerator);
  SEXTANT_ASSIGN_OR_RETURN(v1::Architecture model, MegatronModel(arguments, bert, out.assumptions));
  *out.all_fields.mutable_model()->mutable_architecture() = std::move(model);
  SEXTANT_RETURN_IF_ERROR(SetMegatronJob(arguments, machine, out.all_fields));
  SetTraits(arguments, machine, bert, out);
  return absl::OkStatus();
}

std::string MegatronRowId(const CsvRow& row) {
  return absl::StrCat(Cell(row, "test"), " ", Cell(row, "hardware"), " ", Cell(row, "container"),
                      " ", Cell(row, "golden_variant"));
}

Translated TranslateMegatronRow(const CsvRow& row) {
  absl::StatusOr<MeasuredCase> out = Translate(row);
  if (!out.ok()) return LeftOut{std::string(out.status().message())};
  return *std::move(out);
}

}  // namespace sextant
