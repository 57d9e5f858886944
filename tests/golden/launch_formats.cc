// Prints the files that a run is read from, or their settings, as CSV.
//
//   launch_formats            how many settings of each kind are read, matter without being
//   modelled,
//                             and change nothing. "logging_", for all that start so, is one
//   launch_formats settings   those of Megatron-LM, torchtitan, DeepSpeed and accelerate with its
//                             FSDP: what each stands for, and what it does to bytes and time
#include <iostream>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "proto/words/field_names.h"
#include "server/launcher/file_format.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "server/launcher/megatron.h"
#include "tests/golden/field_effects.h"

namespace {

using sextant::FieldEffect;
using sextant::server::Effect;
using sextant::server::Setting;

struct Counts {
  std::set<absl::string_view> read = {};
  std::set<absl::string_view> not_modelled = {};
  std::set<absl::string_view> without_meaning = {};
};

Counts CountsOf(absl::Span<const Setting> table) {
  Counts out;
  for (const Setting& setting : table) {
    if (*setting.name == '\0') continue;
    const bool known = setting.lowers || setting.open;
    auto& names = setting.passes ? out.without_meaning : known ? out.not_modelled : out.read;
    for (const absl::string_view name : NamesOf(setting)) names.insert(name);
  }
  // A setting whose other values are not modelled has a row for them too.
  for (const absl::string_view name : out.read) out.not_modelled.erase(name);
  return out;
}

void PrintFormats() {
  std::cout << "format,read,not_modelled,without_meaning,instead\n";
  for (const auto& format : sextant::server::FileFormats()) {
    const Counts counts = format.settings == nullptr ? Counts() : CountsOf(format.settings());
    std::cout << format.name << ',' << counts.read.size() << ',' << counts.not_modelled.size()
              << ',' << counts.without_meaning.size() << ",\"" << format.instead << "\"\n";
  }
}

// The effect of the field at `path`, or of the message that it is in.
FieldEffect EffectOf(absl::string_view path) {
  FieldEffect out = {"", "", ""};
  for (const FieldEffect& each : sextant::kFieldEffects) {
    const bool longer = absl::string_view(each.path).size() > absl::string_view(out.path).size();
    if (longer && absl::StartsWith(path, each.path)) out = each;
  }
  return out;
}

// "--tp: ranks that share each matrix".
std::string MeaningOf(absl::string_view path) {
  for (const auto& named : sextant::words::PlanFields()) {
    if (named.path == path) return named.Word() + ": " + named.described->help();
  }
  return "the model";
}

void PrintRow(absl::string_view launcher, absl::string_view name, const char* list,
              std::string meaning, const char* bytes, const char* time) {
  meaning = absl::StrReplaceAll(meaning, {{"\"", "'"}});
  std::cout << launcher << ',' << name << ',' << list << ",\"" << meaning << "\",\"" << bytes
            << "\",\"" << time << "\"\n";
}

void PrintOpen(const char* launcher, absl::string_view name, const Setting& setting) {
  const std::string meaning = *setting.about == '\0' ? "values that are not read" : setting.about;
  switch (setting.effect) {
    case Effect::kEither:
      return PrintRow(launcher, name, "open", meaning, "open", "open");
    case Effect::kRaises:
      return PrintRow(launcher, name, "open", meaning, "open: at least", "open");
    case Effect::kLowers:
      return PrintRow(launcher, name, "open", meaning, "open: at most", "open");
    case Effect::kTime:
      return PrintRow(launcher, name, "open", meaning, "", "open");
  }
}

void PrintSettings(const char* launcher, absl::Span<const Setting> table) {
  for (const Setting& setting : table) {
    if (*setting.name == '\0' || setting.passes) continue;
    for (const absl::string_view name : NamesOf(setting)) {
      if (setting.open || setting.lowers) {
        PrintOpen(launcher, name, setting);
        continue;
      }
      const absl::string_view path = *setting.part_of != '\0' ? setting.part_of : setting.field;
      const FieldEffect effect = EffectOf(path);
      PrintRow(launcher, name, "read", path.empty() ? setting.about : MeaningOf(path), effect.bytes,
               effect.time);
    }
  }
}

// The arguments of a model, whose fields are those of parts of it.
void PrintModel(const char* launcher, absl::Span<const Setting> table) {
  const FieldEffect effect = EffectOf("model");
  for (const Setting& setting : table) {
    if (*setting.name == '\0') continue;
    PrintRow(launcher, setting.name, "read", "the model", effect.bytes, effect.time);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || absl::string_view(argv[1]) != "settings") {
    PrintFormats();
    return 0;
  }
  std::cout << "launcher,setting,list,meaning,bytes,time\n";
  PrintSettings("Megatron-LM", sextant::server::MegatronSettings());
  for (const auto table : sextant::server::ModelTables()) PrintModel("Megatron-LM", table);
  PrintSettings("torchtitan", sextant::server::TorchtitanSettings());
  PrintSettings("DeepSpeed", sextant::server::DeepspeedSettings());
  PrintSettings("accelerate and FSDP", sextant::server::AccelerateSettings());
  return 0;
}
