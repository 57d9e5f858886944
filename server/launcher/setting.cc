#include "server/launcher/setting.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/words/field_names.h"
#include "proto/words/field_path.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr char kFitted[] = "kernels and hosts decide it: fitted to published runs";
constexpr char kHabit[] = "the framework decides it";
constexpr char kLibrary[] = "libraries and the driver decide it";

constexpr Setting kOutOfReach[] = {
    OutOfReach("layout.software.name", "the release that is installed decides it"),
    OutOfReach("layout.software.attention_time_ratio", kFitted),
    OutOfReach("layout.software.memory_pass_time_ratio", kFitted),
    OutOfReach("layout.software.tensor_exchange_exposure", kFitted),
    OutOfReach("layout.software.data_exchange_overlap", kHabit),
    OutOfReach("layout.software.overlap_contention", kFitted),
    OutOfReach("layout.software.host_seconds_per_layer", kFitted),
    OutOfReach("layout.software.broadcast_seconds_per_rank", kFitted),
    OutOfReach("layout.software.growth_per_doubling", kFitted),
    OutOfReach("layout.software.sustained_time_ratio", "the device decides it"),
    OutOfReach("layout.software.narrow_sustained_time_ratio", "the device decides it"),
    OutOfReach("layout.software.narrow_product_time_ratio", kFitted),
    OutOfReach("layout.software.expert_time_ratio", kFitted),
    OutOfReach("layout.software.expert_layer_host_seconds", kFitted),
    OutOfReach("layout.software.one_copy_per_node", kHabit),
    OutOfReach("layout.software.pipeline_exchange_exposure", kHabit),
    OutOfReach("layout.software.expert_exchange_exposure",
               "how much of it a setting hides is not known"),
    OutOfReach("layout.software.gradient_addition_overlap", kFitted),
    OutOfReach("layout.software.misaligned_product_time_ratio", "the device decides it"),
    OutOfReach("layout.software.misaligned_head_time_ratio", "the device decides it"),
    OutOfReach("layout.software.optimizer_time_ratio", kHabit),
    OutOfReach("layout.software.kernel_launch_seconds", "the host decides it"),
    OutOfReach("layout.software.all_reduces_gradients", kHabit),
    OutOfReach("layout.kernels.expert_load_factor", "the data decides it"),
    OutOfReach("layout.kernels.adapter_dropout", "the program that trains adapters decides it"),
    OutOfReach("layout.kernels.expert_scaling", "the release that is installed decides it"),
    OutOfReach("layout.kernels.attention_output_copied", kLibrary),
    OutOfReach("layout.kernels.fused_expert_activation", kHabit),
    OutOfReach("layout.kernels.matmul_input_data_type", "the compute data type decides it"),
    OutOfReach("layout.storage.scaling", "the compute data type decides it"),
    OutOfReach("layout.storage.fp8_weight_copies", "the compute data type decides it"),
    OutOfReach("layout.parallel.split_key_value_heads", "the tensor parallel size decides it"),
    OutOfReach("layout.framework.model_code", "the program that reads the settings decides it"),
    OutOfReach("layout.framework.model_code_release", kLibrary),
    OutOfReach("layout.framework.live_elements", kHabit),
    OutOfReach("layout.sharding.secondary_group_size", kHabit),
    OutOfReach("layout.framework.persistent_gradients", kHabit),
    OutOfReach("layout.framework.fused_weight_gradient", kHabit),
    OutOfReach("layout.framework.reduce_bucket_elements", kHabit),
    OutOfReach("layout.framework.gather_bucket_elements", kHabit),
    OutOfReach("layout.framework.deferred_reduction", kHabit),
    OutOfReach("layout.framework.workspace_bytes", kLibrary),
    OutOfReach("layout.framework.fragmentation_ratio", kLibrary),
    OutOfReach("layout.framework.context_bytes", kLibrary),
    OutOfReach("layout.framework.communicator_bytes", kLibrary),
    OutOfReach("layout.framework.transformer_engine", kHabit),
    OutOfReach("layout.framework.grouped_experts", kHabit),
    OutOfReach("layout.framework.fused_projections", kHabit),
    OutOfReach("layout.unmodelled_settings", "other names than the launcher's"),
    OutOfReach("layout.unmodelled_effect", "what those can do"),
    OutOfReach("training.optimizer.implementation", kHabit),
    OutOfReach("training.optimizer.paged", kLibrary),
    OutOfReach("training.optimizer.in_backward", kLibrary),
    OutOfReach("training.optimizer.galore_rank", kLibrary),
    OutOfReach("training.token_count", "a number of steps says it"),
    OutOfReach("training.activation_bytes", "a measurement"),
};

