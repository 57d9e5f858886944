// Flags and arguments of a command. One table of them drives how a text is read into the request,
// the values in --help and completion, and the words for fields that the server's errors name.
#ifndef SEXTANT_CLIENT_FLAGS_FIELD_FLAG_H_
#define SEXTANT_CLIENT_FLAGS_FIELD_FLAG_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/message.h>

#include <functional>
#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sextant::client {

// The form in which errors write a place below a flag's field, such as "[1].expert_count".
enum class Below {
  kEntry,     // "--flag, entry 2 (expert count)"
  kOwnNames,  // "--flag: [1].expert_count": a file's content has the file's own names
  kAppended,  // "--flag[1].expert_count"
  kDropped,   // "--flag"
  kUnknown,   // as the server wrote it: the flag names the field alone
};

struct FieldFlag {
  const char* names;  // as CLI11 takes them: the field's own name first, then short ones
  const char* field;  // the field's path in the request
  const char* help;
  const char* group = "Options";  // heading in --help
  Below below = Below::kEntry;
  const char* word = nullptr;  // its name in errors; nullptr: the last of its names
};

// A row for a field whose text is not read by its type alone: it gives only the field's name in
// errors.
constexpr FieldFlag WordFor(const char* word, const char* field, Below below = Below::kEntry) {
  return {word, field, "", "", below};
}

// Adds a flag that sets the field in `*message`, which has to outlive `app`, and adds the field to
// `given`, unless that is null. The field determines how its text is written (field_path.h).
CLI::Option* AddFieldFlag(const FieldFlag& flag, google::protobuf::Message* message, CLI::App* app,
                          google::protobuf::FieldMask* given = nullptr);

// Adds the flags that name a fleet's product and, after it, which of its devices, as AddFieldFlag()
// does. They exclude `others`, the names of the command's other ways to name devices.
void AddFleetFlags(absl::Span<const FieldFlag> flags, google::protobuf::Message* message,
                   std::initializer_list<const char*> others, CLI::App* app);

// Shows the values that a flag of `names` takes. Where they don't fit on its line of --help, the
// error for another value lists them.
void ShowValues(const char* names, const std::string& values, CLI::Option* option);

// Reads one flag's text into its place. Errors say what to write.
using Reader = std::function<absl::Status(const std::string& text)>;

// Adds a flag or an argument that takes one text.
CLI::Option* AddText(const char* names, const char* help, const Reader& read, CLI::App* app);

// Adds a flag that may be repeated, with one text each time, or an argument that takes all texts
// that follow. Calls `read` for each, in order.
CLI::Option* AddTexts(const char* names, const char* help, const Reader& read, CLI::App* app);

// Lets `option`, which it returns, take one of `choices`, "text|json". Help and completion read
// them from the name of the option's type.
CLI::Option* AddChoices(CLI::Option* option, const std::string& choices);

// Adds a flag or an argument that takes one of an enum's values by name, as AddChoices() does, and
// calls `take` with its number. AddEnums()'s may be repeated.
using TakeNumber = std::function<void(int number)>;
CLI::Option* AddEnum(const char* names, const char* help,
                     const google::protobuf::EnumDescriptor& type, const TakeNumber& take,
                     CLI::App* app);
CLI::Option* AddEnums(const char* names, const char* help,
                      const google::protobuf::EnumDescriptor& type, const TakeNumber& take,
                      CLI::App* app);

// Checks for CLI11 that a file can be opened for reading; the second takes "-" too, standard input.
// Return what is wrong, "" where nothing is.
std::string CheckFile(const std::string& name);
std::string CheckFileOrInput(const std::string& name);

// True where a command's MODEL is a config.json's file, a folder that holds one, or "-", rather
// than a name: the text ends in ".json", or such a file exists.
bool IsConfigFile(const std::string& model);
inline constexpr char kModelHelp[] = "a name, a Hugging Face id or a config.json; - is stdin";

// Checks that the file of such a MODEL can be read, as above. A name is the server's to check.
std::string CheckModel(const std::string& model);

// Sets the fields `given` of `*request` to those of `flags`. Lists are replaced.
void SetFields(const google::protobuf::FieldMask& given, const google::protobuf::Message& flags,
               google::protobuf::Message* request);

// The name of a flag in errors: "--inputs" of "--input-count,--inputs".
std::string WordOf(const FieldFlag& flag);

// The tables of a command's flags; the first that has a field counts.
using FlagTables = std::initializer_list<absl::Span<const FieldFlag>>;

// The words of the command line for a field of its request: the flag of the field, or of one that
// it is below. The field itself where no flag sets it.
std::string FieldWordsOf(FlagTables tables, const std::string& field);

// `text` with flags in place of the fields that it names, by their paths or last names.
std::string DescriptionWordsOf(FlagTables tables, const std::string& text);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_FIELD_FLAG_H_
