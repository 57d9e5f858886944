#include "tests/validation/korthikanti_row.h"

#include <cmath>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/model/transformer_spec.h"
#include "tests/validation/cells.h"

namespace sextant {
namespace {

constexpr int64_t kMicroBatchesAStage = 8;  // enough to fill the pipeline

absl::StatusOr<ArchitectureSpec> Model(const CsvRow& row) {
  TransformerSpec spec = {.tied_embeddings = true,
                          .feed_forward_kind = FeedForwardKind::kPlain,
                          .norm_kind = NormKind::kLayerNorm};
  SEXTANT_ASSIGN_OR_RETURN(spec.layer_count, RequiredCell(row, "layers", "number of layers"));
  SEXTANT_ASSIGN_OR_RETURN(spec.hidden_size, RequiredCell(row, "hidden", "hidden size"));
  SEXTANT_ASSIGN_OR_RETURN(spec.attention_head_count,
                           RequiredCell(row, "heads", "number of heads"));
  SEXTANT_ASSIGN_OR_RETURN(spec.vocabulary_size, RequiredCell(row, "vocab", "vocabulary"));
  spec.feed_forward_size = 4 * spec.hidden_size;
  FieldViolations violations;
  CheckTransformer(spec, "model", violations);
  if (!violations.empty()) return absl::InvalidArgumentError("a shape that no model can have");
  return DenseDecoder(WithDefaults(spec));
}

absl::Status SetBatch(const CsvRow& row, MemoryJob& job) {
  MicroBatchSpec& batch = job.batch;
  SEXTANT_ASSIGN_OR_RETURN(batch.sequence_length, RequiredCell(row, "seq_len", "sequence length"));
  SEXTANT_ASSIGN_OR_RETURN(batch.sequence_count, RequiredCell(row, "micro_batch", "micro-batch"));
  batch.sequence_parallel = Cell(row, "sequence_parallel") == "True";
  batch.compute_data_type = DataType::kFp16;
  batch.attention = AttentionKernel::kUnfused;
  batch.dropout = true;
  const std::string recompute = Cell(row, "recompute");
  if (recompute == "selective") {
    batch.recomputation.policy = RecomputePolicy::kSelective;
  } else if (recompute != "none") {
    return absl::InvalidArgumentError(absl::StrCat("recompute ", recompute));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MeasuredCase> KorthikantiCase(const CsvRow& row) {
  MeasuredCase out;
  SEXTANT_ASSIGN_OR_RETURN(out.model, Model(row));
  ParallelLayout& layout = out.job.layout;
  SEXTANT_ASSIGN_OR_RETURN(layout.tensor_parallel_size, RequiredCell(row, "tp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(layout.pipeline_parallel_size, RequiredCell(row, "pp", "layout"));
  layout.virtual_stage_count = WholeCell(row, "vpp").value_or(1);
  SEXTANT_RETURN_IF_ERROR(SetBatch(row, out.job));
  out.job.pipeline.micro_batch_count = kMicroBatchesAStage * layout.pipeline_parallel_size;
  // Weights 2, gradients 4, fp32 weights and both moments 12.
  out.job.state.precision = WithDefaults({.compute_data_type = DataType::kFp16,
                                          .weight_data_type = DataType::kFp16,
                                          .gradient_data_type = DataType::kFp32});
  double gibibytes = 0;
  if (!absl::SimpleAtod(Cell(row, "peak_mem_gib"), &gibibytes)) {
    return absl::InvalidArgumentError("no calculated memory");
  }
  out.measured.push_back({MemoryDefinition::kCalculated, Bytes(std::llround(gibibytes * 0x1p30))});
  out.stage = 0;
  return out;
}

}  // namespace sextant
