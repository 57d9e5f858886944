#include "client/flags/field_flag.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/util/field_mask_util.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <vector>

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
  if (field.empty()) return WordOf(flag);
  if (field.front() != '.' && field.front() != '[') return std::nullopt;
  switch (flag.below) {
    case Below::kEntry:
      return absl::StrCat(WordOf(flag), EntryWords(field));
    case Below::kOwnNames:
      return absl::StrCat(WordOf(flag), ": ", absl::StripPrefix(field, "."));
    case Below::kAppended:
      return absl::StrCat(WordOf(flag), field);
    case Below::kDropped:
      return WordOf(flag);
    case Below::kUnknown:
      break;
  }
  return std::nullopt;
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
std::string FlagOfName(FlagTables tables, absl::string_view name) {
  // A name of one plain word, such as "model", may be meant as that word.
  if (!absl::StrContains(name, "_") && !absl::StrContains(name, ".")) return std::string(name);
  for (const absl::Span<const FieldFlag> flags : tables) {
    for (const FieldFlag& flag : flags) {
      if (name == flag.field || absl::EndsWith(flag.field, absl::StrCat(".", name))) {
        return WordOf(flag);
      }
    }
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

CLI::Option* AddFieldFlag(const FieldFlag& flag, google::protobuf::Message* message, CLI::App* app,
                          google::protobuf::FieldMask* given) {
  const google::protobuf::FieldDescriptor& field =
      *FindField(*message->GetDescriptor(), flag.field);
  const char* path = flag.field;
  const auto set = [path, message, given](const std::string& text) {
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

void AddFleetFlags(absl::Span<const FieldFlag> flags, google::protobuf::Message* message,
                   std::initializer_list<const char*> others, CLI::App* app) {
  CLI::Option* const product = AddFieldFlag(flags.front(), message, app);
  for (const char* other : others) product->excludes(app->get_option(other));
  for (const FieldFlag& flag : flags.subspan(1)) AddFieldFlag(flag, message, app)->needs(product);
}

void ShowValues(const char* names, const std::string& values, CLI::Option* option) {
  option->type_name(values);
  const bool fits = absl::string_view(names).size() + values.size() + 3 <= kTextWidth;
  if (!fits) option->option_text("NAME");
}

CLI::Option* AddText(const char* names, const char* help, const Reader& read, CLI::App* app) {
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

std::string CheckFile(const std::string& name) {
  const std::string why = WhyUnreadable(name);
  return why.empty() ? "" : absl::StrCat("cannot read \"", name, "\": ", why);
}

std::string CheckFileOrInput(const std::string& name) { return name == "-" ? "" : CheckFile(name); }

bool IsConfigFile(const std::string& model) {
  return model == "-" || absl::EndsWith(model, ".json") ||
         WhyUnreadable(ConfigFileAt(model)).empty();
}

std::string CheckModel(const std::string& model) {
  if (absl::StrContains(model, "/") && ConfigFileAt(model) == model &&
      WhyUnreadable(model) == std::strerror(EISDIR)) {
    return absl::StrCat("folder \"", model, "\" holds neither a config.json nor a params.json");
  }
  return IsConfigFile(model) ? CheckFileOrInput(ConfigFileAt(model)) : "";
}

void SetFields(const google::protobuf::FieldMask& given, const google::protobuf::Message& flags,
               google::protobuf::Message* request) {
  google::protobuf::util::FieldMaskUtil::MergeOptions options;
  options.set_replace_message_fields(true);
  options.set_replace_repeated_fields(true);
  google::protobuf::util::FieldMaskUtil::MergeMessageTo(flags, given, options, request);
}

std::string WordOf(const FieldFlag& flag) {
  if (flag.word != nullptr) return flag.word;
  const absl::string_view names = flag.names;
  return std::string(names.substr(names.rfind(',') + 1));
}

std::string FieldWordsOf(FlagTables tables, const std::string& field) {
  for (const absl::Span<const FieldFlag> flags : tables) {
    for (const FieldFlag& flag : flags) {
      if (const auto words = WordsOf(flag, field)) return *words;
    }
  }
  return field;
}

std::string DescriptionWordsOf(FlagTables tables, const std::string& text) {
  std::string out;
  absl::string_view rest = text;
  while (!rest.empty()) {
    const size_t length = static_cast<size_t>(absl::c_find_if_not(rest, IsOfAName) - rest.begin());
    const absl::string_view name = absl::StripSuffix(rest.substr(0, length), ".");
    const std::string flag = FlagOfName(tables, name);
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
