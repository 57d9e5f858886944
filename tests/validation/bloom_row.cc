#include "tests/validation/bloom_row.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "engine/base/status_macros.h"
#include "engine/model/transformer_spec.h"
#include "tests/validation/cells.h"
#include "tests/validation/framework_memory.h"

namespace sextant {
namespace {

constexpr int kAmpere = 8;
// From "Rebalancing layers" on, an embedding at either end counts as a layer.
constexpr char kRebalanced[] = "Rebalancing layers";

absl::StatusOr<ArchitectureSpec> Model(const CsvRow& row) {
  TransformerSpec spec = {.tied_embeddings = true,
                          .feed_forward_kind = FeedForwardKind::kPlain,
                          .norm_kind = NormKind::kLayerNorm,
                          .query_key_value_bias = true,
                          .attention_output_bias = true,
                          .feed_forward_bias = true};
  SEXTANT_ASSIGN_OR_RETURN(spec.layer_count, RequiredCell(row, "layers", "number of layers"));
  SEXTANT_ASSIGN_OR_RETURN(spec.hidden_size, RequiredCell(row, "hidden", "hidden size"));
  SEXTANT_ASSIGN_OR_RETURN(spec.attention_head_count,
                           RequiredCell(row, "heads", "number of heads"));
  SEXTANT_ASSIGN_OR_RETURN(spec.vocabulary_size, RequiredCell(row, "vocab", "vocabulary"));
  SEXTANT_ASSIGN_OR_RETURN(spec.learned_position_count,
                           RequiredCell(row, "seq_len", "sequence length"));
  spec.feed_forward_size = 4 * spec.hidden_size;
  FieldViolations violations;
  CheckTransformer(spec, "model", violations);
  if (!violations.empty()) return absl::InvalidArgumentError("a shape that no model can have");
  ArchitectureSpec out = DenseDecoder(WithDefaults(spec));
  const int64_t ranks = WholeCell(row, "tp").value_or(1);
  out.embedding.padded_vocabulary_size = PaddedVocabularySize(spec.vocabulary_size, 128 * ranks);
  return out;
}

absl::StatusOr<ParallelLayout> Layout(const CsvRow& row) {
  ParallelLayout out;
  SEXTANT_ASSIGN_OR_RETURN(out.tensor_parallel_size, RequiredCell(row, "tp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(out.pipeline_parallel_size, RequiredCell(row, "pp", "layout"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t layers, RequiredCell(row, "layers", "number of layers"));
  const int64_t stages = out.pipeline_parallel_size;
  const bool ends = absl::StrContains(Cell(row, "source_table"), kRebalanced);
  if ((layers + (ends ? 2 : 0)) % stages != 0) {
    return absl::InvalidArgumentError("layers of each stage not published");
  }
  if (ends) {
    out.layers_per_chunk.assign(static_cast<size_t>(stages), (layers + 2) / stages);
    --out.layers_per_chunk.front();
    --out.layers_per_chunk.back();
  }
  return out;
}

absl::StatusOr<StateSpec> State(const CsvRow& row) {
  StateSpec out;
  const bool wide = absl::StrContains(Cell(row, "precision"), "fp32 grad accumulation");
  const DataType type = wide ? DataType::kBf16 : DataType::kFp16;
  out.precision = WithDefaults({.compute_data_type = type,
                                .weight_data_type = type,
                                .gradient_data_type = wide ? DataType::kFp32 : type});
  SEXTANT_ASSIGN_OR_RETURN(out.sharding.data_parallel_size, RequiredCell(row, "dp", "layout"));
  out.sharding.zero_stage =
      WholeCell(row, "zero_stage") == 0 ? ZeroStage::kNone : ZeroStage::kOptimizer;
  return out;
}

absl::Status SetMemory(const CsvRow& row, MeasuredCase& out) {
  const std::string text = Cell(row, "peak_mem_as_published");
  out.ran_out = text == "OOM" || Cell(row, "oom") == "True";
  if (out.ran_out) return absl::OkStatus();
  const auto size = PublishedBytes(text);
  if (!size.has_value()) return absl::InvalidArgumentError("no measured memory");
  out.measured.push_back({MemoryDefinition::kProcess, *size});
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<MeasuredCase> BloomCase(const CsvRow& row) {
  MeasuredCase out;
  SEXTANT_RETURN_IF_ERROR(SetMemory(row, out));
  SEXTANT_ASSIGN_OR_RETURN(out.model, Model(row));
  SEXTANT_ASSIGN_OR_RETURN(out.job.layout, Layout(row));
  SEXTANT_ASSIGN_OR_RETURN(out.job.state, State(row));
  MicroBatchSpec& batch = out.job.batch;
  SEXTANT_ASSIGN_OR_RETURN(batch.sequence_length, RequiredCell(row, "seq_len", "sequence length"));
  SEXTANT_ASSIGN_OR_RETURN(batch.sequence_count, RequiredCell(row, "micro_batch", "micro-batch"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t global, RequiredCell(row, "global_batch", "batch"));
  batch.compute_data_type = out.job.state.precision.compute_data_type;
  batch.attention = AttentionKernel::kUnfused;
  batch.dropout = true;
  batch.recomputation.policy = RecomputePolicy::kFull;
  out.job.pipeline.micro_batch_count =
      global / (batch.sequence_count * out.job.state.sharding.data_parallel_size);
  out.job.buffers = BuffersOf({.kind = Framework::kDeepSpeed}, out.job.layout);
  out.job.reserve =
      ReserveWith(WorkspaceOf({.compute_capability = kAmpere}), Framework::kDeepSpeed, out.job);
  out.hardware = Cell(row, "hardware");
  out.device_memory = Bytes(int64_t{80} << 30);
  return out;
}

}  // namespace sextant
