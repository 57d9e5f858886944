// Times of attention on one A100: batch, sequence, heads, key and value heads, microseconds.
// Published in ai-dynamo/aiconfigurator @095f58a51c4ca8e61b66ec108d86f223f8d559ce,
// licence Apache-2.0.
// Made by make_attention_reference.py: docs/kernels_attention.md says how it was measured.
#include "engine/hardware/reference/reference_kernels.h"

namespace sextant {
namespace attention_a100 {

// clang-format off

constexpr AttentionReferenceRow kBf16Head128[] = {
    {8, 4096, 8, 2, 1509}, {128, 1024, 96, 1, 19220}, {64, 1024, 96, 96, 14070},
    {1, 16384, 4, 4, 1746}, {1, 1536, 4, 4, 60.68}, {1, 1024, 96, 1, 178.7},
    {1, 16384, 64, 1, 21410}, {32, 4096, 40, 1, 27500}, {4, 1024, 40, 40, 409.8},
    {4, 12288, 32, 32, 25670}, {16, 1024, 48, 8, 1277}, {1, 1024, 12, 2, 52.77},
    {1, 8192, 4, 1, 607.6}, {8, 4096, 96, 96, 18840}, {1, 4096, 64, 1, 1420},
    {4, 16384, 16, 4, 21380}, {2, 4096, 12, 12, 713.1}, {32, 4096, 24, 8, 17280},
    {64, 1536, 96, 8, 20900}, {2, 1536, 48, 4, 368.8}, {1, 3072, 8, 4, 196.4},
    {16, 1024, 96, 2, 2390}, {8, 8192, 24, 2, 16050}, {1, 3072, 16, 1, 287.5},
    {1, 8192, 24, 2, 2161}, {4, 1024, 16, 8, 161.3}, {16, 1536, 64, 64, 4432},
    {4, 2048, 96, 1, 2142}, {1, 1024, 24, 24, 86.3}, {2, 8192, 96, 1, 16070},
};
constexpr AttentionReferenceClass kBf16[] = {
    {128, 128, true, 0, kBf16Head128},
};

constexpr AttentionReferenceRow kLatentBf16Head192[] = {
    {2, 4096, 32, 32, 2313}, {128, 256, 128, 128, 5608}, {1, 256, 1, 1, 20.65},
    {1, 256, 128, 128, 59.22}, {1, 16384, 2, 2, 1451}, {1, 2048, 1, 1, 82.26},
    {16, 1536, 128, 128, 11910}, {2, 1024, 8, 8, 79.02}, {1, 16384, 32, 32, 17670},
    {16, 512, 64, 64, 928.8}, {1, 6144, 8, 8, 779.6}, {2, 1536, 64, 64, 752},
    {8, 4096, 128, 128, 37390}, {1, 256, 8, 8, 20.99}, {1, 6144, 1, 1, 232.8},
    {2, 8192, 128, 128, 35330}, {1, 512, 4, 4, 29.87}, {1, 1024, 2, 2, 48.3},
    {2, 512, 16, 16, 50.35}, {2, 3072, 2, 2, 184.5}, {8, 1024, 64, 64, 1436},
    {16, 256, 128, 128, 692.9}, {64, 512, 128, 128, 7695}, {1, 2048, 32, 32, 360.6},
    {1, 256, 32, 32, 27.65}, {1, 512, 1, 1, 29.18}, {2, 4096, 128, 128, 9364},
    {2, 12288, 4, 4, 2710}, {4, 256, 128, 128, 182.6}, {4, 512, 32, 32, 131.2},
    {4, 2048, 128, 128, 5066}, {4, 8192, 8, 8, 4465}, {1, 1024, 64, 64, 205.3},
    {1, 1536, 4, 4, 81.58}, {1, 3072, 16, 16, 406.4}, {1, 10240, 2, 2, 709.8},
    {1, 3072, 128, 128, 2650}, {1, 4096, 2, 2, 180.6}, {1, 6144, 128, 128, 10300},
    {1, 8192, 4, 4, 751.1},
};
constexpr AttentionReferenceClass kLatentBf16[] = {
    {192, 128, true, 0, kLatentBf16Head192},
};


constexpr AttentionReference kReferences[] = {
    {"a100-sxm-80", DataType::kBf16, false,
     "sglang 0.5.10 flash_attention", kBf16},
    {"a100-sxm-80", DataType::kBf16, true,
     "trtllm 1.0.0", kLatentBf16},
};

// clang-format on

}  // namespace attention_a100

absl::Span<const AttentionReference> AttentionReferencesOfA100() {
  return absl::Span<const AttentionReference>(attention_a100::kReferences, 2);
}

}  // namespace sextant
