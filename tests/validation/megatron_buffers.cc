#include "tests/validation/megatron_buffers.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {
namespace {

// Matrices that are one in Transformer Engine, by module and the first of them.
std::string FusedName(const WeightTensor& tensor) {
  if (tensor.name == "key" || tensor.name == "value") return "query";
  if (tensor.name == "gate") return "up";
  return std::string(tensor.name);
}

int64_t TokensOf(const MicroBatchSpec& batch) {
  return batch.sequence_count * batch.sequence_length / batch.context_parallel_size;
}

bool IsMatrixOfLayer(const WeightTensor& tensor) {
  return tensor.layer_kind >= 0 && tensor.role == WeightRole::kWeight && !tensor.is_vector() &&
         tensor.component != WeightComponent::kRouter;
}

}  // namespace

Bytes HeadBuffer(const ArchitectureSpec& model, const MemoryJob& job) {
  if (!job.batch.sequence_parallel) return Bytes(0);
  return Bytes(TokensOf(job.batch) * model.hidden_size * StorageBytes(job.batch.compute_data_type));
}

Bytes GlobalMemoryBuffer(const ArchitectureSpec& model, const MemoryJob& job,
                         bool local_attention) {
  const MicroBatchSpec& batch = job.batch;
  int64_t elements = 0;
  for (const LayerSpec& layer : model.layer_kinds) {
    if (!local_attention || !layer.attention.has_value()) continue;
    const int64_t heads = layer.attention->head_count / job.layout.tensor_parallel_size;
    elements = std::max(elements, TokensOf(batch) * heads * batch.sequence_length);
  }
  return std::max(HeadBuffer(model, job), Bytes(elements * StorageBytes(batch.compute_data_type)));
}

absl::StatusOr<Bytes> PlaceholderGradients(const ArchitectureSpec& model, const MemoryJob& job) {
  SEXTANT_ASSIGN_OR_RETURN(const ShardedWeights weights,
                           ShardedWeights::Of(model, "model", job.layout, "layout"));
  // Rows and columns of each fused matrix on a GPU; equal shapes are one.
  std::map<std::tuple<int, std::string, std::string>, std::pair<int64_t, int64_t>> matrices;
  for (const StageTensor& held : weights.TensorsOf(weights.stage_count() - 1)) {
    if (!IsMatrixOfLayer(held.tensor)) continue;
    auto& [rows, columns] =
        matrices[{held.tensor.layer_kind, std::string(held.tensor.module), FusedName(held.tensor)}];
    rows += held.shard.rows;
    columns = held.shard.columns;
  }
  std::set<std::pair<int64_t, int64_t>> shapes;
  for (const auto& [name, shape] : matrices) shapes.insert(shape);
  int64_t elements = 0;
  for (const auto& [rows, columns] : shapes) elements += rows * columns;
  return Bytes(elements * StorageBytes(job.state.precision.weight_data_type));
}

}  // namespace sextant
