// Runs to write launchers' files from, and to compare with what is read.
#ifndef SEXTANT_TESTS_LAUNCHER_SAMPLE_LAUNCH_H_
#define SEXTANT_TESTS_LAUNCHER_SAMPLE_LAUNCH_H_

#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "server/launcher/launched_run.h"

namespace sextant::server {

// A dense run on 64 devices: 32 layers of 4096, a batch of 128 sequences of 4096 tokens, 1000
// steps. `changes` is a part of a PlanRunRequest in proto JSON that is merged into its request.
LaunchedRun DenseLaunch(const std::string& changes = "");

// The same with a layer without experts, 30 with 64 of them, and one shared.
LaunchedRun ExpertLaunch(const std::string& changes = "");

// `run` with a part of a PlanRunRequest in proto JSON merged into its request.
LaunchedRun Changed(LaunchedRun run, const std::string& changes);

// The request that a launcher's file makes of one on the devices of `original`.
v1::PlanRunRequest RequestAsRead(const LauncherRead& read, const v1::PlanRunRequest& original);

// Adds what was read to a request that says nothing of the model.
inline void Merge(const LauncherRead& read, v1::PlanRunRequest* request) {
  if (read.request.layout().parallel().layers_per_chunk_size() > 0) {
    request->mutable_layout()->mutable_parallel()->clear_layers_per_chunk();
  }
  request->MergeFrom(read.request);
}

// Settings of `read` that may lower memory, as ImportRun() leaves them in a request. A flag gives
// training.recompute where `recompute_given`.
std::vector<std::string> LoweringOf(const LauncherRead& read, bool recompute_given = false);

// "" where both hold the same, unset fields being their defaults; else the differences.
std::string DifferencesOf(const google::protobuf::Message& expected,
                          const google::protobuf::Message& actual);

// The changes of a table of cases.jsonl, as text.
std::vector<std::string> ChangesOf(const std::string& table);

// Expects an error whose message has `words`.
void ExpectSays(const absl::Status& status, const std::string& words);

// Expects that the runs of a table of cases.jsonl, or its texts, are refused with their words.
using StatusOfText = absl::FunctionRef<absl::Status(const std::string&)>;
void ExpectUnwritten(const std::string& table, StatusOfText status_of_changes);
void ExpectUnread(const std::string& table, StatusOfText status_of_text);

// Reads every start of a golden file, and the file with each byte replaced by one of `bytes`; of
// large ones those at every `step`th place.
void TryEveryCut(const std::string& file, const std::string& bytes,
                 absl::FunctionRef<void(const std::string&)> read, size_t step = 1);

// A file of tests/golden/launchers, and the lines of one that are not comments.
std::string LauncherGolden(const std::string& file);
std::vector<std::string> LauncherOptions(const std::string& file);

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_LAUNCHER_SAMPLE_LAUNCH_H_
