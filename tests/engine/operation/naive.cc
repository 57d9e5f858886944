#include "tests/engine/operation/naive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/support/status_matchers.h"

namespace sextant::naive {
namespace {

Number Transcendental(double value) {
  Counted().transcendental += 1;
  return value;
}

int64_t CountTrue(const std::vector<bool>& bits) {
  return std::count(bits.begin(), bits.end(), true);
}

void ExpectCost(const OperationCost& cost, const Naive::Tally& tally, double transcendental,
                const std::string& what) {
  EXPECT_EQ(cost.sum.flops().value(),
            tally.counts.plain + transcendental * tally.counts.transcendental)
      << what;
  EXPECT_EQ(cost.sum.read.value(), tally.bytes_read) << what;
  EXPECT_EQ(cost.sum.written.value(), tally.bytes_written) << what;
}

// The loss that the gradients are of: the sum of output x output gradient.
double Loss(Naive& naive) {
  naive.RunForward();
  double loss = 0;
  for (int64_t i = 0; i < naive.output->count(); ++i) {
    loss += naive.output->raw(i) * naive.output_gradient->raw(i);
  }
  return loss;
}

void ExpectTrueGradient(Naive& naive, size_t operand) {
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

}  // namespace

Counts& Counted() {
  static Counts counts;
  return counts;
}

Number Exp(Number x) { return Transcendental(std::exp(x.value())); }
Number Log(Number x) { return Transcendental(std::log(x.value())); }
Number Tanh(Number x) { return Transcendental(std::tanh(x.value())); }
Number Erf(Number x) { return Transcendental(std::erf(x.value())); }
Number Sqrt(Number x) { return Transcendental(std::sqrt(x.value())); }
Number ReciprocalSqrt(Number x) { return Transcendental(1 / std::sqrt(x.value())); }

Buffer::Buffer(int64_t count, int64_t element_bytes, double seed)
    : element_bytes_(element_bytes), data_(static_cast<size_t>(count)) {
  for (size_t i = 0; i < data_.size(); ++i) {
    data_[i] = std::sin(seed + 1.7 * static_cast<double>(i)) + 0.01;
  }
  Forget();
}
int64_t Buffer::bytes_read() const { return CountTrue(read_) * element_bytes_; }
int64_t Buffer::bytes_written() const { return CountTrue(written_) * element_bytes_; }
void Buffer::Forget() {
  read_.assign(data_.size(), false);
  written_.assign(data_.size(), false);
}

Buffer* Naive::New(int64_t count, int64_t element_bytes) {
  buffers_.push_back(std::make_unique<Buffer>(count, element_bytes,
                                              0.37 * static_cast<double>(buffers_.size() + 1)));
  return buffers_.back().get();
}
Buffer* Naive::Operand(int64_t count, bool differentiable) {
  operands.push_back(New(count, kInputBytes));
  gradients.push_back(differentiable ? New(count, kInputBytes) : nullptr);
  return operands.back();
}
Buffer* Naive::Output(int64_t count) {
  output = New(count, kOutputBytes);
  output_gradient = New(count, kOutputBytes);
  return output;
}

void Naive::Kernel() {
  for (const auto& buffer : buffers_) {
    if (!forward_ || buffer->counted_forward) {
      tally_.bytes_read += buffer->bytes_read();
      tally_.bytes_written += buffer->bytes_written();
    }
    buffer->Forget();
  }
}

void Naive::Start(bool forward) {
  for (const auto& buffer : buffers_) buffer->Forget();
  forward_ = forward;
  tally_ = {};
  Counted() = {};
}

Naive::Tally Naive::RunForward() {
  Start(true);
  Forward();
  Kernel();
  tally_.counts = Counted();
  return tally_;
}

Naive::Tally Naive::RunBackward(OperandSet needed) {
  Start(false);
  Backward(needed);
  Kernel();
  tally_.counts = Counted();
  return tally_;
}

void ExpectCounted(const Operation& operation, Naive& naive) {
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

}  // namespace sextant::naive
