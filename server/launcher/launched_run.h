// A planned run in the form that launchers are written from, and read into.
#ifndef SEXTANT_SERVER_LAUNCHER_LAUNCHED_RUN_H_
#define SEXTANT_SERVER_LAUNCHER_LAUNCHED_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/base/field_violation.h"
#include "proto/words/layout_sizes.h"
#include "sextant/v1/architecture.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

struct LaunchedRun {
  v1::PlanRunRequest request;    // its layout and training.recompute are those that were planned
  v1::Architecture model = {};   // its shape, without request.model.changes
  std::string model_name = {};   // as the plan has it
  int64_t devices_per_node = 0;  // 0: not known
  double elapsed_seconds = 0;    // the high end of the predicted run; 0: none was predicted
  std::string script = {};       // the training script; "": the job script's first argument
};

// A launcher's file, and the settings that the user's own script has to make because the launcher
// has none for them, by their flags.
struct LauncherFile {
  std::string text = {};
  std::vector<std::string> left_out = {};
};

// A setting that no field stands for and that may lower a run's memory.
struct LoweringSetting {
  std::string text = {};         // "activation_checkpoint.mode = selective"
  absl::string_view field = "";  // the field that stands for its other values, if any
};

// A run as its launcher's file says it.
struct LauncherRead {
  v1::PlanRunRequest request = {};             // what the file says, and nothing else
  std::vector<std::string> read = {};          // settings that were read
  std::vector<std::string> assumed = {};       // fields whose values its program assumes
  std::vector<std::string> ignored = {};       // settings that matter and are not modelled
  std::vector<std::string> passed = {};        // those known to change nothing that is planned
  std::vector<std::string> open = {};          // settings that the file leaves to another program
  std::vector<LoweringSetting> lowering = {};  // of those ignored
  std::vector<std::string> raising = {};       // likewise: they may raise a run's memory
  std::vector<std::string> time_alone = {};    // likewise: they change its time alone
  std::vector<std::string> wants = {};         // files that it names and that have to be given too

  // These hold unless this or another file of the run says otherwise.
  v1::PlanRunRequest defaults = {};

  // These become fields once the number of devices is known; 0 where the file does not say it.
  int64_t sequences_per_rank = 0;  // of a step, on a data parallel rank: the global batch
  int64_t state_copies = 0;        // of sharded state: the size of a shard's group
  int64_t step_count = 0;          // steps of the run: its tokens

  // The type that Hugging Face's Trainer holds weights in, unless its engine widens them.
  v1::DataType loaded_data_type = v1::DATA_TYPE_UNSPECIFIED;
};

// Fills in the program's defaults, the fields that follow from the devices and the stages in
// `*request`, and how the launcher pads the vocabulary of any model, unless it has them.
void Complete(const LauncherRead& read, v1::PlanRunRequest* request);

// `a` x `b`, both above 0. Absent where it exceeds int64.
std::optional<int64_t> Product(int64_t a, int64_t b);

// Sizes of a layout, with the API's defaults where the request leaves them out.
struct LaunchSizes : words::LayoutSizes {
  int64_t data = 1;          // ranks that train on different sequences
  int64_t global_batch = 0;  // 0: not given
  bool sequence_parallel = false;
  v1::ZeroStage zero = v1::ZERO_STAGE_NONE;
};
LaunchSizes SizesOf(const v1::PlanRunRequest& request);

// Sequences that the run trains on, the last one filled up. 0 without a sequence length.
int64_t SequenceCount(const v1::TrainingSpec& training);

// True for types of 8 bits or fewer, which launchers write in addition to bf16.
bool IsNarrow(v1::DataType type);

// Fields of a request that a launcher cannot express.
class Refusals {
 public:
  // `launcher` is its name, "DeepSpeed".
  explicit Refusals(std::string launcher) : launcher_(std::move(launcher)) {}

  // Refuses the field at `path` of a PlanRunRequest, or the `value` that it has.
  void Add(absl::string_view path, absl::string_view why, absl::string_view value = "");

  // INVALID_ARGUMENT with a violation of every refused field. Its message has their flags,
  // "DeepSpeed cannot express this run. --vpp=2: it takes 1 alone". OK without any.
  absl::Status status() const;

 private:
  std::string launcher_;
  std::vector<std::string> flags_;  // "--vpp=2: it takes 1 alone"
  FieldViolations violations_;
};

// `status` with another message, and its payloads.
absl::Status WithMessage(const absl::Status& status, absl::string_view message);

// The devices that the run takes of each node, which are `what` in a launcher's file. Refuses a run
// whose kind of server is unknown, or that leaves a part of a node to others.
int64_t DevicesOfNode(const LaunchedRun& run, absl::string_view what, Refusals& refusals);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_LAUNCHED_RUN_H_
