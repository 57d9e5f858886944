// The steps of an operation and their costs: arrays, arithmetic, movements, and their sums.
#ifndef SEXTANT_ENGINE_OPERATION_COST_H_
#define SEXTANT_ENGINE_OPERATION_COST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/shape.h"

namespace sextant {

// A FLOP is one addition, subtraction, multiplication, division or comparison; a multiply-add is
// two. An accumulator starts at its identity, so a sum of n numbers is n additions, as in 2 m n k.
// Sign changes, selections, copies and random numbers are free. exp, log, tanh, erf and
// (reciprocal) square root count `transcendental` FLOPs: one by default, although special function
// units take longer.
inline constexpr double kFlopsPerMultiplyAdd = 2;

struct FlopConvention {
  double transcendental = 1;  // FLOPs; at least 0
};

// Arithmetic per element (or per row).
struct Work {
  double plain = 0;
  double transcendental = 0;

  friend constexpr Work operator+(Work a, Work b) {
    return {a.plain + b.plain, a.transcendental + b.transcendental};
  }
  friend constexpr Work operator*(Work a, double k) { return {a.plain * k, a.transcendental * k}; }
};

constexpr Flops FlopsOf(Work work, FlopConvention convention) {
  return Flops(work.plain + work.transcendental * convention.transcendental);
}

enum class ArrayRole {
  kInput,
  kParameter,
  kOutput,
  kStatistic,  // made by the forward pass only for the backward pass
  kGradient,
  kScratch,  // between two steps; a fused kernel never moves it
  kState,    // an optimizer's
};

// An array that an operation reads or writes.
struct Array {
  std::string name;
  ArrayRole role = ArrayRole::kInput;
  DataType data_type = DataType::kUnspecified;
  Shape shape;
  // Bytes per element of data that isn't numbers of a format: 8 for token ids (int64), 1 for a
  // mask; 0 where data_type applies.
  int64_t index_bytes = 0;
};

// Errors: kInvalidArgument "shape", with the array's name, above 9.2e18 elements or bytes.
absl::StatusOr<int64_t> ElementsOf(const Array& array);
absl::StatusOr<Bytes> BytesOf(const Array& array);

// "x [4, 8] fp32".
std::string TextOf(const Array& array);

// Bit i is the operation's operand i.
using OperandSet = uint64_t;
inline constexpr OperandSet kEveryOperand = ~OperandSet{0};

constexpr OperandSet OperandBit(size_t index) { return OperandSet{1} << index; }

// One term of the arithmetic.
struct ArithmeticTerm {
  std::string name;  // "product", "bias"
  Flops flops = {};
  bool matrix_product = false;  // on the matrix units, else on the general units
  std::string reason;           // "2 m n k: each of m n outputs is k multiply-adds"
  // In a backward step: the operands whose gradients need this term.
  OperandSet needed_by = kEveryOperand;
};

// An array moved once between the device's memory and its units.
struct Movement {
  Array array;
  bool written = false;  // else read
  OperandSet needed_by = kEveryOperand;
};

// One kernel: reads each input once and writes each output once.
struct Step {
  std::string name;
  std::vector<ArithmeticTerm> arithmetic;
  std::vector<Movement> movements;
};

// Fuses the steps into one kernel: all their arithmetic, external inputs read once, outputs
// written once, and scratch arrays kept on chip.
Step Fuse(std::string name, absl::Span<const Step> steps);

struct TrafficTerm {
  Array array;
  bool written = false;
  Bytes size = Bytes(0);
  std::string reason;  // "x [4, 8] fp32 is read once"
};

struct CostSum {
  Flops matrix_flops = {};  // of matrix products
  Flops other_flops = {};
  Bytes read = Bytes(0);
  Bytes written = Bytes(0);

  Flops flops() const { return matrix_flops + other_flops; }
  // At most 9.2e18, or CostOf() would have failed.
  Bytes moved() const { return read + written; }
  // FLOPs per byte moved; absent where nothing moves.
  absl::optional<double> intensity() const;
};

struct StepCost {
  std::string name;
  std::vector<ArithmeticTerm> arithmetic;
  std::vector<TrafficTerm> traffic;
  CostSum sum;
};

struct OperationCost {
  std::vector<StepCost> steps;
  CostSum sum;  // exactly the sum of the steps
};

// Errors: kInvalidArgument "shape" where more than 9.2e18 bytes move.
absl::StatusOr<CostSum> SumOf(const CostSum& a, const CostSum& b);

// The cost of the parts of `steps` that the gradients of `needed` require; empty steps are
// omitted.
//
// Errors: kInvalidArgument "shape" where there are more than 9.2e18 bytes.
absl::StatusOr<OperationCost> CostOf(absl::Span<const Step> steps, OperandSet needed);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_COST_H_
