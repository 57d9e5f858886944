#include "client/count_request.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/adapter_targets.h"
#include "client/config_file.h"
#include "client/message_file.h"
#include "client/number.h"
#include "client/sizes.h"
#include "client/text_file.h"

namespace sextant {
namespace {

absl::Status NoSequences(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not [COUNTx]LENGTH[:ENCODER_LENGTH], such as 4096, 8x4096 or ", "512:1024",
      why.empty() ? "" : ": ", why));
}

}  // namespace

bool IsConfigFile(const std::string& model) {
  return model == "-" || absl::StrContains(model, "/") || absl::EndsWith(model, ".json") ||
         IsReadableFile(model);
}

absl::Status AddSequences(absl::string_view text, v1::TrainingStep* step) {
  const std::vector<absl::string_view> lengths = absl::StrSplit(text, ':');
  const std::vector<absl::string_view> sizes = absl::StrSplit(lengths.front(), 'x');
  if (lengths.size() > 2 || sizes.size() > 2) return NoSequences(text, "");
  const absl::StatusOr<int64_t> length = ParseCount(sizes.back());
  if (!length.ok()) return NoSequences(text, length.status().message());
  v1::TrainingStep::SequenceGroup group;
  group.set_length(*length);
  if (sizes.size() > 1) {
    const absl::StatusOr<int64_t> count = ParseCount(sizes.front());
    if (!count.ok()) return NoSequences(text, count.status().message());
    group.set_count(*count);
  }
  if (lengths.size() > 1) {
    const absl::StatusOr<int64_t> encoder_length = ParseCount(lengths.back());
    if (!encoder_length.ok()) return NoSequences(text, encoder_length.status().message());
    group.set_encoder_length(*encoder_length);
  }
  *step->add_sequences() = std::move(group);
  return absl::OkStatus();
}

absl::Status ReadChunks(absl::string_view text, v1::ParallelLayout* layout) {
  const absl::StatusOr<std::vector<int64_t>> layers = ParseSizes(text);
  if (!layers.ok()) return layers.status();
  layout->mutable_layers_per_chunk()->Assign(layers->begin(), layers->end());
  return absl::OkStatus();
}

grpc::Status BuildCountRequest(const CountCommand& command, std::istream& in,
                               v1::CountModelRequest* request) {
  *request = command.request;
  request->set_include_components(true);
  v1::ModelSpec* model = request->mutable_model();
  if (model->changes().has_adapters()) AddDefaultTargets(model->mutable_changes());
  if (!command.architecture_file.empty()) {
    return ReadMessage(command.architecture_file, in, model->mutable_architecture());
  }
  if (!IsConfigFile(command.model)) {
    model->set_preset(command.model);
    return grpc::Status::OK;
  }
  return ReadConfig(command.model, command.model == "-" ? "standard input" : command.model, in,
                    model->mutable_hugging_face_config());
}

}  // namespace sextant
