// Naive operations: plain loops over numbers that count each multiplication, addition,
// division and comparison, and over buffers that note which elements were touched. They know
// nothing of engine/operation, and prove their own gradients by finite differences.
#ifndef SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_H_
#define SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/operation/analysis.h"

namespace sextant::naive {

// Operations counted since the last Reset().
struct Counts {
  double plain = 0;
  double transcendental = 0;
};
Counts& Counted();

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

Number Exp(Number x);
Number Log(Number x);
Number Tanh(Number x);
Number Erf(Number x);
Number Sqrt(Number x);
Number ReciprocalSqrt(Number x);

// An array in memory.
class Buffer {
 public:
  Buffer(int64_t count, int64_t element_bytes, double seed);

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
  int64_t bytes_read() const;
  int64_t bytes_written() const;
  void Forget();

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
  Tally RunForward();
  Tally RunBackward(OperandSet needed);

 protected:
  Buffer* New(int64_t count, int64_t element_bytes);
  // An input with its gradient; the output with its.
  Buffer* Operand(int64_t count, bool differentiable = true);
  Buffer* Output(int64_t count);
  void Kernel();
  Buffer& gradient(size_t i) { return *gradients[i]; }

 private:
  void Start(bool forward);

  std::vector<std::unique_ptr<Buffer>> buffers_;
  bool forward_ = true;
  Tally tally_;
};

constexpr bool Has(OperandSet set, size_t i) { return (set & OperandBit(i)) != 0; }

// Expects the engine's answer for `operation` to be what `naive` counts, forward and for the
// gradients of every subset of its operands, and the naive gradients to be true.
void ExpectCounted(const Operation& operation, Naive& naive);

}  // namespace sextant::naive

#endif  // SEXTANT_TESTS_ENGINE_OPERATION_NAIVE_H_
