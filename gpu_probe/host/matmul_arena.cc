#include "gpu_probe/host/matmul_arena.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/normal_pattern.h"
#include "gpu_probe/host/random_data.h"

namespace sextant {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kPageBytes = 4096;

absl::StatusOr<int64_t> RoundedUp(CheckedInt bytes, int64_t multiple) {
  const CheckedInt rounded = bytes + multiple;
  if (!rounded.ok()) return absl::ResourceExhaustedError("needs more than 9.2e18 bytes");
  return (rounded.value() - 1) / multiple * multiple;
}

// The numbers that the inputs repeat, as their bytes.
std::vector<char> PatternOf(v1::DataType type) {
  const int64_t element_bytes = InputElementBytes(type);
  std::vector<char> out(static_cast<size_t>(NormalPattern::kCount * element_bytes));
  if (type == v1::DATA_TYPE_INT8) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<char>(RandomBits(i) >> 56);
    return out;
  }
  const NormalPattern pattern;
  const std::vector<float>& numbers = pattern.numbers();
  if (type == v1::DATA_TYPE_FP32) {
    std::memcpy(out.data(), numbers.data(), out.size());
    return out;
  }
  std::vector<uint16_t> rounded(numbers.size());
  std::transform(numbers.begin(), numbers.end(), rounded.begin(), ToBf16);
  std::memcpy(out.data(), rounded.data(), out.size());
  return out;
}

// Bytes [part.begin, part.end) of the pattern's endless repetition.
void Repeat(const std::vector<char>& pattern, const Part& part, char* to) {
  const auto size = static_cast<int64_t>(pattern.size());
  for (int64_t at = part.begin; at < part.end;) {
    const int64_t from = at % size;
    const int64_t count = std::min(size - from, part.end - at);
    std::memcpy(to + at, pattern.data() + from, static_cast<size_t>(count));
    at += count;
  }
}

}  // namespace

absl::StatusOr<Rotation> RotationOf(const v1::MatmulShape& shape, int64_t touched_bytes) {
  Rotation out;
  SEXTANT_ASSIGN_OR_RETURN(out.stride_bytes, RoundedUp(CheckedInt(shape.n()) * shape.k() *
                                                           InputElementBytes(shape.data_type()),
                                                       kLineBytes));
  out.count = std::max<int64_t>(CeilDivide(touched_bytes, out.stride_bytes), 1);
  return out;
}

absl::StatusOr<MatmulBytes> BytesOf(const v1::MatmulShape& shape, const Rotation& rotation) {
  MatmulBytes out;
  SEXTANT_ASSIGN_OR_RETURN(
      out.a, RoundedUp(CheckedInt(shape.m()) * shape.k() * InputElementBytes(shape.data_type()),
                       kPageBytes));
  SEXTANT_ASSIGN_OR_RETURN(
      out.b, RoundedUp(CheckedInt(rotation.count) * rotation.stride_bytes, kPageBytes));
  SEXTANT_ASSIGN_OR_RETURN(
      out.c, RoundedUp(CheckedInt(shape.m()) * shape.n() * OutputElementBytes(shape.data_type()),
                       kPageBytes));
  if (!(CheckedInt(out.a) + out.b + out.c).ok()) {
    return absl::ResourceExhaustedError("needs more than 9.2e18 bytes");
  }
  return out;
}

MatmulBytes MaximumOf(const MatmulBytes& x, const MatmulBytes& y) {
  return {.a = std::max(x.a, y.a), .b = std::max(x.b, y.b), .c = std::max(x.c, y.c)};
}

absl::StatusOr<std::shared_ptr<MatmulArena>> MatmulArena::Create(v1::DataType type,
                                                                 const MatmulBytes& bytes,
                                                                 const HostContext& context) {
  auto arena = std::make_shared<MatmulArena>();
  arena->b_offset_ = bytes.a;
  SEXTANT_ASSIGN_OR_RETURN(arena->inputs_, context.memory->Allocate(bytes.a + bytes.b));
  SEXTANT_ASSIGN_OR_RETURN(arena->output_, context.memory->Allocate(bytes.c));
  const std::vector<char> pattern = PatternOf(type);
  context.team->Run([&](int index) {
    Repeat(pattern, PartOf(arena->inputs_.size_bytes(), index, context.team->size(), kPageBytes),
           arena->inputs_.As<char>());
  });
  return arena;
}

}  // namespace sextant
