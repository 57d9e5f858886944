#include "client/flags/field_flag.h"

#include <google/protobuf/descriptor.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstring>
#include <optional>
#include <set>
#include <stdexcept>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/flags/words.h"
#include "client/io/text_file.h"
#include "client/text/text.h"
#include "proto/words/field_names.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {
namespace {

using Check = std::function<std::string(const std::string&)>;

// CLI11 calls a check once for each text, in order and before all else. The check itself therefore
// reads the text into its place, and no text is read twice.
Check ReadsBy(const Reader& read) {
  return [read](const std::string& text) { return std::string(read(text).message()); };
}

// Checks that CLI11 takes `text` as the value of a switch: any other would end the program.
std::string CheckSwitch(const std::string& text) {
  try {
    (void)CLI::detail::to_flag_value(text);
    return "";
  } catch (const std::logic_error&) {
    return absl::StrCat("\"", text, "\" is neither; write true or false");
  }
}

// "[1].expert_count" is ", entry 2 (expert count)".
std::string EntryWords(absl::string_view rest) {
  std::string out;
  int64_t index = 0;
  const size_t end = rest.find(']');
  if (absl::StartsWith(rest, "[") && end != absl::string_view::npos &&
      absl::SimpleAtoi(rest.substr(1, end - 1), &index)) {
    out = absl::StrCat(", entry ", index + 1);
    rest.remove_prefix(end + 1);
  }
  absl::ConsumePrefix(&rest, ".");
  return rest.empty() ? out : absl::StrCat(out, " (", Words(rest), ")");
}

// Absent where `field` is neither the flag's nor below it.
std::optional<std::string> WordsOf(const FieldFlag& flag, absl::string_view field) {
  if (!absl::ConsumePrefix(&field, flag.field)) return std::nullopt;
  if (field.empty()) return flag.word;
  if (field.front() != '.' && field.front() != '[') return std::nullopt;
  switch (flag.below) {
    case Below::kEntry:
      return absl::StrCat(flag.word, EntryWords(field));
    case Below::kOwnNames:
      return absl::StrCat(flag.word, ": ", absl::StripPrefix(field, "."));
    case Below::kAppended:
      return absl::StrCat(flag.word, field);
    case Below::kDropped:
      return flag.word;
    case Below::kUnknown:
      break;
  }
  return std::nullopt;
}

// The last of a flag's names: "--inputs" of "--input-count,--inputs".
std::string LastName(absl::string_view names) {
  return std::string(names.substr(names.rfind(',') + 1));
}

// A file's content has the file's own names.
Below BelowOf(const google::protobuf::FieldDescriptor& field) {
  if (!IsFile(FormOf(field))) return Below::kEntry;
  return field.is_repeated() ? Below::kAppended : Below::kOwnNames;
}

FieldFlag FlagOf(const words::NamedField& named) {
  const v1::FieldDescription& described = *named.described;
  return {.names = described.flag(),
          .field = named.path,
          .help = described.help(),
          .group = named.group.empty() ? "Options" : named.group,
          .word = LastName(described.flag()),
          .below = BelowOf(*named.field)};
}

bool Covers(const FlagRow& row, absl::string_view field) {
  return absl::ConsumePrefix(&field, row.field) && (field.empty() || field.front() == '.');
}

void Apply(const FlagRow& row, FieldFlag* flag) {
  if (row.names != nullptr) flag->names = row.names;
  if (row.help != nullptr) flag->help = row.help;
  if (row.group != nullptr) flag->group = row.group;
  if (row.word == nullptr || flag->field != row.field) return;
  flag->word = row.word;
  flag->below = row.below;
}

// The place of a field's flag among those of `rows`: that of the nearest row that it is below.
size_t RankOf(absl::Span<const FlagRow> rows, absl::string_view field) {
  size_t best = rows.size();
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!Covers(rows[i], field)) continue;
    const bool nearer =
        best == rows.size() || std::strlen(rows[i].field) > std::strlen(rows[best].field);
    if (nearer) best = i;
  }
  return best;
}

// The word of a message that people know by the first of its flags; false for any other message.
bool IsNamedByFirst(const google::protobuf::Descriptor& type) {
  static const google::protobuf::Descriptor* const types[] = {
      v1::DeviceSelector::descriptor(),       v1::HostDevices::descriptor(),
      v1::SuppliedCalibrations::descriptor(), v1::FleetDevices::descriptor(),
      v1::NetworkSpec::descriptor(),          v1::SoftwareStack::descriptor(),
      v1::InterruptionSpec::descriptor()};
  return absl::c_linear_search(types, &type);
}

