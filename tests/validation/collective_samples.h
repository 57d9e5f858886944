// Published times of collectives, as a table's rows give them.
#ifndef SEXTANT_TESTS_VALIDATION_COLLECTIVE_SAMPLES_H_
#define SEXTANT_TESTS_VALIDATION_COLLECTIVE_SAMPLES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/hardware/links/collective.h"
#include "tests/support/csv.h"

namespace sextant {

// Seconds of repeats, by bytes; those by ranks.
using SamplesOfSizes = std::map<int64_t, std::vector<double>>;
using SamplesOfRanks = std::map<int64_t, SamplesOfSizes>;

// One operation on one GPU by one version of the library.
struct CollectiveTable {
  std::string gpu;
  CollectiveOp op = CollectiveOp::kAllReduce;
  std::string version;  // table_version
  SamplesOfRanks samples;
};

struct CollectiveTables {
  std::vector<CollectiveTable> tables;  // by GPU, operation, version
  int64_t row_count = 0;
  int64_t left_out_count = 0;  // other libraries than NCCL, other types than fp16
};

// Parses rows with the columns gpu, library, table_version, op, dtype, gpus, message_bytes,
// seconds.
//
// Errors: kInvalidArgument naming a column whose cell is no number.
absl::StatusOr<CollectiveTables> TablesOf(const std::vector<CsvRow>& rows);

// The mean of the middle two where there is no middle one.
double MedianOf(std::vector<double> values);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_COLLECTIVE_SAMPLES_H_
