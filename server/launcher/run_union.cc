#include "server/launcher/run_union.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "engine/base/text.h"
#include "proto/words/field_names.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// layout.unmodelled_settings takes 64 of 256 bytes.
constexpr int kMaxOpened = 63;
constexpr size_t kMaxOpenedBytes = 256;

// A field of a message, and the message below it that holds it; null where that is not set.
struct Place {
  const Message* holder = nullptr;
  const FieldDescriptor* field = nullptr;
};

Place PlaceOf(const Message& message, absl::string_view path) {
  Place out = {.holder = &message};
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (out.field != nullptr) {
      if (!out.holder->GetReflection()->HasField(*out.holder, out.field)) return {};
      out.holder = &out.holder->GetReflection()->GetMessage(*out.holder, out.field);
    }
    out.field = out.holder->GetDescriptor()->FindFieldByName(std::string(name));
  }
  return out;
}

// The text of a field's value; absent where it has none.
std::optional<std::string> ValueOf(const Message& message, absl::string_view path) {
  const auto [holder, field] = PlaceOf(message, path);
  if (holder == nullptr) return std::nullopt;
  const auto& reflection = *holder->GetReflection();
  const bool list = field->is_repeated();
  const int size = list ? reflection.FieldSize(*holder, field) : 1;
  if (list ? size == 0 : !reflection.HasField(*holder, field)) return std::nullopt;
  std::string out = words::FieldText(*holder, *field);
  if (!out.empty()) return out;
  for (int i = 0; i < size; ++i) {
    std::string element;
    google::protobuf::TextFormat::PrintFieldValueToString(*holder, field, list ? i : -1, &element);
    absl::StrAppend(&out, i == 0 ? "" : ",", element);
  }
  return out;
}

void ClearAt(absl::string_view path, Message* message) {
  const auto [holder, field] = PlaceOf(*message, path);
  if (holder == nullptr) return;
  // The holder is a part of `*message`.
  holder->GetReflection()->ClearField(const_cast<Message*>(holder), field);
}

// The trainers that start another engine, whose file says what that one does.
bool StartsEngine(const v1::PlanRunRequest& request) {
  return request.layout().framework().kind() == v1::FrameworkMemory::KIND_HUGGING_FACE_TRAINER;
}

bool IsModelWay(absl::string_view path) {
  return absl::StartsWith(path, "model.") && !absl::StartsWith(path, "model.changes.");
}

void ClearModelWay(v1::ModelSpec* model) {
  model->clear_preset();
  model->clear_parameter_count();
  model->clear_transformer();
  model->clear_hugging_face_config();
  model->clear_architecture();
}

std::string Shortened(const std::string& text) { return Clip(text, 60); }

// Adds up what files say.
class Adder {
 public:
  void Add(const UnionFile& file) {
    LauncherRead read = file.read;
    AddModel(file.name, read);
    for (const words::NamedField& named : words::PlanFields()) {
      if (!IsModelWay(named.path)) AddField(file.name, named.path, read);
    }
    all_.request.MergeFrom(read.request);
    assumed_.insert(read.assumed.begin(), read.assumed.end());
    AddSequences(file);
    const auto take = [](int64_t number, int64_t* out) { *out = number > 0 ? number : *out; };
    take(read.sequences_per_rank, &all_.sequences_per_rank);
    take(read.state_copies, &all_.state_copies);
    take(read.step_count, &all_.step_count);
    all_.defaults.MergeFrom(read.defaults);
    if (read.loaded_data_type != v1::DATA_TYPE_UNSPECIFIED) {
      all_.loaded_data_type = read.loaded_data_type;
    }
  }

  LauncherRead& all() { return all_; }
  std::vector<std::string>& notes() { return notes_; }

