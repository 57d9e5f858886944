// A table of measurements: columns of their own, and the columns of every time: its median, its
// spread, the number of samples, and "unstable" where they disagree.
#ifndef SEXTANT_PROTO_TEXT_TIMED_TABLE_H_
#define SEXTANT_PROTO_TEXT_TIMED_TABLE_H_

#include <string>
#include <utility>
#include <vector>

#include "proto/text/table.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::text {

class TimedTable {
 public:
  // The headings of the columns before and after those of the time. A heading that starts with '>'
  // aligns its column to the right, and is shown without the '>'.
  explicit TimedTable(std::vector<std::string> headings, std::vector<std::string> after = {});

  // One cell for each heading; the cells of `after` come last.
  void AddRow(std::vector<std::string> cells, bool has_time, const v1::TimeStatistics& time);

  // `measured` is a message with a time.
  template <typename Measurement>
  void AddRow(std::vector<std::string> cells, const Measurement& measured) {
    AddRow(std::move(cells), measured.has_time(), measured.time());
  }

  std::string Text() const { return table_.Text(); }

 private:
  size_t before_;  // columns before the time's
  Table table_;
};

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_TIMED_TABLE_H_
