#include "gpu_probe/cuda/attention/gpu_attention_shape.h"

#include <cmath>
#include <iterator>

#include "absl/strings/str_cat.h"

namespace sextant::probe {
namespace {

constexpr int64_t kBf16Bytes = 2;
constexpr int64_t kFp32Bytes = 4;

// For the library's own needs in addition to its sums.
constexpr int64_t kMinWorkspaceBytes = int64_t{1} << 20;

// The shapes of Llama and similar models, whole and as one of eight devices holds them.
constexpr GpuAttentionShape kCausalShapes[] = {
    {.batch = 1, .sequence = 512, .heads = 32, .kv_heads = 8},
    {.batch = 1, .sequence = 2048, .heads = 32, .kv_heads = 32},
    {.batch = 1, .sequence = 4096, .heads = 4, .kv_heads = 1},
    {.batch = 1, .sequence = 8192, .heads = 32, .kv_heads = 8},
    {.batch = 2, .sequence = 4096, .heads = 32, .kv_heads = 8},
    {.batch = 2, .sequence = 1024, .heads = 32, .kv_heads = 8},
    {.batch = 4, .sequence = 2048, .heads = 32, .kv_heads = 32},
    {.batch = 16, .sequence = 512, .heads = 32, .kv_heads = 8}};

// Shapes between and beyond those.
constexpr GpuAttentionShape kMoreCausalShapes[] = {
    {.batch = 1, .sequence = 16384, .heads = 32, .kv_heads = 8},
    {.batch = 1, .sequence = 8192, .heads = 8, .kv_heads = 8},
    {.batch = 1, .sequence = 2048, .heads = 64, .kv_heads = 8},
    {.batch = 1, .sequence = 1024, .heads = 32, .kv_heads = 8},
    {.batch = 4, .sequence = 4096, .heads = 8, .kv_heads = 1},
    {.batch = 4, .sequence = 1024, .heads = 40, .kv_heads = 40},
    {.batch = 8, .sequence = 2048, .heads = 16, .kv_heads = 2},
    {.batch = 32, .sequence = 512, .heads = 16, .kv_heads = 16}};

std::vector<GpuAttentionShape> CausalShapes() {
  return {std::begin(kCausalShapes), std::end(kCausalShapes)};
}

// CausalShapes() with one property changed, and one of them four times as long.
std::vector<GpuAttentionShape> Like(GpuAttentionShape what) {
  std::vector<GpuAttentionShape> shapes = CausalShapes();
  shapes[2].sequence *= 4;
  for (GpuAttentionShape& shape : shapes) {
    shape.head_size = what.head_size;
    shape.value_head_size = what.value_head_size;
    shape.causal = what.causal;
  }
  return shapes;
}

// DeepSeek's latent attention, not absorbed: each head has keys and values of its own.
std::vector<GpuAttentionShape> LatentShapes() {
  std::vector<GpuAttentionShape> shapes =
      Like({.head_size = 192, .value_head_size = 128, .causal = true});
  for (GpuAttentionShape& shape : shapes) shape.kv_heads = shape.heads;
  return shapes;
}

}  // namespace

float GpuAttentionShape::scale() const { return 1.0F / std::sqrt(static_cast<float>(head_size)); }

double GpuAttentionShape::ForwardFlops() const {
  const auto length = static_cast<double>(sequence);
  const double pairs = causal ? length * (length + 1) / 2 : length * length;
  return 2.0 * static_cast<double>((head_size + value_head_size) * heads * batch) * pairs;
}

std::string GpuAttentionShape::Text() const {
  std::string text =
      absl::StrCat(batch, "x", sequence, " ", heads, "/", kv_heads, " heads of ", head_size);
  if (value_head_size != head_size) absl::StrAppend(&text, "/", value_head_size);
  return absl::StrCat(text, causal ? " causal" : " full");
}

AttentionBytes AttentionBytesOf(const GpuAttentionShape& shape, bool backward) {
  const int64_t rows = shape.tokens() * shape.heads;
  const int64_t kv_rows = shape.tokens() * shape.kv_heads;
  const int64_t query_bytes = rows * shape.head_size * kBf16Bytes;
  const int64_t output_bytes = rows * shape.value_head_size * kBf16Bytes;
  const int64_t key_bytes = kv_rows * shape.head_size * kBf16Bytes;
  const int64_t value_bytes = kv_rows * shape.value_head_size * kBf16Bytes;
  const int64_t row_bytes = rows * kFp32Bytes;
  AttentionBytes bytes = {query_bytes, key_bytes, value_bytes, output_bytes, row_bytes};
  bytes.back() = kMinWorkspaceBytes;
  if (!backward) return bytes;
  return {query_bytes,
          key_bytes,
          value_bytes,
          output_bytes,
          row_bytes,
          output_bytes,
          query_bytes,
          key_bytes,
          value_bytes,
          row_bytes,
          rows * shape.head_size * kFp32Bytes,
          rows * (shape.head_size + shape.value_head_size) * kFp32Bytes + kMinWorkspaceBytes};
}

std::vector<GpuAttentionShape> ForwardAttentionShapes(v1::ProbeMode mode) {
  if (mode == v1::PROBE_MODE_STANDARD) return CausalShapes();
  if (mode != v1::PROBE_MODE_FULL) return {};
  std::vector<GpuAttentionShape> shapes = CausalShapes();
  shapes.insert(shapes.end(), std::begin(kMoreCausalShapes), std::end(kMoreCausalShapes));
  for (const GpuAttentionShape& what :
       {GpuAttentionShape{.head_size = 128, .value_head_size = 128, .causal = false},
        GpuAttentionShape{.head_size = 64, .value_head_size = 64, .causal = true}}) {
    const std::vector<GpuAttentionShape> more = Like(what);
    shapes.insert(shapes.end(), more.begin(), more.end());
  }
  const std::vector<GpuAttentionShape> latent = LatentShapes();
  shapes.insert(shapes.end(), latent.begin(), latent.end());
  return shapes;
}

std::vector<GpuAttentionShape> BackwardAttentionShapes(v1::ProbeMode mode) {
  if (mode != v1::PROBE_MODE_FULL) return {};
  return CausalShapes();
}

}  // namespace sextant::probe
