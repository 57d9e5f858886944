// A small host for testing workloads, and operands of a small multiplication with its product by
// three plain loops.
#ifndef SEXTANT_TESTS_GPU_PROBE_HOST_TEST_HOST_H_
#define SEXTANT_TESTS_GPU_PROBE_HOST_TEST_HOST_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "gpu_probe/host/builtin_matmul.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"
#include "gpu_probe/point.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::probe {

// oneDNN's threads are OpenMP's and never end, and the leak checker can't read their thread-local
// storage: under it the library gets no threads of its own, or is missing.
#ifdef __SANITIZE_ADDRESS__
inline const CoreSet kOnednnCores = {.numbers = {0}, .pinned = false};
inline constexpr char kOnednnLibrary[] = "/nowhere";
#else
inline const CoreSet kOnednnCores = {.numbers = {0, 1}, .pinned = false};
inline constexpr char kOnednnLibrary[] = "";
#endif

inline std::unique_ptr<ThreadTeam> UnpinnedTeam(int thread_count) {
  return *ThreadTeam::Create(
      {.numbers = std::vector<int>(static_cast<size_t>(thread_count)), .pinned = false});
}

inline SharedContext SmallHost(int thread_count = 2, int64_t cap_bytes = int64_t{64} << 20) {
  auto context = std::make_shared<HostContext>();
  context->features = DetectCpuFeatures();
  context->cache_bytes = 1 << 20;
  context->team = UnpinnedTeam(thread_count);
  context->memory = std::make_unique<MemoryBudget>(cap_bytes);
  context->builtin = std::make_unique<BuiltinEngine>(WidestSimd(context->features),
                                                     context->team.get(), context->memory.get());
  return context;
}

// Checks a workload after `repetition_count` runs onto poison.
inline absl::Status RunAndCheck(Workload& workload, int64_t repetition_count = 1) {
  workload.Poison();
  const absl::Status ran = workload.Run(repetition_count);
  return ran.ok() ? workload.Check() : ran;
}

// All levels that this processor supports.
inline std::vector<SimdLevel> LevelsHere() {
  std::vector<SimdLevel> levels;
  for (const SimdLevel level : {SimdLevel::kBase, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (level <= WidestSimd(DetectCpuFeatures())) levels.push_back(level);
  }
  return levels;
}

inline v1::MatmulShape ShapeOf(v1::DataType type, int64_t m, int64_t n, int64_t k) {
  v1::MatmulShape shape;
  shape.set_data_type(type);
  shape.set_m(m);
  shape.set_n(n);
  shape.set_k(k);
  return shape;
}

// Memory for all three matrices of one type.
class MatmulData {
 public:
  explicit MatmulData(const v1::MatmulShape& shape, uint64_t seed = 0) : shape_(shape) {
    Fill(seed, shape.m() * shape.k(), &a_);
    Fill(seed + (uint64_t{1} << 40), shape.n() * shape.k(), &b_);
    c_.assign(static_cast<size_t>(shape.m() * shape.n() * OutputElementBytes(shape.data_type())),
              static_cast<char>(0xFF));
  }

  MatmulOperands operands() { return {.a = a_.data(), .b = b_.data(), .c = c_.data()}; }

  double A(int64_t i, int64_t p) const { return Input(a_, i * shape_.k() + p, true); }
  double B(int64_t p, int64_t j) const { return Input(b_, j * shape_.k() + p, false); }

  double C(int64_t i, int64_t j) const {
    const int64_t at = i * shape_.n() + j;
    switch (shape_.data_type()) {
      case v1::DATA_TYPE_BF16:
        return FromBf16(Element<uint16_t>(c_, at));
      case v1::DATA_TYPE_INT8:
        return Element<int32_t>(c_, at);
      default:
        return Element<float>(c_, at);
    }
  }

  void SetC(int64_t i, int64_t j, double value) {
    const int64_t at = i * shape_.n() + j;
    switch (shape_.data_type()) {
      case v1::DATA_TYPE_BF16:
        return Set(at, ToBf16(static_cast<float>(value)));
      case v1::DATA_TYPE_INT8:
        return Set(at, static_cast<int32_t>(value));
      default:
        return Set(at, static_cast<float>(value));
    }
  }

  // Multiplies in double, and rounds once at the end, to the type's output.
  void Multiply() {
    for (int64_t i = 0; i < shape_.m(); ++i) {
      for (int64_t j = 0; j < shape_.n(); ++j) {
        double sum = 0;
        for (int64_t p = 0; p < shape_.k(); ++p) sum += A(i, p) * B(p, j);
        SetC(i, j, sum);
      }
    }
  }

 private:
  template <typename T>
  static T Element(const std::vector<char>& from, int64_t at) {
    T out;
    std::memcpy(&out, from.data() + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return out;
  }
  template <typename T>
  void Set(int64_t at, T value) {
    std::memcpy(c_.data() + at * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
  }
  double Input(const std::vector<char>& from, int64_t at, bool is_a) const {
    switch (shape_.data_type()) {
      case v1::DATA_TYPE_BF16:
        return FromBf16(Element<uint16_t>(from, at));
      case v1::DATA_TYPE_INT8:
        if (is_a) return Element<uint8_t>(from, at);
        return Element<int8_t>(from, at);
      default:
        return Element<float>(from, at);
    }
  }
  void Fill(uint64_t seed, int64_t count, std::vector<char>* out) {
    const std::vector<float> numbers = NormalNumbers(seed, count);
    for (int64_t i = 0; i < count; ++i) {
      const float number = numbers[static_cast<size_t>(i)];
      const uint16_t bf16 = ToBf16(number);
      const auto byte = static_cast<uint8_t>(RandomBits(seed + static_cast<uint64_t>(i)));
      const void* from = &number;
      if (shape_.data_type() == v1::DATA_TYPE_BF16) from = &bf16;
      if (shape_.data_type() == v1::DATA_TYPE_INT8) from = &byte;
      const auto* const bytes = static_cast<const char*>(from);
      out->insert(out->end(), bytes, bytes + InputElementBytes(shape_.data_type()));
    }
  }

  const v1::MatmulShape shape_;
  std::vector<char> a_;
  std::vector<char> b_;
  std::vector<char> c_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_HOST_TEST_HOST_H_
