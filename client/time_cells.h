// A time's statistics as cells of a table.
#ifndef SEXTANT_CLIENT_TIME_CELLS_H_
#define SEXTANT_CLIENT_TIME_CELLS_H_

#include <string>
#include <vector>

#include "client/table.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// What a cell holds where there is nothing to say.
inline constexpr char kNoValue[] = "-";

// Headings of the cells below: median time, its spread, samples, a mark.
std::vector<std::string> TimeHeadings();

// How those columns are aligned.
std::vector<Align> TimeAligns();

// The median, its relative spread, how many samples, and "unstable" where they disagree.
// `present` is whether the measurement has a time at all.
std::vector<std::string> TimeCells(bool present, const v1::TimeStatistics& time);

// `first` and then `second`.
template <typename T>
std::vector<T> Joined(std::vector<T> first, const std::vector<T>& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

}  // namespace sextant

#endif  // SEXTANT_CLIENT_TIME_CELLS_H_
