#include "tests/support/csv.h"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

struct Record {
  int64_t line = 1;  // where it starts
  std::vector<std::string> cells = {};

  bool is_blank() const { return cells.size() == 1 && cells[0].empty(); }
};

class Splitter {
 public:
  explicit Splitter(absl::string_view text) : text_(text) {}

  absl::StatusOr<std::vector<Record>> Records() {
    while (at_ < text_.size()) {
      Record record = {.line = line_};
      absl::Status status = Next(record);
      if (!status.ok()) return status;
      if (!record.is_blank()) records_.push_back(std::move(record));
    }
    return std::move(records_);
  }

 private:
  // Reads up to the record's line end, and that.
  absl::Status Next(Record& record) {
    record.cells.emplace_back();
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"') {
        if (!Quoted(record.cells.back())) {
          return absl::InvalidArgumentError(
              absl::StrCat("line ", record.line, ": a quote is not closed"));
        }
      } else if (c == ',') {
        record.cells.emplace_back();
      } else if (c == '\n') {
        ++line_;
        break;
      } else if (c != '\r') {
        record.cells.back() += c;
      }
    }
    return absl::OkStatus();
  }

  // Reads from after an opening quote to the closing one; false where there is none.
  bool Quoted(std::string& cell) {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      const bool doubled = c == '"' && at_ < text_.size() && text_[at_] == '"';
      if (c == '"' && !doubled) return true;
      if (doubled) ++at_;
      if (c == '\n') ++line_;
      cell += c;
    }
    return false;
  }

  const absl::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  std::vector<Record> records_;
};

absl::Status CheckColumns(const Record& header) {
  std::set<std::string> seen;
  for (const std::string& column : header.cells) {
    if (column.empty() || !seen.insert(column).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", header.line, ": column '", column, "' is nameless or twice there"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<CsvRow>> ParseCsv(absl::string_view text) {
  const absl::StatusOr<std::vector<Record>> records = Splitter(text).Records();
  if (!records.ok()) return records.status();
  if (records->empty()) return absl::InvalidArgumentError("line 1: no columns");
  const Record& header = records->front();
  absl::Status status = CheckColumns(header);
  if (!status.ok()) return status;
  std::vector<CsvRow> rows;
  for (size_t i = 1; i < records->size(); ++i) {
    const Record& record = (*records)[i];
    if (record.cells.size() != header.cells.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "line ", record.line, ": ", record.cells.size(), " cells, not ", header.cells.size()));
    }
    CsvRow& row = rows.emplace_back();
    for (size_t c = 0; c < header.cells.size(); ++c) row[header.cells[c]] = record.cells[c];
  }
  return rows;
}

absl::StatusOr<std::vector<CsvRow>> ReadCsv(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return absl::NotFoundError(absl::StrCat("can't read ", path));
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  absl::StatusOr<std::vector<CsvRow>> rows = ParseCsv(text);
  if (rows.ok()) return rows;
  return absl::Status(rows.status().code(), absl::StrCat(path, ": ", rows.status().message()));
}

}  // namespace sextant
