#include "gpu_probe/host/matmul_workload.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"

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

// The largest sum of random errors of the expected size, in standard deviations: by Hoeffding's
// inequality 1 row's block in 3e7 exceeds it, even where every element's error is as large as its
// bound; the bounds are several times larger than that.
constexpr double kDeviations = 6;

double ToDouble(float value) { return value; }
double ToDouble(uint16_t bf16) { return FromBf16(bf16); }
double ToDouble(uint8_t value) { return value; }
double ToDouble(int8_t value) { return value; }
double ToDouble(int32_t value) { return value; }

template <typename Element>
void Widen(const Element* from, int64_t count, double* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = ToDouble(from[i]);
}

// Relative bounds of one rounding: of a partial sum, and of an element of C when it is written. 0
// where arithmetic is exact.
struct Rounding {
  double sum = 0;
  double output = 0;
};

// The elements of A, B and C.
template <typename AElement, typename BElement, typename CElement>
struct MatmulElements {
  using A = AElement;
  using B = BElement;
  using C = CElement;
};
struct Fp32Elements : MatmulElements<float, float, float> {
  static constexpr Rounding kRounding = {.sum = 0x1p-24, .output = 0};
};
struct Bf16Elements : MatmulElements<uint16_t, uint16_t, uint16_t> {
  static constexpr Rounding kRounding = {.sum = 0x1p-24, .output = 0x1p-8};
};
struct Int8Elements : MatmulElements<uint8_t, int8_t, int32_t> {
  static constexpr Rounding kRounding = {};
};

// The first difference that a thread finds.
struct Difference {
  bool found = false;
  int64_t row = 0;
  int64_t first_column = 0;
  int64_t end_column = 0;
  double by = 0;
  double allowed = 0;
};

using Doubles = VectorOf<double, kBaseBytes>::Type;
constexpr int64_t kCheckLanes = VectorOf<double, kBaseBytes>::kLaneCount;

double Dot(const double* x, const double* y, int64_t count) {
  constexpr int kSumCount = 4;
  constexpr int64_t kStep = kSumCount * kCheckLanes;
  Doubles sums[kSumCount] = {};
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (int j = 0; j < kSumCount; ++j) {
      sums[j] += *reinterpret_cast<const Doubles*>(x + i + j * kCheckLanes) *
                 *reinterpret_cast<const Doubles*>(y + i + j * kCheckLanes);
    }
  }
  const Doubles sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = sum[0] + sum[1];
  for (; i < count; ++i) total += x[i] * y[i];
  return total;
}

// One check. All arithmetic is in double, which holds every sum of INT8 exactly, and whose rounding
// errors are 2^-29 of those of the other types.
template <typename Elements>
class Check {
 public:
  Check(const v1::MatmulShape& shape, const MatmulOperands& operands, uint64_t seed)
      : m_(shape.m()),
        n_(shape.n()),
        k_(shape.k()),
        a_(static_cast<const typename Elements::A*>(operands.a)),
        b_(static_cast<const typename Elements::B*>(operands.b)),
        c_(static_cast<const typename Elements::C*>(operands.c)),
        block_count_(CeilDivide(n_, kCheckedColumnCount)),
        signs_(static_cast<size_t>(n_)),
        b_signs_(static_cast<size_t>(block_count_ * k_)),
        b_norms_(static_cast<size_t>(block_count_)) {
    for (size_t j = 0; j < signs_.size(); ++j) {
      signs_[j] = (RandomBits(seed + j) & 1) != 0 ? 1 : -1;
    }
  }

  absl::Status Run(ThreadTeam* team) {
    team->Run([&](int index) {
      const Part blocks = PartOf(block_count_, index, team->size(), 1);
      for (int64_t block = blocks.begin; block < blocks.end; ++block) SumColumns(block);
    });
    std::vector<Difference> differences(static_cast<size_t>(team->size()));
    team->Run([&](int index) {
      differences[static_cast<size_t>(index)] = CompareRows(PartOf(m_, index, team->size(), 1));
    });
    for (const Difference& found : differences) {
      if (!found.found) continue;
      return absl::DataLossError(absl::StrCat("wrong product: in row ", found.row, " the columns ",
                                              found.first_column, " to ", found.end_column - 1,
                                              " are off by ", found.by, " where rounding explains ",
                                              found.allowed));
    }
    return absl::OkStatus();
  }

