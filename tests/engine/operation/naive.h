// Naive operations: plain loops over numbers that count each multiplication, addition,
// division and comparison, and over buffers that note which elements were touched. They know
// nothing of engine/operation, and prove their own gradients by finite differences.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/operation/analysis.h"
#include "tests/support/status_matchers.h"

namespace sextant::naive {

// Operations counted since the last Reset().
struct Counts {
  double plain = 0;
  double transcendental = 0;
};

inline Counts& Counted() {
  static Counts counts;
  return counts;
}

// A number whose arithmetic is counted. Changing its sign is free.
class Number {
 public:
  Number(double value = 0) : value_(value) {}  // NOLINT: constants read as numbers
  double value() const { return value_; }

  friend Number operator+(Number a, Number b) { return One(a.value_ + b.value_); }
  friend Number operator-(Number a, Number b) { return One(a.value_ - b.value_); }
  friend Number operator*(Number a, Number b) { return One(a.value_ * b.value_); }
  friend Number operator/(Number a, Number b) { return One(a.value_ / b.value_); }
  friend bool operator>(Number a, Number b) { return One(a.value_ > b.value_).value_ != 0; }
  friend bool operator==(Number a, Number b) { return One(a.value_ == b.value_).value_ != 0; }
  Number operator-() const { return -value_; }
  Number& operator+=(Number b) { return *this = *this + b; }

 private:
  static Number One(double value) {
    Counted().plain += 1;
    return value;
  }
  double value_;
};

inline int64_t CountTrue(const std::vector<bool>& bits) {
  return std::count(bits.begin(), bits.end(), true);
}

// An array in memory.
class Buffer {
 public:
  Buffer(int64_t count, int64_t element_bytes, double seed)
      : element_bytes_(element_bytes), data_(static_cast<size_t>(count)) {
    for (size_t i = 0; i < data_.size(); ++i) {
      data_[i] = std::sin(seed + 1.7 * static_cast<double>(i)) + 0.01;
    }
    Forget();
  }

  Number operator[](int64_t i) const {
    read_[static_cast<size_t>(i)] = true;
    return data_[static_cast<size_t>(i)];
  }
  void Set(int64_t i, Number value) {
    written_[static_cast<size_t>(i)] = true;
    data_[static_cast<size_t>(i)] = value.value();
  }
  double& raw(int64_t i) { return data_[static_cast<size_t>(i)]; }
  int64_t count() const { return static_cast<int64_t>(data_.size()); }

  // Bytes of the elements touched since the last Forget().
  int64_t bytes_read() const { return CountTrue(read_) * element_bytes_; }
  int64_t bytes_written() const { return CountTrue(written_) * element_bytes_; }
  void Forget() {
    read_.assign(data_.size(), false);
    written_.assign(data_.size(), false);
  }

  bool counted_forward = true;  // false: for the backward pass alone

 private:
  int64_t element_bytes_;
  std::vector<double> data_;
  mutable std::vector<bool> read_;
  std::vector<bool> written_;
};

// Bytes of the three types that the tests use, each of a different width.
inline constexpr int64_t kInputBytes = 2;
inline constexpr int64_t kOutputBytes = 4;
inline constexpr int64_t kAccumulationBytes = 8;
inline constexpr OperationTypes kTypes = {
    .input = DataType::kBf16, .output = DataType::kFp32, .accumulation = DataType::kFp64};

// One operation, done in kernels: Kernel() ends one and adds up what it touched.
class Naive {
 public:
  virtual ~Naive() = default;
  virtual void Forward() = 0;
  // Writes the gradients of those operands whose bits `needed` has.
  virtual void Backward(OperandSet needed) = 0;

  // In the order of the operation's operands; a gradient is null where there is none.
  std::vector<Buffer*> operands;
  std::vector<Buffer*> gradients;
  Buffer* output = nullptr;
  Buffer* output_gradient = nullptr;

  struct Tally {
    Counts counts;
    int64_t bytes_read = 0;
    int64_t bytes_written = 0;
  };
  Tally RunForward() {
    Start(true);
    Forward();
    Kernel();
    tally_.counts = Counted();
    return tally_;
  }
  Tally RunBackward(OperandSet needed) {
    Start(false);
    Backward(needed);
    Kernel();
    tally_.counts = Counted();
    return tally_;
  }

 protected:
  Buffer* New(int64_t count, int64_t element_bytes) {
    buffers_.push_back(std::make_unique<Buffer>(count, element_bytes,
                                                0.37 * static_cast<double>(buffers_.size() + 1)));
    return buffers_.back().get();
  }
  // An input with its gradient; the output with its.
  Buffer* Operand(int64_t count, bool differentiable = true) {
    operands.push_back(New(count, kInputBytes));
    gradients.push_back(differentiable ? New(count, kInputBytes) : nullptr);
    return operands.back();
  }
  Buffer* Output(int64_t count) {
    output = New(count, kOutputBytes);
    output_gradient = New(count, kOutputBytes);
    return output;
  }
  void Kernel() {
    for (const auto& buffer : buffers_) {
      if (!forward_ || buffer->counted_forward) {
        tally_.bytes_read += buffer->bytes_read();
        tally_.bytes_written += buffer->bytes_written();
      }
      buffer->Forget();
    }
  }
  Buffer& gradient(size_t i) { return *gradients[i]; }

