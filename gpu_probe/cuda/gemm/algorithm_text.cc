#include "gpu_probe/cuda/gemm/algorithm_text.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "gpu_probe/cuda/gemm/algorithm_sizes.h"
#include "gpu_probe/cuda/gemm/cublaslt_abi.h"

namespace sextant {
namespace {

// cublasLtMatmulStages_t of cublasLt.h, cuBLAS 13.1; "" for numbers without a meaning.
constexpr std::array<const char*, 39> kStageTexts = {
    "",       "16x1",    "16x2",    "16x3",    "16x4",     "16x5",     "16x6",    "32x1",
    "32x2",   "32x3",    "32x4",    "32x5",    "32x6",     "64x1",     "64x2",    "64x3",
    "64x4",   "64x5",    "64x6",    "128x1",   "128x2",    "128x3",    "128x4",   "128x5",
    "128x6",  "32x10",   "8x4",     "16x10",   "8x5",      "",         "",        "8x3",
    "8xauto", "16xauto", "32xauto", "64xauto", "128xauto", "256xauto", "768xauto"};

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
  if (const auto tile = TileOf(Told<uint32_t>(library, choice, cublaslt::kTile))) {
    parts.push_back(absl::StrCat("tile ", tile->rows, "x", tile->columns));
  }
  const uint32_t stages = Told<uint32_t>(library, choice, cublaslt::kStages);
  if (stages < kStageTexts.size() && *kStageTexts[stages] != '\0') {
    parts.push_back(absl::StrCat("stages ", kStageTexts[stages]));
  }
  const uint32_t split_count = Told<int32_t>(library, choice, cublaslt::kSplitCount);
  if (split_count > 1) parts.push_back(absl::StrCat("split-k ", split_count));
  if (const auto cluster = ClusterOf(Told<uint16_t>(library, choice, cublaslt::kCluster))) {
    parts.push_back(absl::StrCat("cluster ", cluster->rows, "x", cluster->columns));
  }
  if (std::isfinite(choice.wave_count) && choice.wave_count > 0) {
    parts.push_back(absl::StrFormat("waves %.1f", choice.wave_count));
  }
  return absl::StrJoin(parts, " ");
}

}  // namespace sextant
