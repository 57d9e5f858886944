// Finds figures in an answer that no run can have.
#ifndef SEXTANT_TESTS_SUPPORT_POSSIBLE_FIGURES_H_
#define SEXTANT_TESTS_SUPPORT_POSSIBLE_FIGURES_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace sextant {

// One line for each impossible figure of `answer`, e.g. "plan.estimates[0].mfu is 3720":
//
//   any number         NaN or infinite
//   mfu, hfu, *_mfu    below 0, or above 1; above 1.1 where the answer warns of a measurement above
//                      the peak, and of kernels (datasheet_mfu)
//   Utilisation.ratio  above 1, unless its reading says that it is impossible
//   *_share, *chance   below 0 or above 1
//   low, expected, high  not in this order
//   *bytes, *seconds   below 0, but for the headroom, and ledger rows that subtract other rows
//
// Numbers that a request has rounded to a number format may be anything, and are not read.
std::vector<std::string> ImpossibleFigures(const google::protobuf::Message& answer);

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_POSSIBLE_FIGURES_H_
