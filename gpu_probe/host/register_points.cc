#include "gpu_probe/host/register_points.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gpu_probe/host/matmul_points.h"
#include "gpu_probe/host/random_data.h"

namespace sextant {
namespace {

// Odd, so that FP32 does not end where it began; some 0.3 ms of work.
constexpr int64_t kStepCount = 40'001;

// Numbers with few digits, whose sums and differences are all exact.
float RandomEighth(uint64_t counter) {
  constexpr int kCount = 1 << 14;
  return static_cast<float>(RandomBits(counter) % kCount + 1) / 8;
}

// A pair of small whole bf16 numbers: 40,001 sums of their products stay below 2^24.
uint32_t RandomBf16Pair(uint64_t counter) {
  const uint64_t bits = RandomBits(counter);
  const auto number = [&](int shift) {
    return ToBf16(static_cast<float>(static_cast<int>(bits >> shift & 0xF) - 7));
  };
  return uint32_t{number(8)} << 16 | number(0);
}

RegisterState StartOf(v1::DataType type, uint64_t seed) {
  RegisterState state;
  for (size_t i = 0; i < state.left.size(); ++i) {
    switch (type) {
      case v1::DATA_TYPE_BF16:
        state.left[i] = RandomBf16Pair(seed + 2 * i);
        state.right[i] = RandomBf16Pair(seed + 2 * i + 1);
        break;
      case v1::DATA_TYPE_INT8:
        state.left[i] = static_cast<uint32_t>(RandomBits(seed + 2 * i));
        state.right[i] = static_cast<uint32_t>(RandomBits(seed + 2 * i + 1));
        break;
      default:
        state.left[i] = std::bit_cast<uint32_t>(-1.0F);
        state.right[i] = std::bit_cast<uint32_t>(RandomEighth(seed + i));
    }
  }
  if (type != v1::DATA_TYPE_FP32) return state;  // the other sums begin at 0
  for (size_t i = 0; i < state.words.size(); ++i) {
    state.words[i] = std::bit_cast<uint32_t>(RandomEighth(seed + 1000 + i));
  }
  return state;
}

// The sum that one step of BF16 adds to a word.
double PairProduct(uint32_t left, uint32_t right) {
  const auto low = [](uint32_t pair) { return FromBf16(static_cast<uint16_t>(pair & 0xFFFF)); };
  const auto high = [](uint32_t pair) { return FromBf16(static_cast<uint16_t>(pair >> 16)); };
  return double{low(left)} * low(right) + double{high(left)} * high(right);
}

// The same of INT8.
int64_t QuadProduct(uint32_t left, uint32_t right) {
  int64_t sum = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    sum += int64_t{static_cast<uint8_t>(left >> shift)} * static_cast<int8_t>(right >> shift);
  }
  return sum;
}

class RegisterWorkload : public Workload {
 public:
  RegisterWorkload(const RegisterKernel& kernel, int64_t step_count, SharedContext context)
      : context_(std::move(context)),
        kernel_(kernel),
        step_count_(step_count),
        start_(StartOf(kernel.data_type, /*seed=*/0)),
        states_(static_cast<size_t>(context_->team->size())) {}

  void Poison() override {
    for (RegisterState& state : states_) {
      std::fill(state.words.begin(), state.words.end(), 0xFFFFFFFFU);
    }
  }

  absl::Status Run(int64_t repetition_count) override {
    context_->team->Run([&](int index) {
      for (int64_t i = 0; i < repetition_count; ++i) {
        RegisterState& state = states_[static_cast<size_t>(index)];
        state = start_;
        kernel_.run(&state, step_count_);
      }
    });
    return absl::OkStatus();
  }

  absl::Status Check() override {
    for (size_t thread = 0; thread < states_.size(); ++thread) {
      for (int word = 0; word < kernel_.word_count; ++word) {
        const uint32_t expected = ExpectedWord(kernel_, start_, word, step_count_);
        const uint32_t actual = states_[thread].words[static_cast<size_t>(word)];
        if (actual == expected) continue;
        return absl::DataLossError(absl::StrCat(kernel_.instruction, " on thread ", thread,
                                                ": word ", word, " is 0x", absl::Hex(actual),
                                                ", not 0x", absl::Hex(expected)));
      }
    }
    return absl::OkStatus();
  }

 private:
  const SharedContext context_;
  const RegisterKernel kernel_;
  const int64_t step_count_;
  const RegisterState start_;
  std::vector<RegisterState> states_;
};

Point PointOf(const RegisterKernel& kernel, const SharedContext& context) {
  const double work = static_cast<double>(kStepCount) * kernel.word_count *
                      kernel.operation_count_a_word * context->team->size();
  Point point;
  point.phase = "registers";
  point.label = absl::StrCat(TypeLabel(kernel.data_type), " ", kernel.instruction);
  point.work = work;
  point.unit = "FLOP/s";
  point.first = true;
  point.pass_count = kRevisitPassCount;
  point.make = [kernel, context] { return RegisterWorkloadOf(kernel, kStepCount, context); };
  point.record = [kernel, work](const v1::TimeStatistics& time, v1::Calibration* out) {
    v1::RegisterMeasurement* const measured = out->add_registers();
    measured->set_data_type(kernel.data_type);
    measured->set_instruction(kernel.instruction);
    measured->set_flops_per_second(work / time.median_seconds());
    *measured->mutable_time() = time;
  };
  return point;
}

}  // namespace

uint32_t ExpectedWord(const RegisterKernel& kernel, const RegisterState& start, int word,
                      int64_t step_count) {
  const auto lane = static_cast<size_t>(word % kernel.lane_count);
  const uint32_t begin = start.words[static_cast<size_t>(word)];
  const uint32_t left = start.left[lane];
  const uint32_t right = start.right[lane];
  switch (kernel.data_type) {
    case v1::DATA_TYPE_BF16: {
      const double sum =
          std::bit_cast<float>(begin) + static_cast<double>(step_count) * PairProduct(left, right);
      return std::bit_cast<uint32_t>(static_cast<float>(sum));
    }
    case v1::DATA_TYPE_INT8:
      return begin + static_cast<uint32_t>(step_count * QuadProduct(left, right));
    default:
      // x -> c - x: back where it began after every second step.
      if (step_count % 2 == 0) return begin;
      return std::bit_cast<uint32_t>(std::bit_cast<float>(right) - std::bit_cast<float>(begin));
  }
}

std::unique_ptr<Workload> RegisterWorkloadOf(const RegisterKernel& kernel, int64_t step_count,
                                             SharedContext context) {
  return std::make_unique<RegisterWorkload>(kernel, step_count, std::move(context));
}

std::vector<Point> RegisterPoints(const std::vector<v1::DataType>& types,
                                  const SharedContext& context) {
  const std::vector<RegisterKernel> kernels = RegisterKernelsOf(context->features);
  std::vector<Point> points;
  for (const v1::DataType type : types) {
    const auto kernel =
        std::find_if(kernels.begin(), kernels.end(),
                     [type](const RegisterKernel& k) { return k.data_type == type; });
    if (kernel != kernels.end()) points.push_back(PointOf(*kernel, context));
  }
  return points;
}

}  // namespace sextant