const Setting* RowOf(absl::Span<const Setting> table, absl::string_view field) {
  const auto row = absl::c_find_if(table, [&](const Setting& each) {
    return !each.lowers && !each.open && each.field == field;
  });
  return row == table.end() ? nullptr : &*row;
}

bool IsOfRun(absl::string_view field) {
  return absl::StartsWith(field, "layout.") || absl::StartsWith(field, "training.") ||
         absl::StartsWith(field, "model.changes.");
}

void SetNumber(absl::string_view path, int64_t value, Message& message) {
  Message* at = &message;
  std::vector<std::string> names = absl::StrSplit(path, '.');
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    at = at->GetReflection()->MutableMessage(at, at->GetDescriptor()->FindFieldByName(names[i]));
  }
  at->GetReflection()->SetInt64(at, at->GetDescriptor()->FindFieldByName(names.back()), value);
}

void ReadField(const Setting& setting, SettingFile& file, Message& out) {
  const absl::string_view field = setting.field;
  if (field.empty()) return;
  std::string value = setting.absent;
  if (setting.values == SettingValues::kNone) {
    if (file.IsOn(setting.name)) value = setting.words;
  } else if (*setting.words != '\0') {
    value = file.Choose(setting.name, setting.words, setting.absent);
  } else if (const auto number = file.Count(setting.name, setting.least)) {
    return SetNumber(field, *number, out);
  } else if (int64_t absent = 0; absl::SimpleAtoi(value, &absent)) {
    return SetNumber(field, absent, out);
  }
  if (!value.empty()) words::SetField(field, value, &out).IgnoreError();  // the table's own
}

// The word for `value`; absent where the setting has none.
std::optional<std::string> WordFor(const Setting& setting, const std::string& value) {
  for (const SettingWord& word : WordsOf(setting.words)) {
    if (word.value == value && word.written) return std::string(word.name);
  }
  return std::nullopt;
}

void WriteField(const Setting& setting, const Message& message, SettingList& out) {
  if (*setting.field == '\0' || *setting.name == '\0') return;
  const std::optional<std::string> value = FieldOf(message, setting.field);
  if (setting.values == SettingValues::kNone) {
    if (value == setting.words) out.Add(setting.name, true);
    return;
  }
  const bool number = *setting.words == '\0';
  std::string text = setting.unset;
  if (value.has_value()) text = number ? *value : WordFor(setting, *value).value_or(text);
  if (text.empty()) return;
  int64_t count = 0;
  if (!number || !absl::SimpleAtoi(text, &count)) return out.Add(setting.name, text);
  if (count > 1 || !setting.above_one) out.Add(setting.name, count);
}

// Takes those that change nothing out of what was ignored.
void PassOver(absl::Span<const Setting> table, LauncherRead& read) {
  const auto passes = [&](const std::string& ignored) {
    return absl::c_any_of(
        table, [&](const Setting& each) { return each.passes && IsNameOfRow(ignored, each); });
  };
  const auto first = std::stable_partition(read.ignored.begin(), read.ignored.end(),
                                           [&](auto& each) { return !passes(each); });
  read.passed.insert(read.passed.end(), first, read.ignored.end());
  read.ignored.erase(first, read.ignored.end());
}

}  // namespace

std::vector<Setting> JoinedTables(const std::vector<absl::Span<const Setting>>& tables) {
  std::vector<Setting> out;
  for (const absl::Span<const Setting> table : tables) {
    out.insert(out.end(), table.begin(), table.end());
  }
  return out;
}

void AddEffects(absl::Span<const Setting> table, LauncherRead& read) {
  for (const std::string& ignored : read.ignored) {
    const auto row = absl::c_find_if(table, [&](const Setting& each) {
      return (each.lowers || each.open) && IsNameOfRow(ignored, each);
    });
    if (row != table.end()) AddEffect(ignored, row->effect, row->field, read);
  }
}

void AddEffect(const std::string& setting, Effect effect, absl::string_view field,
               LauncherRead& read) {
  switch (effect) {
    case Effect::kEither:
      return;
    case Effect::kRaises:
      return read.raising.push_back(setting);
    case Effect::kLowers:
      return read.lowering.push_back({setting, field});
    case Effect::kTime:
      return read.time_alone.push_back(setting);
  }
}

std::vector<absl::string_view> NamesOf(const Setting& setting) {
  return absl::StrSplit(setting.name, '|');
}

void ReadUnmodelled(const Setting& setting, Reading& reading) {
  for (const absl::string_view name : NamesOf(setting)) reading.file.PassIfOff(std::string(name));
}

void Reading::Set(const char* path, const std::string& value) {
  words::SetField(path, value, &out.request).IgnoreError();  // by the launchers' own words
}