 private:
  // Leaves the way that counts in one of the two.
  void AddModel(const std::string& file, LauncherRead& read) {
    v1::ModelSpec& model = *read.request.mutable_model();
    v1::ModelSpec& before = *all_.request.mutable_model();
    if (!GivesModel(model)) return;
    if (GivesModel(before)) {
      if (before.preset().empty() && !model.preset().empty()) {
        return ClearModelWay(&model);  // its name
      }
      v1::ModelSpec of_file = model;
      v1::ModelSpec of_former = before;
      of_file.clear_changes();
      of_former.clear_changes();
      const bool same = of_file.SerializeAsString() == of_former.SerializeAsString();
      if (!same && before.preset().empty() == model.preset().empty()) {
        notes_.push_back(absl::StrCat("model is given by ", model_from_, " and, another one, by ",
                                      file, ": the latter counts"));
      }
    }
    ClearModelWay(&before);
    model_from_ = file;
  }

  // Trainer refuses to start where its engine's file has another number.
  void AddSequences(const UnionFile& file) {
    const int64_t sequences = file.read.sequences_per_rank;
    if (sequences <= 0) return;
    const int64_t before = all_.sequences_per_rank;
    if (before > 0 && before != sequences) {
      notes_.push_back(absl::StrCat("a step has ", before, " sequences on each device in ",
                                    sequences_from_, ", and ", sequences, " in ", file.name,
                                    ": the latter counts"));
    }
    sequences_from_ = file.name;
  }

  // Leaves the value that counts in one of the two.
  void AddField(const std::string& file, const std::string& path, LauncherRead& read) {
    const std::optional<std::string> value = ValueOf(read.request, path);
    if (!value.has_value()) return;
    const std::optional<std::string> before = ValueOf(all_.request, path);
    if (!before.has_value()) {
      from_[path] = file;
      return;
    }
    const bool engine = path == "layout.framework.kind";
    const bool assumed = absl::c_linear_search(read.assumed, path);
    const bool was_assumed = assumed_.count(path) > 0;
    if ((assumed && !was_assumed) || (engine && StartsEngine(read.request))) {
      return ClearAt(path, &read.request);
    }
    if (*value != *before && !was_assumed && !(engine && StartsEngine(all_.request))) {
      notes_.push_back(absl::StrCat(path, " is ", Shortened(*before), " in ", from_[path], ", and ",
                                    Shortened(*value), " in ", file, ": the latter counts"));
    }
    ClearAt(path, &all_.request);  // a list would grow
    if (!assumed) assumed_.erase(path);
    from_[path] = file;
  }

  LauncherRead all_;
  std::set<std::string> assumed_;
  std::map<std::string, std::string> from_;  // by path: the file whose value counts
  std::string model_from_;
  std::string sequences_from_;
  std::vector<std::string> notes_;
};

// Puts what the caller gives over what the files say.
void PutCaller(const v1::PlanRunRequest& caller, v1::PlanRunRequest* request) {
  if (GivesModel(caller.model())) ClearModelWay(request->mutable_model());
  if (caller.cluster().has_device()) {
    request->mutable_cluster()->clear_device();
    request->mutable_cluster()->clear_node_type();
  }
  for (const words::NamedField& named : words::PlanFields()) {
    if (named.field->is_repeated() && ValueOf(caller, named.path).has_value()) {
      ClearAt(named.path, request);
    }
  }
  request->MergeFrom(caller);
}

absl::string_view LastOfPath(absl::string_view name) {
  const size_t slash = name.find_last_of('/');
  return slash == absl::string_view::npos ? name : name.substr(slash + 1);
}

// True where `want`, a file that one names, is among those given, or where the model that it would
// say is known.
bool IsGiven(const std::string& want, const std::vector<UnionFile>& files,
             const v1::PlanRunRequest& request) {
  if (absl::StrContains(want, "config.json") && GivesModel(request.model())) return true;
  return absl::c_any_of(files, [&](const UnionFile& file) {
    return LastOfPath(file.name) == LastOfPath(want) || absl::StrContains(want, file.format->name);
  });
}

// The field that a setting of `format` stands for; "" where it has none of its own.
absl::string_view FieldOfSetting(const FileFormat& format, const std::string& setting) {
  if (format.settings == nullptr) return "";
  for (const Setting& row : format.settings()) {
    if (row.name == setting && !row.lowers && !row.passes) return row.field;
  }
  return "";
}

