// Settings of launchers: one table for each, which says how a setting is read, how it is written,
// and which field of a run it stands for.
#ifndef SEXTANT_SERVER_LAUNCHER_SETTING_H_
#define SEXTANT_SERVER_LAUNCHER_SETTING_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "server/launcher/launched_run.h"
#include "server/launcher/setting_file.h"
#include "server/launcher/unknown_setting.h"

namespace sextant::server {

struct Setting;

// A file being read, and the run that it becomes.
struct Reading {
  SettingFile& file;
  LauncherRead& out;
  const bool with_model;  // false: the model is passed over

  v1::PlanRunRequest& request() { return out.request; }
  v1::RunLayout& layout() { return *out.request.mutable_layout(); }
  v1::TrainingSpec& training() { return *out.request.mutable_training(); }
  // Sets the field at `path` to `value`, a word of the API's.
  void Set(const char* path, const std::string& value);
};

// A run being written, and the settings that it becomes.
struct Writing {
  const LaunchedRun& run;
  const LaunchSizes sizes;
  SettingList list = {};
  LauncherFile out = {};
  Refusals refusals;

  const v1::RunLayout& layout() const { return run.request.layout(); }
  const v1::TrainingSpec& training() const { return run.request.training(); }
};

// The effect on a plan of a setting that no field stands for: on the memory, or on the time alone.
enum class Effect { kEither, kRaises, kLowers, kTime };

using ReadFunction = void (*)(const Setting& setting, Reading& reading);
using WriteFunction = void (*)(const Setting& setting, Writing& writing);

// A row of a table. Rows are read and written in order.
struct Setting {
  const char* name = "";   // "--seq-length", "training.seq_len"; "": the launcher has none
  const char* field = "";  // "training.sequence_length", or below the message that a table is about
  const char* only = nullptr;  // "0|none": the values that the launcher can express; nullptr: any

  // The words of a choice and the values of the field: "p2p=ring|a2a=all-to-all". "": a number.
  // The first of a value is written. "auto=" leaves the field open, "~none=false" is read alone,
  // and "*=true" stands for any other word. Errors name neither of the last two, nor "-".
  const char* words = "";
  const char* absent = "";  // the field's value where a file lacks the setting
  const char* unset = "";   // the setting's where the field has none of its own

  SettingValues values = SettingValues::kOne;
  int64_t least = 1;
  bool required = false;            // a run without the field is not written
  bool above_one = false;           // a number that is written from 2 on
  bool lowers = false;              // a name, or its start: where it is ignored it may lower memory
  bool passes = false;              // a name, or its start: it changes nothing that is planned
  bool open = false;                // likewise: it matters, and no field stands for it
  Effect effect = Effect::kEither;  // where it is open
  const char* about = "";           // what it is, for the table of settings
  const char* part_of = "";         // likewise: the field that it decides with other settings
  const char* reason = nullptr;     // why the launcher has no setting for the field
  bool refused = false;             // with a reason: a run that has the field is not written
  ReadFunction read = nullptr;      // in place of what the above say
  WriteFunction write = nullptr;    // likewise

  // The same row with another value of one member.
  template <typename Member, typename Value>
  constexpr Setting With(Member Setting::*member, Value value) const {
    Setting out = *this;
    out.*member = value;
    return out;
  }

