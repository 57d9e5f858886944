// The steps that an operation is done in, before anything is added up.
#ifndef SEXTANT_ENGINE_OPERATION_STEP_H_
#define SEXTANT_ENGINE_OPERATION_STEP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/operation/array.h"

namespace sextant {

// Bit i stands for the operation's operand i.
using OperandSet = uint64_t;
inline constexpr OperandSet kEveryOperand = ~OperandSet{0};
constexpr OperandSet OperandBit(size_t index) { return OperandSet{1} << index; }

// One term of the arithmetic.
struct ArithmeticTerm {
  std::string name;  // "product", "bias"
  Flops flops = {};
  bool matrix_product = false;  // by the matrix units, else by the general ones
  std::string reason;           // "2 m n k: each of m n outputs is k multiply-adds"
  // In a backward step: the operands whose gradients take this term, any of them.
  OperandSet needed_by = kEveryOperand;
};

// An array moved once between the device's memory and its units.
struct Movement {
  Array array;
  bool written = false;  // else read
  OperandSet needed_by = kEveryOperand;
};

// One kernel: reads each of its inputs once, writes each of its outputs once.
struct Step {
  std::string name;
  std::vector<ArithmeticTerm> arithmetic;
  std::vector<Movement> movements;
};

// The steps as one kernel: all their arithmetic, what comes from outside read once, outputs
// written once, and scratch arrays kept on the chip.
Step Fuse(std::string name, absl::Span<const Step> steps);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_STEP_H_
