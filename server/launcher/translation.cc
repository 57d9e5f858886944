#include "server/launcher/translation.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {

Translation::Translation(Json document, absl::Span<const Setting> table) : table_(table) {
  document = Typed(std::move(document));
  for (auto& [key, value] : document.items()) {
    const std::string& name = key;
    const bool own = absl::c_any_of(table, [&name](const Setting& row) {
      return absl::c_any_of(NamesOf(row), [&](absl::string_view each) {
        return each == name || (row.passes && absl::StartsWith(name, each) && each.back() == '_');
      });
    });
    (own ? own_ : arguments_)[name] = std::move(value);
  }
}

Translation::Json Translation::Take(const std::string& name) {
  for (Json* const part : {&own_, &arguments_}) {
    if (!part->contains(name)) continue;
    Json out = std::move((*part)[name]);
    part->erase(name);
    return out;
  }
  return nullptr;
}

std::string Translation::TakeText(const std::string& name, const std::string& absent) {
  const Json value = Take(name);
  return value.is_string() ? value.get<std::string>() : value.is_null() ? absent : value.dump();
}

bool Translation::TakeSwitch(const std::string& name, bool absent) {
  const Json value = Take(name);
  return value.is_boolean() ? value.get<bool>() : absent;
}

void Translation::Pass(const std::string& name) {
  if (!Take(name).is_null()) out_.passed.push_back(name);
}

void Translation::Ignore(const std::string& name, bool lowers) {
  out_.ignored.push_back(name);
  if (lowers) out_.lowering.push_back({name});
}

void Translation::Rename(const std::string& name, const std::string& argument, Json absent) {
  Json value = Take(name);
  names_[argument] = name;
  if (!value.is_null()) Set(argument, std::move(value));
  if (!Has(argument) && !absent.is_null()) Set(argument, std::move(absent));
}

void Translation::TakeDeepspeed(const std::string& name,
                                absl::Span<const DeepspeedPreset> presets) {
  Json value = Take(name);
  if (value.is_string()) {
    const std::string text = value.get<std::string>();
    if (const DeepspeedPreset* const preset = FindDeepspeedPreset(presets, text)) {
      value = DeepspeedDocument(*preset);
    } else if (absl::StartsWith(text, "{")) {
      const absl::StatusOr<SettingFile> parsed = SettingFile::FromJson(text);
      if (parsed.ok()) value = parsed->document();
    }
  }
  if (!value.is_null()) Set("deepspeed", std::move(value));
}

void Translation::TakeLiger(const std::string& name) {
  if (!TakeSwitch(name, false)) return;
  liger_ = name;
  Ignore(name, true);
}

std::string Translation::NameOf(const std::string& argument) const {
  const auto found = names_.find(argument);
  return found == names_.end() ? argument : found->second;
}

absl::StatusOr<LauncherRead> Translation::Read(ReadArguments read_arguments) {
  absl::StatusOr<LauncherRead> read = read_arguments(std::move(arguments_));
  if (!read.ok()) {
    std::string message(read.status().message());
    for (const auto& [argument, name] : names_) {
      message = absl::StrReplaceAll(message,
                                    {{argument + " =", name + " ="}, {argument + ":", name + ":"}});
    }
    return absl::InvalidArgumentError(message);
  }
  for (std::vector<std::string>* const list :
       {&read->ignored, &read->passed, &read->open, &read->raising, &read->time_alone}) {
    for (std::string& each : *list) each = NameOf(each);
  }
  for (LoweringSetting& each : read->lowering) each.text = NameOf(each.text);
  absl::StatusOr<LauncherRead> own =
      ReadSettings(table_, false, SettingFile::FromDocument(std::move(own_)), Unknown::kOpen);
  if (!own.ok()) return own.status();
  Join(*own, "", &*read);
  Join(out_, "", &*read);
  if (liger_.empty()) return read;
  v1::PlanRunRequest all = read->defaults;
  all.MergeFrom(read->request);
  SetChunkedLoss(&all);
  *read->request.mutable_layout()->mutable_kernels() = all.layout().kernels();
  return read;
}

}  // namespace sextant::server
