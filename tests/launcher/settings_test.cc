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
#include "server/launcher/megatron.h"
#include "tests/launcher/sample_launch.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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
  const auto row = absl::c_find_if(table, [&](const Setting& each) {
    return !each.lowers && !each.open && each.field == field;
  });
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

// Each argument of every release, and of Megatron-DeepSpeed, is read or decided.
TEST(Settings, DecideEveryArgumentOfMegatron) {
  const Table table = AllMegatronSettings();
  for (const char* list : {"megatron_options.txt", "megatron_releases_options.txt",
                           "megatron_deepspeed_options.txt"}) {
    for (const std::string& name : LauncherOptions(list)) {
      const absl::StatusOr<LauncherRead> read = ReadMegatron(absl::StrCat(name, " 1"), true);
      const std::string why(read.status().message());
      EXPECT_THAT(why, Not(HasSubstr("not known"))) << name;
      const bool parsed =
          absl::c_any_of(MegatronNames(), [&](const auto& each) { return each.first == name; });
      if (parsed || !read.ok() || !absl::c_linear_search(read->ignored, name)) continue;
      EXPECT_TRUE(absl::c_any_of(table, [&](const Setting& each) {
        return (each.open || each.lowers) && IsNameOfRow(name, each);
      })) << name;
    }
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

// A setting that is read is refused for a wrong type; one that is ignored has a row that says what
// it can do.
TEST(Settings, DecideEveryFieldOfTorchtitan) {
  for (const std::string& name : LauncherOptions("torchtitan_options.txt")) {
    for (const char* value : {"[]", "\"~\""}) {
      const absl::StatusOr<LauncherRead> read = ReadTorchtitan(TomlOf(name, value), true);
      EXPECT_THAT(std::string(read.status().message()), Not(HasSubstr("not known"))) << name;
    }
  }
}

struct Misspelled {
  const char* name;
  Table table;
  Unknown unknown;
  const char* says;  // "": nothing
};

TEST(UnknownSettings, AreRefusedWithTheNearName) {
  const Misspelled all[] = {
      {"--tensor-model-paralel-size", AllMegatronSettings(), Unknown::kRefused,
       "--tensor-model-paralel-size: not known: write --tensor-model-parallel-size or "},
      {"--data-parallel-shardng-strategy", AllMegatronSettings(), Unknown::kRefused,
       "write --data-parallel-sharding-strategy"},  // although all of "--data-" change nothing
      {"--data-path", AllMegatronSettings(), Unknown::kRefused, ""},
      {"--qqqqqq", AllMegatronSettings(), Unknown::kRefused, "--qqqqqq: not known: leave it out"},
      {"--window_size", AllMegatronSettings(), Unknown::kRefused, ""},
      {"--recompute-modules mlp", AllMegatronSettings(), Unknown::kRefused, ""},
      {"train.py", AllMegatronSettings(), Unknown::kRefused, ""},
      {"zero_optimisation.stage", DeepspeedSettings(), Unknown::kRefused,
       "write zero_optimization.stage"},
      {"per_device_train_batchsize", TrainerSettings(), Unknown::kRefusedNearName,
       "write per_device_train_batch_size"},
      {"my_script_option", TrainerSettings(), Unknown::kRefusedNearName, ""},
      {"whatever", TrainerSettings(), Unknown::kOpen, ""},
  };
  for (const Misspelled& each : all) {
    const std::string why(RefuseUnknown({each.name}, each.table, each.unknown).message());
    EXPECT_EQ(why.empty(), *each.says == '\0') << each.name << ": " << why;
    EXPECT_THAT(why, HasSubstr(each.says));
  }
}

}  // namespace
}  // namespace sextant::server