 private:
  int64_t EndColumn(int64_t block) const { return std::min((block + 1) * kCheckedColumnCount, n_); }
  // Computes B r for the block's columns, and their Frobenius norm.
  void SumColumns(int64_t block) {
    double* const sums = b_signs_.data() + block * k_;
    std::vector<double> column(static_cast<size_t>(k_));
    double squares = 0;
    for (int64_t j = block * kCheckedColumnCount; j < EndColumn(block); ++j) {
      const double sign = signs_[static_cast<size_t>(j)];
      Widen(b_ + j * k_, k_, column.data());
      for (int64_t p = 0; p < k_; ++p) sums[p] += sign * column[static_cast<size_t>(p)];
      squares += Dot(column.data(), column.data(), k_);
    }
    b_norms_[static_cast<size_t>(block)] = std::sqrt(squares);
  }

  Difference CompareRows(const Part& rows) const {
    std::vector<double> a_row(static_cast<size_t>(k_));
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      Widen(a_ + i * k_, k_, a_row.data());
      const double a_norm = std::sqrt(Dot(a_row.data(), a_row.data(), k_));
      for (int64_t block = 0; block < block_count_; ++block) {
        const Difference difference = CompareBlock(i, a_row, a_norm, block);
        if (difference.found) return difference;
      }
    }
    return {};
  }

  Difference CompareBlock(int64_t row, const std::vector<double>& a_row, double a_norm,
                          int64_t block) const {
    std::array<double, kCheckedColumnCount> c;
    const int64_t first_column = block * kCheckedColumnCount;
    const int64_t count = EndColumn(block) - first_column;
    Widen(c_ + row * n_ + first_column, count, c.data());
    const double actual = Dot(signs_.data() + first_column, c.data(), count);
    const double c_norm = std::sqrt(Dot(c.data(), c.data(), count));
    const double expected = Dot(a_row.data(), b_signs_.data() + block * k_, k_);
    constexpr Rounding kRounding = Elements::kRounding;
    const double sum_rounding = kRounding.sum * std::sqrt(static_cast<double>(k_)) * a_norm *
                                b_norms_[static_cast<size_t>(block)];
    const double allowed = kDeviations * (sum_rounding + kRounding.output * c_norm);
    const double off = actual - expected;
    // Sums of 32 bits wrap around, and both values are whole numbers below 2^53.
    const bool wraps = std::is_same_v<typename Elements::C, int32_t>;
    const double by = std::abs(wraps ? std::remainder(off, 0x1p32) : off);
    // With an infinite element both values are infinite.
    if (std::isfinite(by) && by <= allowed) return {};
    return {.found = true,
            .row = row,
            .first_column = first_column,
            .end_column = EndColumn(block),
            .by = by,
            .allowed = allowed};
  }

  const int64_t m_;
  const int64_t n_;
  const int64_t k_;
  const typename Elements::A* const a_;
  const typename Elements::B* const b_;
  const typename Elements::C* const c_;
  const int64_t block_count_;
  std::vector<double> signs_;
  std::vector<double> b_signs_;  // block after block, k_ each
  std::vector<double> b_norms_;
};

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

absl::Status CheckMatmul(const v1::MatmulShape& shape, const MatmulOperands& operands,
                         uint64_t seed, ThreadTeam* team) {
  switch (shape.data_type()) {
    case v1::DATA_TYPE_BF16:
      return Check<Bf16Elements>(shape, operands, seed).Run(team);
    case v1::DATA_TYPE_INT8:
      return Check<Int8Elements>(shape, operands, seed).Run(team);
    default:
      return Check<Fp32Elements>(shape, operands, seed).Run(team);
  }
}

}  // namespace sextant::probe
