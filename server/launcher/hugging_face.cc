#include "server/launcher/hugging_face.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace sextant::server {
namespace {

using HfJson = nlohmann::json;

bool IsOff(const HfJson& value) {
  if (value.is_boolean()) return !value.get<bool>();
  if (value.is_number()) return value.get<double>() == 0;
  if (!value.is_string()) return value.empty();  // null, [] and {} too
  const std::string text = absl::AsciiStrToLower(value.get<std::string>());
  return text.empty() || text == "no" || text == "none" || text == "disabled";
}

// A folder, and no repository's name: that is "name" or "owner/name".
bool IsFolder(absl::string_view name) {
  return absl::StartsWith(name, "/") || absl::StartsWith(name, ".") ||
         absl::StartsWith(name, "~") || absl::StrContains(name, '$') || absl::EndsWith(name, "/") ||
         absl::c_count(name, '/') > 1;
}

}  // namespace

void ReadModelName(const Setting& setting, Reading& reading) {
  const std::string name = reading.file.Text(setting.name).value_or("");
  if (name.empty() || !reading.with_model) return;
  if (IsFolder(name)) {
    reading.out.wants.push_back(
        absl::StrCat(name, absl::EndsWith(name, "/") ? "" : "/", "config.json"));
  } else {
    reading.request().mutable_model()->set_preset(name);
  }
}

void SetTrainerFramework(bool deepspeed, Reading& reading) {
  v1::RunLayout& defaults = *reading.out.defaults.mutable_layout();
  if (deepspeed) {
    reading.Set("layout.framework.kind", "deepspeed");
    defaults.mutable_framework()->set_model_code(v1::FrameworkMemory::MODEL_CODE_TRANSFORMERS);
  } else {
    defaults.mutable_framework()->set_kind(v1::FrameworkMemory::KIND_HUGGING_FACE_TRAINER);
  }
  defaults.mutable_kernels()->set_loss(v1::KernelChoices::LOSS_PLAIN);
}

void ReadTensorRanks(const Setting& setting, Reading& reading) {
  const int64_t size = reading.file.Count(setting.name, 0).value_or(0);
  if (size <= 1) return;
  reading.layout().mutable_parallel()->set_tensor_parallel_size(size);
  reading.layout().set_sequence_parallel(false);
}

HfJson Typed(HfJson document) {
  for (auto& [key, value] : document.items()) {
    if (value.is_object()) value = Typed(std::move(value));
    if (!value.is_string()) continue;
    const std::string text = absl::AsciiStrToLower(value.get<std::string>());
    int64_t whole = 0;
    if (text == "true" || text == "false") {
      value = text == "true";
    } else if (!text.empty() && absl::ascii_isdigit(text[0]) && absl::SimpleAtoi(text, &whole)) {
      value = whole;
    }
  }
  return document;
}

std::vector<std::string> TakeOff(absl::Span<const char* const> paths, HfJson* document) {
  std::vector<std::string> out;
  for (const char* const path : paths) {
    HfJson* node = document;
    std::vector<std::string> names = absl::StrSplit(path, '.');
    const std::string last = names.back();
    names.pop_back();
    for (const std::string& name : names) {
      node =
          node != nullptr && node->is_object() && node->contains(name) ? &(*node)[name] : nullptr;
    }
    if (node == nullptr || !node->is_object() || !node->contains(last)) continue;
    if (!IsOff((*node)[last])) continue;
    node->erase(last);
    out.emplace_back(path);
  }
  return out;
}

void Join(const LauncherRead& part, absl::string_view prefix, LauncherRead* whole) {
  whole->request.MergeFrom(part.request);
  whole->defaults.MergeFrom(part.defaults);
  const auto add = [prefix](const std::vector<std::string>& from, std::vector<std::string>& to) {
    for (const std::string& each : from) to.push_back(absl::StrCat(prefix, each));
  };
  add(part.read, whole->read);
  add(part.ignored, whole->ignored);
  add(part.passed, whole->passed);
  add(part.open, whole->open);
  add(part.raising, whole->raising);
  add(part.time_alone, whole->time_alone);
  for (const LoweringSetting& each : part.lowering) {
    whole->lowering.push_back({absl::StrCat(prefix, each.text), each.field});
  }
  whole->assumed.insert(whole->assumed.end(), part.assumed.begin(), part.assumed.end());
  whole->wants.insert(whole->wants.end(), part.wants.begin(), part.wants.end());
  if (part.sequences_per_rank > 0) whole->sequences_per_rank = part.sequences_per_rank;
  if (part.state_copies > 0) whole->state_copies = part.state_copies;
  if (part.step_count > 0) whole->step_count = part.step_count;
  if (part.loaded_data_type != v1::DATA_TYPE_UNSPECIFIED) {
    whole->loaded_data_type = part.loaded_data_type;
  }
}

}  // namespace sextant::server