// Adds words for such messages above the fields of `*flags`.
void AddMessageWords(const google::protobuf::Descriptor& request, std::vector<FieldFlag>* flags) {
  std::set<std::string> known;
  const size_t count = flags->size();
  for (size_t i = 0; i < count; ++i) {
    const std::string field = (*flags)[i].field;
    for (size_t end = field.find('.'); end != std::string::npos; end = field.find('.', end + 1)) {
      const std::string path = field.substr(0, end);
      const auto* const message = FindField(request, path);
      if (message == nullptr || !IsNamedByFirst(*message->message_type())) continue;
      if (!known.insert(path).second) continue;
      flags->push_back({.field = path, .word = (*flags)[i].word, .below = Below::kUnknown});
    }
  }
}

// The value of an enum of `file`, or of those that it imports; null where none has `name`.
const google::protobuf::EnumValueDescriptor* FindValue(const google::protobuf::FileDescriptor& file,
                                                       const std::string& name) {
  const google::protobuf::EnumValueDescriptor* found = file.FindEnumValueByName(name);
  for (int i = 0; found == nullptr && i < file.dependency_count(); ++i) {
    found = FindValue(*file.dependency(i), name);
  }
  return found;
}

// The flags' name for the enum value that the API calls `name`: "gpipe"; `name` if there is none.
std::string ChoiceOfName(absl::string_view name) {
  if (!absl::ascii_isupper(static_cast<unsigned char>(name.front()))) return std::string(name);
  const google::protobuf::EnumValueDescriptor* const value =
      FindValue(*v1::PlanRunRequest::descriptor()->file(), std::string(name));
  return value == nullptr ? std::string(name) : EnumName(*value->type(), value->number());
}

// The flag of a field that a text names by its path or by its last name, or the choice of a flag;
// the name itself where it is neither. A name without "_" is an ordinary word.
std::string FlagOfName(absl::Span<const FieldFlag> flags, absl::string_view name) {
  // A name of one plain word, such as "model", may be meant as that word.
  if (!absl::StrContains(name, "_") && !absl::StrContains(name, ".")) return std::string(name);
  for (const FieldFlag& flag : flags) {
    if (name == flag.field || absl::EndsWith(flag.field, absl::StrCat(".", name))) return flag.word;
  }
  return ChoiceOfName(name);
}

bool IsOfAName(unsigned char c) {
  return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == '-';
}

// Lets `option` take the names of the enum `type`.
CLI::Option* AddNames(const google::protobuf::EnumDescriptor& type, const TakeNumber& take,
                      CLI::Option* option) {
  AddChoices(option, absl::StrJoin(EnumNames(type), "|"));
  return option->check(Check([&type, take](const std::string& text) -> std::string {
    take(EnumNumber(type, text).value_or(0));  // one of the choices
    return "";
  }));
}

}  // namespace

std::vector<FieldFlag> FlagsOf(const google::protobuf::Descriptor& request,
                               absl::Span<const FlagRow> rows) {
  std::vector<FieldFlag> flags;
  for (const words::NamedField& named : words::NamedFieldsOf(request)) {
    flags.push_back(FlagOf(named));
  }
  for (const FlagRow& row : rows) {
    const bool is_known =
        absl::c_any_of(flags, [&row](const FieldFlag& flag) { return flag.field == row.field; });
    if (!is_known && row.word != nullptr) flags.push_back({.field = row.field});
    for (FieldFlag& flag : flags) {
      if (Covers(row, flag.field)) Apply(row, &flag);
    }
  }
  absl::c_stable_sort(flags, [rows](const FieldFlag& a, const FieldFlag& b) {
    return RankOf(rows, a.field) < RankOf(rows, b.field);
  });
  AddMessageWords(request, &flags);
  return flags;
}

CLI::Option* AddFieldFlag(const FieldFlag& flag, google::protobuf::Message* message, CLI::App* app,
                          google::protobuf::FieldMask* given) {
  const google::protobuf::FieldDescriptor& field =
      *FindField(*message->GetDescriptor(), flag.field);
  const auto set = [path = flag.field, message, given](const std::string& text) {
    if (given != nullptr) given->add_paths(path);
    return SetField(path, text, message);
  };
  if (FormOf(field) == FieldForm::kSwitch) {
    // CLI11 counts: "--x" is 1, "--x=false" is -1.
    const auto count = [set](int64_t times) { (void)set(times > 0 ? "true" : "false"); };
    return app->add_flag_function(flag.names, count, flag.help)
        ->group(flag.group)
        ->take_last()
        ->check(CheckSwitch);
  }
  CLI::Option* option = AddText(flag.names, flag.help, set, app)
                            ->group(flag.group)
                            ->trigger_on_parse(field.is_repeated());  // each time that it is given
  ShowValues(flag.names, ValueName(field), option);
  return option;
}

