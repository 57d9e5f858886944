// A published run with a step time, as requests to the service.
#ifndef SEXTANT_TESTS_VALIDATION_STEP_ROW_H_
#define SEXTANT_TESTS_VALIDATION_STEP_ROW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/support/csv.h"

namespace sextant {

enum class StepClass { kWide, kNarrow, kOpen, kExperts };

// "dense, 16 bit", "dense, 8 bit and less", "dense, something open", "experts".
std::string ClassName(StepClass step_class);

// How a row spreads its model over its devices.
struct StepLayout {
  int64_t devices = 1;
  int64_t data = 1;
  int64_t tensor = 1;
  int64_t stages = 1;
  int64_t chunks = 1;  // of layers on a stage
  int64_t context = 1;
  int64_t experts = 1;
  int64_t expert_tensor = 1;
  int64_t micro_batch = 1;
  int64_t micro_batches = 1;
};

// What holds for a row in addition to its stack: a field of SoftwareStack times a factor.
struct StepScale {
  std::string field;
  double factor = 1;
};

// How the host starts a layer of experts.
enum class StepExpertHost {
  kEager,
  kGraphs,   // the router, mostly with attention, in graphs
  kOverlap,  // in turn with another micro-batch's layer, whose passes hide its exchange
};

struct StepRow {
  std::string id = {};
  std::string source = {};
  std::string framework = {};      // releases together
  std::string stack = {};          // layout.software.name
  std::string hardware = {};       // "H100"
  std::string accelerator = {};    // "h100-sxm"
  std::string model = {};          // without size of cluster or date
  std::string format = {};         // "bf16"
  std::string task = {};           // "pretrain", "sft", "lora"
  std::string strategy = {};       // "tensor and pipeline", of the report
  std::string family = {};         // model, framework and format
  std::string sweep = {};          // rows of which the fastest layout can be asked for
  bool narrow = false;             // products in 8 bits or fewer
  bool row_scaled = false;         // with one scale a row
  bool flash_attention_2 = false;  // whatever its stack has
  StepExpertHost expert_host = StepExpertHost::kEager;
  bool experts = false;
  std::vector<std::string> open = {};  // fields that the source doesn't publish
  // One where nothing is open; else one a choice, the likely one first. Without a published
  // recomputation or with one by operator, which no request can describe: without any, then of all
  // layers.
  std::vector<v1::PlanRunRequest> requests = {};
  // The request that leaves open what is open, where every such field is one of the service's:
  // recomputation and interleaving. Its answer has the row's interval.
  absl::optional<v1::PlanRunRequest> left_open = {};
  bool recompute_blank = false;
  bool likely_none = false;  // of recompute_blank: the stack recomputes nothing where that fits
  // The expected time is so far from the first request's time to the last's.
  double point_share = 0;
  // The span of possible times starts so far from the fastest choice to the slowest.
  double low_share = 0;
  std::vector<StepScale> scales = {};
  StepLayout layout = {};
  double measured = 0;  // seconds of a step

  StepClass step_class() const;
};

// What a table's rows are asked about: they are scored apart.
enum class StepTask { kPretraining, kFineTuning };

// `row` by its columns. Errors: kInvalidArgument with the reason why it is left out.
absl::StatusOr<StepRow> StepRowOf(const CsvRow& row, StepTask task = StepTask::kPretraining);

struct StepLeftOut {
  std::string source = {};
  std::string id = {};
  std::string reason = {};
};

struct StepRows {
  std::vector<StepRow> rows = {};
  std::vector<StepLeftOut> left_out = {};
};

// All rows of measured_runs.csv, or of a file with its columns.
StepRows StepRowsOf(const std::vector<CsvRow>& table, StepTask task = StepTask::kPretraining);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_STEP_ROW_H_
