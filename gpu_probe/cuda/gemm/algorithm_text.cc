#include "gpu_probe/cuda/gemm/algorithm_text.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_probe/cuda/gemm/cublaslt_abi.h"

namespace sextant {
namespace {

// The attribute's value, 0 where it is not told: 0 has no meaning in any of them.
template <typename Value>
uint32_t Told(const CublasLt& library, const CublasLtChoice& choice, int attribute) {
  Value value = 0;
  std::size_t written = 0;
  const int code =
      library.describe(choice.algorithm.data(), attribute, &value, sizeof(value), &written);
  return code == 0 && written == sizeof(value) ? static_cast<uint32_t>(value) : 0;
}

}  // namespace

std::string AlgorithmText(const CublasLt& library, const CublasLtChoice& choice) {
  std::vector<std::string> parts;
  const auto add = [&parts](const char* name, uint32_t number) {
    if (number != 0) parts.push_back(absl::StrCat(name, " ", number));
  };
  add("tile", Told<uint32_t>(library, choice, cublaslt::kTile));
  add("stages", Told<uint32_t>(library, choice, cublaslt::kStages));
  const uint32_t split_count = Told<int32_t>(library, choice, cublaslt::kSplitCount);
  if (split_count > 1) add("split-k", split_count);
  add("cluster", Told<uint16_t>(library, choice, cublaslt::kCluster));
  if (std::isfinite(choice.wave_count) && choice.wave_count > 0) {
    parts.push_back(absl::StrFormat("waves %.1f", choice.wave_count));
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace sextant
