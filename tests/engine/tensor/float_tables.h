// Every number of small floating-point layouts, computed by ldexp alone.
#ifndef SEXTANT_TESTS_ENGINE_TENSOR_FLOAT_TABLES_H_
#define SEXTANT_TESTS_ENGINE_TENSOR_FLOAT_TABLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/tensor/float_layout.h"

namespace sextant {

// A layout by its definition, written down apart from the engine's.
struct SmallFloat {
  std::string name;
  int exponent_bits;
  int fraction_bits;
  SpecialValues special_values;
  int bias;
};

// binary16, bfloat16, e4m3, e5m2, e2m3, e3m2, e2m1.
const std::vector<SmallFloat>& SmallFloats();

FloatLayout LayoutOf(const SmallFloat& f);

// The number of a code, its sign bit included.
double ReadCode(const SmallFloat& f, uint32_t code);

// All finite numbers from 0 up, in increasing order; the code of each is its index.
std::vector<double> FiniteMagnitudes(const SmallFloat& f);

// The number after the last of FiniteMagnitudes(), had the exponent no end.
double BeyondLargest(const SmallFloat& f);

// The number nearest to `magnitude` by search in FiniteMagnitudes() and BeyondLargest(), of two
// equally near the one whose index is even.
double NearestBySearch(const std::vector<double>& with_beyond, double magnitude);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TENSOR_FLOAT_TABLES_H_
