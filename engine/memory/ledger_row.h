// One line of a memory ledger: bytes that one GPU holds when its stage's memory peaks.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_ROW_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_ROW_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/tensor/data_type.h"

namespace sextant {

enum class LedgerKind {
  kWeight,
  kGradient,
  kMasterWeight,
  kOptimizerState,
  kActivation,
  kTransient,  // alive only during a computation
  kCommunicationBuffer,
  kFrameworkReserve,
};
inline constexpr int kLedgerKindCount = 8;

// The most ledger rows of an answer, all stages together: about 4 MB.
inline constexpr int64_t kMaxLedgerRows = 10'000;

inline constexpr int64_t kBitsPerByte = 8;

// The content of a row's elements.
enum class RowElements {
  kNumber,  // of the row's data type
  kMask,
  kIndex,
  kByte,  // uninterpreted
};

// size = (elements x element_bits / 8, rounded up, + scale_bytes) x layers x micro_batches.
// Negative where the row subtracts bytes of other rows that are freed by the peak. Views point to
// literals.
struct LedgerRow {
  LedgerKind kind = LedgerKind::kWeight;
  absl::optional<ModelPart> part = {};  // absent: no part of the model, or all
  int layer_kind = -1;                  // index into ArchitectureSpec::layer_kinds; -1: no layer
  int64_t chunk = -1;                   // of a stage with several chunks; -1: all, or none
  absl::string_view module = "";        // "attention"
  absl::string_view name = "";          // "query"
  absl::string_view role = "";          // "bias"; empty: the matrix itself
  absl::string_view term = "";          // of model state: "gradient", "first_moment"
  // On this GPU; unused trailing dimensions are 0. All zero where `shape` gives the shape in
  // words.
  std::array<int64_t, 3> dimensions = {};
  absl::string_view shape = "";  // "b s h": docs/memory.md has the symbols
  RowElements element_kind = RowElements::kNumber;
  DataType data_type = DataType::kUnspecified;  // of numbers
  int64_t element_bits = 0;
  int64_t elements = 0;
  int64_t scale_bytes = 0;
  int64_t layers = 1;
  int64_t micro_batches = 1;  // in flight
  Bytes size = Bytes(0);
  absl::string_view alive = "";  // when: "always", "from its forward to its backward pass"
  absl::string_view why = "";
  absl::string_view source = "";
};

using LedgerRows = std::vector<LedgerRow>;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_ROW_H_
