// Model state: the tensors that training keeps for the parameters, optimizer buffers included, as
// a sum of declared terms.
#ifndef SEXTANT_ENGINE_MEMORY_MODEL_STATE_H_
#define SEXTANT_ENGINE_MEMORY_MODEL_STATE_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/training_policy.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

inline constexpr int64_t kBlockScaleBytes = 4;  // fp32 scale of a block-quantised buffer

// The tensors for which an optimizer keeps a buffer.
enum class BufferScope { kAll, kHiddenMatrices, kOthers };

// The number of elements in a tensor's buffer.
enum class BufferShape {
  kElements,        // as many as the tensor
  kRowsAndColumns,  // of a matrix: its rows + its columns; of a vector: its length
  kLowRank,         // of a matrix: LowRankNumbers()
};

// Numbers that GaLore keeps for a matrix: two moments of a gradient that is projected along the
// shorter side to `rank` numbers, and the projection.
// Source: Zhao et al. 2024 (arXiv 2403.03507) algorithm 2 and section 4.
int64_t LowRankNumbers(int64_t rows, int64_t columns, int64_t rank);

// The rule for a buffer of the trained tensors. Views point to literals.
struct BufferRule {
  absl::string_view name = "";
  BufferShape shape = BufferShape::kElements;
  BufferScope scope = BufferScope::kAll;
  absl::string_view source = "";
};

// The buffers of `optimizer`, at most 3, in static storage.
absl::Span<const BufferRule> BufferRulesOf(const OptimizerSpec& optimizer);

// True for a matrix inside the layers: Muon updates these itself.
bool IsHiddenMatrix(const WeightTensor& tensor);
bool InScope(BufferScope scope, const WeightTensor& tensor);

// Elements of a buffer over `trainable` parameters, whose tensors are among `tensors`. `tensors`
// is empty where only the count is known; then NeedsShapes() must be false. `rank` is of kLowRank.
int64_t BufferElements(BufferShape shape, BufferScope scope, int64_t trainable,
                       const WeightTensors& tensors, int64_t rank = 0);

// fp32 scales of a block-quantised buffer: one per block, where a tensor's last block may be
// short. Computed from the bare count where `tensors` is empty.
int64_t ScaleCount(int64_t block_size, int64_t trainable, const WeightTensors& tensors);

// The rule for a term of model state: which buffer is kept for which parameters, in which format.
// Views point to literals.
struct TermRule {
  LedgerKind kind = LedgerKind::kWeight;
  absl::string_view name = "";
  DataType data_type = DataType::kUnspecified;
  int64_t element_bits = 0;
  int64_t block_size = 0;  // elements that share an fp32 scale; 0: no scales
  BufferShape shape = BufferShape::kElements;
  BufferScope scope = BufferScope::kAll;
  int64_t rank = 0;  // of kLowRank
  absl::string_view why = "";
  absl::string_view source = "";
};

using TermRules = absl::InlinedVector<TermRule, 5>;

// `precision` has its defaults filled in.
TermRule WeightTerm(const PrecisionPolicy& precision);

// The terms of trained parameters in addition to the weight: gradient, master weight, optimizer
// buffers. At most 5, so that nothing is allocated.
TermRules TrainedTerms(const PrecisionPolicy& precision, const OptimizerSpec& optimizer);

// One declared term: `elements` numbers of `element_bytes` each, and `scale_bytes` of scales where
// the format has blocks. size = elements x element_bytes + scale_bytes.
struct StateTerm {
  absl::string_view name;  // "weight", "gradient", "master_weight", "first_moment", ...
  DataType data_type = DataType::kUnspecified;
  int64_t elements = 0;
  int64_t element_bytes = 0;
  int64_t scale_bytes = 0;
  Bytes size = Bytes(0);
  absl::string_view source;  // the source that says this term is kept

  bool is_gradient() const { return name == "gradient"; }
};

using StateTerms = absl::InlinedVector<StateTerm, 6>;

struct ModelState {
  StateTerms terms;
  Bytes total;  // exactly their sum
};

// The state of the counted parameters, whose tensors are `tensors`. `tensors` is empty where only
// the number of parameters is known; then NeedsShapes(optimizer.kind) must be false. Only trained
// parameters have gradients, master weights and optimizer state. `precision` has its defaults
// filled in.
//
// Errors: kInvalidArgument "model" where the total exceeds 9.2e18 bytes.
absl::StatusOr<ModelState> ModelStateOf(const WeightCount& parameters, const WeightTensors& tensors,
                                        const PrecisionPolicy& precision,
                                        const OptimizerSpec& optimizer);

struct CheckpointTerm {
  absl::string_view name;  // as StateTerm::name
  Bytes size = Bytes(0);
};

struct SavedState {
  std::vector<CheckpointTerm> terms = {};
  Bytes size = Bytes(0);  // their sum
};

// A checkpoint of `state`, whose parameters are counted in `parameters`: all that a trained
// parameter keeps but its gradient, e.g. 2 + 4 + 4 + 4 bytes under mixed-precision AdamW. Frozen
// weights don't change and are not written. Source: Rajbhandari et al. 2020 (arXiv 1910.02054)
// section 3.1, less the gradients.
SavedState CheckpointOf(const ModelState& state, const WeightCount& parameters);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_MODEL_STATE_H_
