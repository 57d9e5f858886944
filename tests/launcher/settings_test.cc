// The tables of settings, against the fields of the API and the options of the launchers' releases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "proto/words/field_names.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/launcher.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using Table = absl::Span<const Setting>;

struct Launcher {
  const char* name;
  Table table;
  const char* options;  // its release's
};

std::vector<Launcher> Launchers() {
  return {{"Megatron-LM", MegatronSettings(), "megatron_options.txt"},
          {"torchtitan", TorchtitanSettings(), "torchtitan_options.txt"},
          {"DeepSpeed", DeepspeedSettings(), "deepspeed_options.txt"},
          {"accelerate", AccelerateSettings(), "accelerate_options.txt"}};
}

const Setting* RowOf(Table table, absl::string_view field) {
  const auto row = absl::c_find_if(
      table, [&](const Setting& each) { return !each.lowers && each.field == field; });
  return row == table.end() ? nullptr : &*row;
}

bool IsChoice(absl::string_view path) {
  return absl::StartsWith(path, "layout.software.") || absl::StartsWith(path, "layout.kernels.") ||
         absl::StartsWith(path, "layout.framework.");
}

// A new choice of software, kernels or the framework fails here until each launcher's table binds
// it, or says why it is out of reach.
TEST(Settings, BindEveryChoiceOrSayWhyNot) {
  int choices = 0;
  for (const words::NamedField& named : words::PlanFields()) {
    if (!IsChoice(named.path)) continue;
    ++choices;
    for (const Launcher& launcher : Launchers()) {
      const Setting* row = RowOf(launcher.table, named.path);
      if (row == nullptr) row = RowOf(FieldsOutOfReach(), named.path);
      EXPECT_NE(row, nullptr) << launcher.name << ": " << named.path;
    }
  }
  EXPECT_GE(choices, 50);
}

TEST(Settings, SayWhyAFieldIsOutOfReach) {
  std::vector<Launcher> all = Launchers();
  all.push_back({"all", FieldsOutOfReach(), ""});
  for (const Launcher& launcher : all) {
    for (const Setting& row : launcher.table) {
      const std::string reason = row.reason == nullptr ? "none" : row.reason;
      EXPECT_NE(reason, "") << row.field;
      EXPECT_TRUE(!row.refused || row.reason != nullptr) << row.field;
    }
  }
}

bool Passes(Table table, const std::string& name) {
  return absl::c_any_of(table, [&](const Setting& each) {
    const std::string start = each.name;
    if (!each.passes) return false;
    return name == start || ((start.back() == '-' || start.back() == '.' || start.back() == '_') &&
                             absl::StartsWith(name, start));
  });
}

bool MayLower(Table table, const std::string& name) {
  return absl::c_any_of(
      table, [&](const Setting& each) { return each.lowers && absl::StartsWith(name, each.name); });
}

// Lines of a release's options that are marked "open".
std::vector<std::string> OpenOptions(const std::string& file) {
  std::vector<std::string> out;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(LauncherGolden(file), '\n'))) {
    if (absl::EndsWith(line, " open")) out.push_back(line.substr(0, line.find(' ')));
  }
  return out;
}

// Each argument of the release is read, passes or may lower memory, and is marked where it is none.
TEST(Settings, DecideEveryArgumentOfMegatron) {
  const Table table = MegatronSettings();
  const std::vector<std::string> open = OpenOptions("megatron_options.txt");
  const SettingFile::Names read = MegatronNames();
  for (const std::string& name : LauncherOptions("megatron_options.txt")) {
    const bool known = absl::c_any_of(read, [&](const auto& each) { return each.first == name; }) ||
                       Passes(table, name) || MayLower(table, name);
    EXPECT_NE(known, absl::c_linear_search(open, name)) << name;
  }
}

// A configuration with a setting of the value alone, and what it is read with.
std::string TomlOf(const std::string& name, const std::string& value) {
  const size_t dot = name.rfind('.');
  const bool stages = absl::StartsWith(name, "parallelism.pipeline_parallel_") ||
                      absl::StrContains(name, "_per_model_part");
  const bool degree = absl::EndsWith(name, "_parallel_degree");
  return absl::StrCat("[", name.substr(0, dot), "]\n", name.substr(dot + 1), " = ", value, "\n",
                      stages && !degree ? "pipeline_parallel_degree = 2\n" : "");
}

// A setting that is read is refused for a wrong type, or is not ignored.
TEST(Settings, DecideEveryFieldOfTorchtitan) {
  const std::vector<std::string> open = OpenOptions("torchtitan_options.txt");
  for (const std::string& name : LauncherOptions("torchtitan_options.txt")) {
    const absl::StatusOr<LauncherRead> list = ReadTorchtitan(TomlOf(name, "[]"), true);
    const absl::StatusOr<LauncherRead> text = ReadTorchtitan(TomlOf(name, "\"~\""), true);
    const bool ignored = text.ok() && absl::c_linear_search(text->ignored, name) && list.ok() &&
                         absl::c_linear_search(list->ignored, name) &&
                         absl::c_none_of(text->lowering, [&](const LoweringSetting& each) {
                           return absl::StartsWith(each.text, name);
                         });
    EXPECT_EQ(ignored, absl::c_linear_search(open, name)) << name;
  }
}

}  // namespace
}  // namespace sextant::server