  constexpr Setting For(const char* path) const { return With(&Setting::field, path); }
  constexpr Setting Only(const char* choices) const { return With(&Setting::only, choices); }
  constexpr Setting Absent(const char* value) const { return With(&Setting::absent, value); }
  constexpr Setting Unset(const char* value) const { return With(&Setting::unset, value); }
  constexpr Setting Required() const { return With(&Setting::required, true); }
  constexpr Setting AboveOne() const { return With(&Setting::above_one, true); }
  constexpr Setting From(int64_t number) const { return With(&Setting::least, number); }
  constexpr Setting Read(ReadFunction function) const { return With(&Setting::read, function); }
  constexpr Setting Written(WriteFunction function) const {
    return With(&Setting::write, function);
  }
  constexpr Setting Lists() const { return With(&Setting::values, SettingValues::kSome); }
  constexpr Setting PartOf(const char* path) const { return With(&Setting::part_of, path); }
  // Read and written by the functions of another row.
  constexpr Setting Joined() const {
    return By([](const Setting&, Reading&) {}, [](const Setting&, Writing&) {});
  }
  constexpr Setting By(ReadFunction reads, WriteFunction writes) const {
    return Read(reads).Written(writes);
  }
};

// A whole number.
constexpr Setting Whole(const char* name, const char* field) {
  return {.name = name, .field = field};
}
constexpr Setting Choice(const char* name, const char* field, const char* words) {
  return {.name = name, .field = field, .words = words};
}
// A setting that is on or off; on, the field is `value`.
constexpr Setting Switch(const char* name, const char* field = "", const char* value = "true") {
  return {.name = name, .field = field, .words = value, .values = SettingValues::kNone};
}
// A setting that is read or written by hand, or together with another.
constexpr Setting Other(const char* name, SettingValues values = SettingValues::kOne) {
  return {.name = name, .values = values};
}
// The same of an argument without a value.
constexpr Setting Present(const char* name) { return Other(name, SettingValues::kNone); }
// A field that the launcher has no setting of its own for. Absent(): its value in what is read.
constexpr Setting Takes(const char* field, const char* only = nullptr) {
  return {.field = field, .only = only};
}
// A field that no setting of the launcher decides: it describes software, devices or data, and is
// passed over.
constexpr Setting OutOfReach(const char* field, const char* reason) {
  return {.field = field, .reason = reason};
}
// A field that the launcher cannot express.
constexpr Setting Lacks(const char* field, const char* reason) {
  return {.field = field, .reason = reason, .refused = true};
}
// A setting that no field stands for. Where it is ignored the verdict is open, unless `field` is
// given.
constexpr Setting Lowers(const char* start, const char* field = "") {
  return {.name = start, .field = field, .lowers = true, .effect = Effect::kLowers};
}

// Settings that change nothing that is planned, such as paths and seeds: "seed|logging_|data.", of
// which "logging_" is all that start so.
constexpr Setting Passes(const char* starts) { return {.name = starts, .passes = true}; }

// Settings that matter and that no field stands for, as Passes() names them. A document's are
// passed over where they are off: false, 0, empty, "none" or "no". Where `field` is given, it
// closes those that lower memory.
void ReadUnmodelled(const Setting& setting, Reading& reading);
constexpr Setting Matters(const char* names, Effect effect, const char* about = "",
                          const char* field = "") {
  return {.name = names,
          .field = field,
          .open = true,
          .effect = effect,
          .about = about,
          .read = ReadUnmodelled};
}
constexpr Setting Unmodelled(const char* names) { return Matters(names, Effect::kEither); }
constexpr Setting Raises(const char* names) { return Matters(names, Effect::kRaises); }
constexpr Setting LowersIfOn(const char* names, const char* field = "") {
  return Matters(names, Effect::kLowers, "", field);
}

// Settings that the functions of other rows read and write.
constexpr Setting Parts(const char* names) { return Other(names).Joined(); }

// The names of a row: of Passes(), Parts(), Unmodelled() and LowersIfOn() there may be several.
std::vector<absl::string_view> NamesOf(const Setting& setting);

// The text of a field that `message` sets: "" of lists, texts and messages. Absent: it is not set.
std::optional<std::string> FieldOf(const google::protobuf::Message& message,
                                   absl::string_view path);

// Reads the fields of `table` into `out`, and writes those of `message`, without functions of rows.
void ReadFields(absl::Span<const Setting> table, SettingFile& file, google::protobuf::Message& out);
void WriteFields(absl::Span<const Setting> table, const google::protobuf::Message& message,
                 SettingList& out);

// Reads all of a table. `finish` reads what depends on several rows. A name that the table does not
// have is refused, or is open, as `unknown` says.
absl::StatusOr<LauncherRead> ReadSettings(
    absl::Span<const Setting> table, bool with_model, absl::StatusOr<SettingFile> file,
    const UnknownNames& unknown, absl::FunctionRef<void(Reading&)> finish = [](auto&) {});

// The rows of several tables, in order.
std::vector<Setting> JoinedTables(const std::vector<absl::Span<const Setting>>& tables);

// Says of each setting of read.ignored what it can do, where the table has it.
void AddEffects(absl::Span<const Setting> table, LauncherRead& read);
void AddEffect(const std::string& setting, Effect effect, absl::string_view field,
               LauncherRead& read);

// Writes all of a table, for the launcher of that name.
absl::StatusOr<Writing> WriteSettings(const std::string& launcher, absl::Span<const Setting> table,
                                      const LaunchedRun& run);

// Refuses a run whose tensor parallel ranks share sequences.
void RefuseSharedSequences(Writing& writing);

// Fields that are out of reach of any launcher whose own table does not have them.
absl::Span<const Setting> FieldsOutOfReach();

// Refuses each field of the layout, the training and the model's changes that `request` sets and
// `table` does not have, or has for other values alone. Passes over those out of reach.
void CheckFields(absl::Span<const Setting> table, const v1::PlanRunRequest& request,
                 Refusals& refusals);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_SETTING_H_