// Takes out of each file what another one, or the caller, gives.
void CloseOpen(const v1::PlanRunRequest& request, std::vector<UnionFile>& files) {
  for (UnionFile& file : files) {
    std::vector<std::string>& open = file.read.open;
    const auto given = [&](const std::string& setting) {
      const absl::string_view field = FieldOfSetting(*file.format, setting);
      return !field.empty() && ValueOf(request, field).has_value();
    };
    open.erase(std::remove_if(open.begin(), open.end(), given), open.end());
    std::vector<std::string>& wants = file.read.wants;
    wants.erase(
        std::remove_if(wants.begin(), wants.end(),
                       [&](const std::string& want) { return IsGiven(want, files, request); }),
        wants.end());
  }
}

// The name of "mode = selective".
absl::string_view NameOfSetting(absl::string_view text) { return text.substr(0, text.find(" = ")); }

// Settings of files that no field stands for and that may change the memory, and what they can do.
struct OpenSettings {
  std::vector<std::string> names = {};
  bool may_raise = false;
  bool may_lower = false;

  // Those of a file; without those whose field the caller gives.
  void Add(const LauncherRead& read, const v1::PlanRunRequest& caller) {
    std::set<absl::string_view> said;  // by their names
    for (const LoweringSetting& setting : read.lowering) {
      said.insert(NameOfSetting(setting.text));
      const bool given = !setting.field.empty() && ValueOf(caller, setting.field).has_value();
      if (given) continue;
      names.push_back(setting.text);
      may_lower = true;
    }
    for (const std::string& name : read.time_alone) said.insert(NameOfSetting(name));
    const std::set<absl::string_view> raising(read.raising.begin(), read.raising.end());
    for (const std::string& name : read.ignored) {
      if (said.count(NameOfSetting(name)) > 0) continue;
      names.push_back(name);
      may_raise = true;
      may_lower = may_lower || raising.count(name) == 0;
    }
  }

  v1::MemoryEffect effect() const {
    if (may_raise == may_lower) return v1::MEMORY_EFFECT_UNSPECIFIED;
    return may_raise ? v1::MEMORY_EFFECT_RAISES : v1::MEMORY_EFFECT_LOWERS;
  }
};

void OpenVerdict(const std::vector<UnionFile>& files, const v1::PlanRunRequest& caller,
                 v1::PlanRunRequest* request) {
  OpenSettings open;
  for (const UnionFile& file : files) open.Add(file.read, caller);
  if (open.names.empty()) return;
  // The caller's own settings may do either.
  const bool alone = caller.layout().unmodelled_settings().empty();
  request->mutable_layout()->set_unmodelled_effect(alone ? open.effect()
                                                         : v1::MEMORY_EFFECT_UNSPECIFIED);
  auto& out = *request->mutable_layout()->mutable_unmodelled_settings();
  const int room = std::max(kMaxOpened - out.size(), 0);
  for (int i = 0; i < std::min(room, static_cast<int>(open.names.size())); ++i) {
    *out.Add() = Clip(open.names[static_cast<size_t>(i)], kMaxOpenedBytes - 3);
  }
  const int left = static_cast<int>(open.names.size()) - room;
  if (left > 0 && out.size() <= kMaxOpened) *out.Add() = absl::StrCat("and ", left, " more");
}

}  // namespace

bool GivesModel(const v1::ModelSpec& model) {
  return !model.preset().empty() || model.has_parameter_count() || model.has_transformer() ||
         !model.hugging_face_config().empty() || model.has_architecture();
}

RunUnion UnionOf(std::vector<UnionFile> files, const v1::PlanRunRequest& caller) {
  Adder adder;
  for (const UnionFile& file : files) adder.Add(file);
  RunUnion out = {
      .request = adder.all().request, .files = std::move(files), .notes = std::move(adder.notes())};
  PutCaller(caller, &out.request);
  Complete(adder.all(), &out.request);
  CloseOpen(out.request, out.files);
  OpenVerdict(out.files, caller, &out.request);
  if (!out.request.model().ByteSizeLong()) out.request.clear_model();
  return out;
}

}  // namespace sextant::server
