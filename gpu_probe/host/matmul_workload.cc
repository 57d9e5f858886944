#include "gpu_probe/host/matmul_workload.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/matmul_check.h"
#include "gpu_probe/host/random_data.h"

namespace sextant::probe {
namespace {

constexpr int64_t kLineBytes = 64;
constexpr int64_t kArenaPageBytes = 4096;

absl::StatusOr<int64_t> RoundedUp(CheckedInt bytes, int64_t multiple) {
  const CheckedInt rounded = bytes + multiple;
  if (!rounded.ok()) return absl::ResourceExhaustedError("needs more than 9.2e18 bytes");
  return (rounded.value() - 1) / multiple * multiple;
}

// Fills `bytes` bytes at `to` with the repeated pattern, by all threads.
template <typename Element>
void Fill(const RepeatingPattern<Element>& pattern, char* to, int64_t bytes, ThreadTeam* team) {
  auto* const elements = reinterpret_cast<Element*>(to);
  const int64_t count = bytes / static_cast<int64_t>(sizeof(Element));
  team->Run([&](int index) {
    const Part part = PartOf(count, index, team->size(), kArenaPageBytes);
    pattern.Copy(part.begin, part.end - part.begin, elements + part.begin);
  });
}

RepeatingPattern<uint16_t> Bf16Pattern() {
  const std::vector<float> numbers = NormalNumbers(/*first=*/0, kPatternCount);
  std::vector<uint16_t> rounded(numbers.size());
  std::transform(numbers.begin(), numbers.end(), rounded.begin(), ToBf16);
  return RepeatingPattern<uint16_t>(std::move(rounded));
}

// The eight bits from `first_bit` on of each place's random bits.
RepeatingPattern<uint8_t> BytePattern(int first_bit) {
  std::vector<uint8_t> bytes(static_cast<size_t>(kPatternCount));
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(RandomBits(i) >> first_bit);
  }
  return RepeatingPattern<uint8_t>(std::move(bytes));
}

// The poison for every byte of C: NaN for the floating types, and for INT8 a sum below all possible
// ones.
constexpr int kNanByte = 0xFF;
constexpr int kLowByte = 0x80;

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
                       kArenaPageBytes));
  SEXTANT_ASSIGN_OR_RETURN(
      out.b, RoundedUp(CheckedInt(rotation.count) * rotation.stride_bytes, kArenaPageBytes));
  SEXTANT_ASSIGN_OR_RETURN(
      out.c, RoundedUp(CheckedInt(shape.m()) * shape.n() * OutputElementBytes(shape.data_type()),
                       kArenaPageBytes));
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
  char* const inputs = arena->inputs_.As<char>();
  ThreadTeam* const team = context.team.get();
  switch (type) {
    case v1::DATA_TYPE_INT8:
      // B needs numbers of its own: a row of A with the same numbers as a column of B, one unsigned
      // and one signed, would give a product far from 0, beyond 32 bits where k is large.
      Fill(BytePattern(/*first_bit=*/56), inputs, bytes.a, team);
      Fill(BytePattern(/*first_bit=*/48), inputs + bytes.a, bytes.b, team);
      break;
    case v1::DATA_TYPE_BF16:
      Fill(Bf16Pattern(), inputs, bytes.a + bytes.b, team);
      break;
    default:
      Fill(NormalPattern(), inputs, bytes.a + bytes.b, team);
  }
  return arena;
}

MatmulOperands MatmulWorkload::Operands() const {
  return {.a = parts_.arena->a(),
          .b = parts_.arena->b() + turn_ * parts_.rotation.stride_bytes,
          .c = parts_.arena->c()};
}

void MatmulWorkload::Poison() {
  const v1::MatmulShape& shape = parts_.shape;
  const int64_t bytes = shape.m() * shape.n() * OutputElementBytes(shape.data_type());
  const int value = shape.data_type() == v1::DATA_TYPE_INT8 ? kLowByte : kNanByte;
  parts_.context->team->Run([&](int index) {
    const Part part = PartOf(bytes, index, parts_.context->team->size(), /*block=*/4096);
    std::memset(parts_.arena->c() + part.begin, value, static_cast<size_t>(part.end - part.begin));
  });
}

absl::Status MatmulWorkload::Run(int64_t repetition_count) {
  for (int64_t i = 0; i < repetition_count; ++i) {
    turn_ = (turn_ + 1) % parts_.rotation.count;
    const absl::Status run = parts_.matmul->Run(Operands());
    if (!run.ok()) return absl::InternalError(absl::StrCat("the kernel failed: ", run.message()));
  }
  return absl::OkStatus();
}

absl::Status MatmulWorkload::Check() {
  // New signs each time: errors that cancel under one choice do not under the next.
  check_seed_ += static_cast<uint64_t>(parts_.shape.n());
  return CheckMatmul(parts_.shape, Operands(), check_seed_, parts_.context->team.get());
}

}  // namespace sextant::probe
