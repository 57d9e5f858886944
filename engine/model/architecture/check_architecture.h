// Validates architectures, field by field, and the limits of their sizes.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// Upper limits far beyond any model, low enough that sums of a handful of sizes, and products of
// two, fit an int64; CountWeights() checks all larger products.

inline constexpr int64_t kMaxLayerCount = 1'000'000;  // of a run, and of a stack

inline constexpr int64_t kMaxLayerKinds = 128;

inline constexpr int64_t kMaxLayerRuns = 4096;  // of a stack

inline constexpr int64_t kMaxHiddenSize = 10'000'000;
inline constexpr int64_t kMaxFeedForwardSize = 100'000'000;
inline constexpr int64_t kMaxActivationParameters = 1'000'000;
inline constexpr int64_t kMaxHeadCount = 1'000'000;
inline constexpr int64_t kMaxHeadSize = 1'000'000;
inline constexpr int64_t kMaxConvolutionSize = 1024;
inline constexpr int64_t kMaxExpertCount = 1'000'000;
inline constexpr int64_t kMaxVocabularySize = 1'000'000'000;

inline constexpr int64_t kMaxSpan = 1'000'000'000'000;  // tokens of a window or a chunk

// Names given by callers, which may be stored and repeated in answers.

inline constexpr size_t kMaxNameLength = 64;

// True where `name` is short and printable enough to be repeated: 1 to kMaxNameLength ASCII
// characters, no control characters.
inline bool IsSoundName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxNameLength &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return absl::ascii_isprint(static_cast<unsigned char>(c)); });
}

// Appends all errors of `spec` to `violations`, under paths that start with `path` (e.g. "model").
// Adapters are checked only if the rest is valid.
void CheckArchitecture(const ArchitectureSpec& spec, absl::string_view path,
                       FieldViolations& violations);

// The same for one kind of layer (e.g. "model.layer_kinds[0]").
void CheckLayer(const LayerSpec& layer, absl::string_view path, FieldViolations& violations);

// True where a layer's attention chooses positions by an indexer.
bool HasIndexer(const ArchitectureSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_