std::optional<std::string> FieldOf(const Message& message, absl::string_view path) {
  const Message* at = &message;
  const std::vector<std::string> names = absl::StrSplit(path, '.');
  for (size_t i = 0;; ++i) {
    const FieldDescriptor& field = *at->GetDescriptor()->FindFieldByName(names[i]);
    const google::protobuf::Reflection& reflection = *at->GetReflection();
    if (field.is_repeated()) {
      return reflection.FieldSize(*at, &field) > 0 ? std::optional<std::string>("") : std::nullopt;
    }
    if (!reflection.HasField(*at, &field)) return std::nullopt;
    if (i + 1 < names.size()) {
      at = &reflection.GetMessage(*at, &field);
      continue;
    }
    const bool number = field.cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    return number ? "" : words::FieldText(*at, field);
  }
}

void ReadFields(absl::Span<const Setting> table, SettingFile& file, Message& out) {
  for (const Setting& setting : table) ReadField(setting, file, out);
}

void WriteFields(absl::Span<const Setting> table, const Message& message, SettingList& out) {
  for (const Setting& setting : table) WriteField(setting, message, out);
}

absl::StatusOr<LauncherRead> ReadSettings(absl::Span<const Setting> table, bool with_model,
                                          absl::StatusOr<SettingFile> file,
                                          const UnknownNames& unknown,
                                          absl::FunctionRef<void(Reading&)> finish) {
  if (!file.ok()) return file.status();
  LauncherRead out;
  Reading reading = {.file = *file, .out = out, .with_model = with_model};
  for (const Setting& setting : table) {
    if (setting.lowers || setting.passes) continue;
    if (*setting.name != '\0' && *setting.absent != '\0' && !file->Has(setting.name)) {
      out.assumed.emplace_back(setting.field);
    }
    if (setting.read != nullptr) {
      setting.read(setting, reading);
    } else if (*setting.name != '\0') {
      ReadField(setting, *file, out.request);
    } else if (*setting.absent != '\0') {
      reading.Set(setting.field, setting.absent);
    }
  }
  finish(reading);
  if (!file->status().ok()) return file->status();
  const absl::Status known = RefuseUnknown(file->ignored(), table, unknown);
  if (!known.ok()) return known;
  absl::c_copy(file->read(), std::back_inserter(out.read));
  absl::c_copy(file->ignored(), std::back_inserter(out.ignored));
  absl::c_copy(file->open(), std::back_inserter(out.open));
  PassOver(table, out);
  AddEffects(table, out);
  return out;
}

absl::StatusOr<Writing> WriteSettings(const std::string& launcher, absl::Span<const Setting> table,
                                      const LaunchedRun& run) {
  Writing out = {.run = run, .sizes = SizesOf(run.request), .refusals = Refusals(launcher)};
  CheckFields(table, run.request, out.refusals);
  for (const Setting& setting : table) {
    if (setting.required && FieldOf(run.request, setting.field).value_or("0") == "0") {
      out.refusals.Add(setting.field, "it takes one");
    }
  }
  for (const Setting& setting : table) {
    if (setting.lowers || setting.passes || setting.open) continue;
    if (setting.write != nullptr) {
      setting.write(setting, out);
    } else {
      WriteField(setting, run.request, out.list);
    }
  }
  if (!out.refusals.status().ok()) return out.refusals.status();
  return out;
}

void RefuseSharedSequences(Writing& writing) {
  if (!writing.sizes.sequence_parallel) return;
  writing.refusals.Add("layout.sequence_parallel",
                       "tensor parallel ranks keep whole sequences: give --sp=false");
}

absl::Span<const Setting> FieldsOutOfReach() { return kOutOfReach; }

void CheckFields(absl::Span<const Setting> table, const v1::PlanRunRequest& request,
                 Refusals& refusals) {
  for (const words::NamedField& named : words::PlanFields()) {
    const Setting* row = RowOf(table, named.path);
    if (row == nullptr) row = RowOf(FieldsOutOfReach(), named.path);
    const bool known = row != nullptr && !row->refused;
    if (known ? row->only == nullptr : row == nullptr && !IsOfRun(named.path)) continue;
    const std::optional<std::string> value = FieldOf(request, named.path);
    if (!value.has_value()) continue;
    const std::vector<std::string> choices = absl::StrSplit(known ? row->only : "", '|');
    if (known && absl::c_linear_search(choices, *value)) continue;
    refusals.Add(named.path,
                 !known                ? "it has no setting for that: leave it out"
                 : choices.size() == 1 ? absl::StrCat("it takes ", row->only, " alone")
                                       : absl::StrCat("it takes ", absl::StrJoin(choices, " or ")),
                 *value);
  }
}

}  // namespace sextant::server
