// Times of a layer of experts on one A100: tokens, hidden, intermediate, experts a token,
// experts, expert parallel, microseconds.
// Published in ai-dynamo/aiconfigurator @095f58a51c4ca8e61b66ec108d86f223f8d559ce,
// licence Apache-2.0.
// Made by make_attention_reference.py: docs/kernels_attention.md says how it was measured.
#include "engine/hardware/reference/reference_kernels.h"

namespace sextant {
namespace grouped_matmul_a100 {

// clang-format off

constexpr GroupedMatmulReferenceRow kBf16[] = {
    {768, 4096, 14336, 2, 8, 1, 5226}, {256, 4096, 1024, 10, 512, 1, 7443},
    {8192, 2048, 768, 8, 128, 1, 5454}, {4096, 7168, 2048, 8, 384, 1, 44470},
    {16384, 4096, 14336, 2, 8, 1, 1.495e+05}, {768, 2048, 768, 8, 128, 1, 1257},
    {16384, 6144, 2560, 8, 160, 1, 1.611e+05}, {256, 6144, 2560, 8, 160, 1, 13940},
    {16384, 4096, 1024, 10, 512, 1, 52520}, {1536, 4096, 1024, 10, 512, 1, 12110},
    {1024, 4096, 1536, 8, 128, 1, 5173}, {4096, 4096, 14336, 2, 8, 1, 25660},
    {16384, 7168, 2048, 8, 384, 1, 1.618e+05}, {256, 6144, 16384, 2, 8, 1, 5052},
    {384, 3072, 1536, 8, 256, 1, 7232}, {320, 7168, 2048, 8, 384, 1, 19750},
    {8192, 4096, 1536, 8, 128, 1, 24610}, {1024, 6144, 2048, 8, 256, 1, 18890},
    {2048, 6144, 2560, 8, 160, 1, 19560}, {6144, 6144, 2560, 8, 160, 1, 57170},
    {1536, 6144, 16384, 2, 8, 1, 15590}, {256, 4096, 1536, 8, 128, 1, 4241},
    {2048, 3072, 1536, 8, 256, 1, 8035}, {16384, 3072, 1536, 8, 256, 1, 44330},
    {512, 4096, 1024, 10, 512, 1, 7685}, {1024, 3072, 1536, 8, 256, 1, 7201},
    {1024, 6144, 2560, 8, 160, 1, 16060}, {1536, 2048, 768, 8, 128, 1, 1481},
    {8192, 3072, 1536, 8, 256, 1, 19260}, {8192, 4096, 14336, 2, 8, 1, 62610},
    {384, 4096, 14336, 2, 8, 1, 3420}, {512, 6144, 16384, 2, 8, 1, 6435},
    {6144, 6144, 16384, 2, 8, 1, 81410}, {320, 6144, 2048, 8, 256, 1, 16960},
    {16384, 7168, 2048, 8, 256, 1, 1.552e+05}, {512, 6144, 2560, 8, 160, 1, 14820},
    {1536, 4096, 14336, 2, 8, 1, 9435},
};

constexpr GroupedMatmulReference kReferences[] = {
    {"a100-sxm-80", DataType::kBf16, false, true, "sglang 0.5.10 triton", kBf16},
};

// clang-format on

}  // namespace grouped_matmul_a100

absl::Span<const GroupedMatmulReference> GroupedMatmulReferencesOfA100() {
  return absl::Span<const GroupedMatmulReference>(grouped_matmul_a100::kReferences, 1);
}

}  // namespace sextant