void LimitFleetFlags(std::initializer_list<const char*> others, CLI::App* app) {
  CLI::Option* const product = app->get_option("--fleet");
  for (const char* other : others) product->excludes(app->get_option(other));
  for (const char* which : {"--hostnames", "--gpu-uuids"}) app->get_option(which)->needs(product);
}

void ShowValues(const std::string& names, const std::string& values, CLI::Option* option) {
  option->type_name(values);
  const bool fits = names.size() + values.size() + 3 <= kTextWidth;
  if (!fits) option->option_text("NAME");
}

CLI::Option* AddText(const std::string& names, const std::string& help, const Reader& read,
                     CLI::App* app) {
  return app
      ->add_option_function<std::string>(
          names, [](const std::string&) {}, help)
      ->type_name("")
      ->check(ReadsBy(read));
}

CLI::Option* AddTexts(const char* names, const char* help, const Reader& read, CLI::App* app) {
  CLI::Option* option = app->add_option_function<std::vector<std::string>>(
      names, [](const std::vector<std::string>&) {}, help);
  if (*names == '-') option->allow_extra_args(false);
  return option->type_name("")->check(ReadsBy(read));
}

CLI::Option* AddChoices(CLI::Option* option, const std::string& choices) {
  return option->type_name(choices)->check(Check([choices](const std::string& text) -> std::string {
    const std::vector<std::string> known = absl::StrSplit(choices, '|');
    // The API spells its names with '_'.
    if (absl::c_linear_search(known, absl::StrReplaceAll(text, {{"_", "-"}}))) return "";
    return absl::StrCat("\"", text, "\" is not known; write one of ", choices);
  }));
}

CLI::Option* AddEnum(const char* names, const char* help,
                     const google::protobuf::EnumDescriptor& type, const TakeNumber& take,
                     CLI::App* app) {
  const auto ignore = [](const std::string&) {};
  return AddNames(type, take, app->add_option_function<std::string>(names, ignore, help));
}

CLI::Option* AddEnums(const char* names, const char* help,
                      const google::protobuf::EnumDescriptor& type, const TakeNumber& take,
                      CLI::App* app) {
  const auto ignore = [](const std::vector<std::string>&) {};
  return AddNames(type, take,
                  app->add_option_function<std::vector<std::string>>(names, ignore, help)
                      ->allow_extra_args(false));
}

CLI::Option* AddFile(const char* names, std::string* file, const char* help, CLI::App* app) {
  return app->add_option(names, *file, help)->type_name("FILE");
}

CLI::Option* AddInput(const char* names, std::string* file, const char* help, CLI::App* app) {
  return AddFile(names, file, help, app)->check(Check([](const std::string& name) {
    return name == "-" ? "" : CheckFile(name);
  }));
}

std::string CheckFile(const std::string& name) {
  const std::string why = WhyUnreadable(name);
  return why.empty() ? "" : absl::StrCat("cannot read \"", name, "\": ", why);
}

bool IsConfigFile(const std::string& model) {
  return model == "-" || absl::EndsWith(model, ".json") ||
         WhyUnreadable(ConfigFileAt(model)).empty();
}

std::string FieldWordsOf(absl::Span<const FieldFlag> flags, const std::string& field) {
  for (const FieldFlag& flag : flags) {
    if (const auto words = WordsOf(flag, field)) return *words;
  }
  return field;
}

std::string DescriptionWordsOf(absl::Span<const FieldFlag> flags, const std::string& text) {
  std::string out;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t length = static_cast<size_t>(absl::c_find_if_not(rest, IsOfAName) - rest.begin());
    const absl::string_view name = absl::StripSuffix(rest.substr(0, length), ".");
    const std::string flag = FlagOfName(flags, name);
    out += flag;
    rest.remove_prefix(name.size());
    // "vocabulary_multiple 1024" is written with "=" on the command line.
    const bool has_value = flag != name && rest.size() > 1 && rest[0] == ' ' &&
                           absl::ascii_isdigit(static_cast<unsigned char>(rest[1]));
    if (has_value) out += '=';
    if (!has_value && !rest.empty()) out += rest.front();
    if (!rest.empty()) rest.remove_prefix(1);
  }
  return out;
}

}  // namespace sextant::client