 private:
  void Start(bool forward) {
    for (const auto& buffer : buffers_) buffer->Forget();
    forward_ = forward;
    tally_ = {};
    Counted() = {};
  }

  std::vector<std::unique_ptr<Buffer>> buffers_;
  bool forward_ = true;
  Tally tally_;
};

constexpr bool Has(OperandSet set, size_t i) { return (set & OperandBit(i)) != 0; }

inline Number Transcendental(double value) {
  Counted().transcendental += 1;
  return value;
}

inline void ExpectCost(const OperationCost& cost, const Naive::Tally& tally, double transcendental,
                       const std::string& what) {
  EXPECT_EQ(cost.sum.flops().value(),
            tally.counts.plain + transcendental * tally.counts.transcendental)
      << what;
  EXPECT_EQ(cost.sum.read.value(), tally.bytes_read) << what;
  EXPECT_EQ(cost.sum.written.value(), tally.bytes_written) << what;
}

// The loss that the gradients are of: the sum of output x output gradient.
inline double Loss(Naive& naive) {
  naive.RunForward();
  double loss = 0;
  for (int64_t i = 0; i < naive.output->count(); ++i) {
    loss += naive.output->raw(i) * naive.output_gradient->raw(i);
  }
  return loss;
}

inline void ExpectTrueGradient(Naive& naive, size_t operand) {
  constexpr double kStep = 1e-5;
  Buffer& x = *naive.operands[operand];
  for (int64_t i = 0; i < x.count(); ++i) {
    const double kept = x.raw(i);
    x.raw(i) = kept + kStep;
    const double above = Loss(naive);
    x.raw(i) = kept - kStep;
    const double below = Loss(naive);
    x.raw(i) = kept;
    EXPECT_NEAR(naive.gradients[operand]->raw(i), (above - below) / (2 * kStep), 1e-6)
        << "operand " << operand << " element " << i;
  }
}

inline Number Exp(Number x) { return Transcendental(std::exp(x.value())); }
inline Number Log(Number x) { return Transcendental(std::log(x.value())); }
inline Number Tanh(Number x) { return Transcendental(std::tanh(x.value())); }
inline Number Erf(Number x) { return Transcendental(std::erf(x.value())); }
inline Number Sqrt(Number x) { return Transcendental(std::sqrt(x.value())); }
inline Number ReciprocalSqrt(Number x) { return Transcendental(1 / std::sqrt(x.value())); }

// Expects the engine's answer for `operation` to be what `naive` counts, forward and for the
// gradients of every subset of its operands, and the naive gradients to be true.
inline void ExpectCounted(const Operation& operation, Naive& naive) {
  for (const double transcendental : {1.0, 4.0}) {
    const OperationRequest request = {operation, kTypes, {.transcendental = transcendental}};
    const auto analysis = AnalyzeOperation(request, "");
    ASSERT_THAT(analysis, IsOk());
    ExpectCost(analysis->forward, naive.RunForward(), transcendental, "forward");

    const OpKernels kernels = OpKernelsOf(operation, {analysis->types, request.convention});
    const OperandSet sets = OperandBit(naive.operands.size());
    for (OperandSet needed = 1; needed < sets; ++needed) {
      if ((needed & ~kernels.differentiable) != 0) continue;
      const auto backward = BackwardCostOf(kernels, needed);
      ASSERT_THAT(backward, IsOk());
      ExpectCost(backward->cost, naive.RunBackward(needed), transcendental,
                 "gradients of " + std::to_string(needed));
    }
    naive.RunForward();
    naive.RunBackward(kernels.differentiable);
    for (size_t i = 0; i < naive.operands.size(); ++i) {
      EXPECT_EQ(naive.gradients[i] != nullptr, Has(kernels.differentiable, i)) << i;
      if (naive.gradients[i] != nullptr) ExpectTrueGradient(naive, i);
    }
  }
}

// The same of each operation, by a `Counting` that is made of it.
template <typename Counting, typename Op>
void ExpectEachCounted(const std::vector<Op>& operations) {
  for (const Op& op : operations) {
    Counting naive(op);
    ExpectCounted(op, naive);
  }
}

// The answer for an operation in the types that the tests use; an empty one on an error.
inline OperationAnalysis Analyze(const Operation& operation, const OperationTypes& types = kTypes) {
  const auto analysis = AnalyzeOperation({operation, types}, "");
  EXPECT_THAT(analysis, IsOk());
  return analysis.value_or(OperationAnalysis());
}

}  // namespace sextant::naive

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_H_
