// The sections of a plan that are tables of numbers. Each starts with an empty line and
// its title.
#ifndef SEXTANT_CLIENT_PLAN_TABLES_H_
#define SEXTANT_CLIENT_PLAN_TABLES_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant {

std::string ModelSection(const v1::ParameterCounts& parameters);
std::string ArithmeticSection(const v1::TrainingFlops& flops);
std::string MemorySection(const v1::Memory& memory);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PLAN_TABLES_H_
