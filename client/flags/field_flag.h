// Flags and arguments of a command. Those of a request's fields are made of what the API says of
// them: how a text is read into the request, help, completion, and the words for fields that the
// server's errors name.
#ifndef SEXTANT_CLIENT_FLAGS_FIELD_FLAG_H_
#define SEXTANT_CLIENT_FLAGS_FIELD_FLAG_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/message.h>

#include <array>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

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

// The flag of a field, or only its name in errors.
struct FieldFlag {
  std::string names = {};  // as CLI11 takes them; "": the command reads the field in another way
  std::string field = {};  // its path in the request
  std::string help = {};
  std::string group = {};  // heading in --help
  std::string word = {};   // its name in errors
  Below below = Below::kEntry;
};

// Differs from what the API says of a field, or of all fields below a message.
struct FlagRow {
  const char* field;
  const char* names = nullptr;  // "": the command reads the field in another way
  const char* help = nullptr;
  const char* group = nullptr;
  const char* word = nullptr;   // of the field or message itself, by which it may have no flag
  Below below = Below::kEntry;  // of such a word
};

// The flags for the fields of a request: those of `rows` first, then all others in the API's order.
std::vector<FieldFlag> FlagsOf(const google::protobuf::Descriptor& request,
                               absl::Span<const FlagRow> rows = {});

// Adds a flag that sets the field in `*message`, which has to outlive `app`, and adds the field to
// `given`, unless that is null. The field determines how its text is written (field_path.h).
CLI::Option* AddFieldFlag(const FieldFlag& flag, google::protobuf::Message* message, CLI::App* app,
                          google::protobuf::FieldMask* given = nullptr);

// Has the flags of a fleet exclude `others`, the names of the command's other ways to name devices,
// and those that say which of its devices need the one that names its product.
void LimitFleetFlags(std::initializer_list<const char*> others, CLI::App* app);

// Shows the values that a flag of `names` takes. Where they don't fit on its line of
// --help, the error for another value lists them.
void ShowValues(const std::string& names, const std::string& values, CLI::Option* option);

// Reads one flag's text into its place. Errors say what to write.
using Reader = std::function<absl::Status(const std::string& text)>;

// Adds a flag or an argument that takes one text.
CLI::Option* AddText(const std::string& names, const std::string& help, const Reader& read,
                     CLI::App* app);

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

// Adds a flag that names a file, or an argument. The second takes one to read, "-" for standard
// input.
CLI::Option* AddFile(const char* names, std::string* file, const char* help, CLI::App* app);
CLI::Option* AddInput(const char* names, std::string* file, const char* help, CLI::App* app);

// Checks for CLI11 that a file can be opened for reading. Returns what is wrong, "" where nothing
// is.
std::string CheckFile(const std::string& name);

// True where a command's MODEL is a config.json's file, a folder that holds one, or "-", rather
// than a name: the text ends in ".json", or such a file exists.
bool IsConfigFile(const std::string& model);

// The words of the command line for a field of its request: the flag of the field, or of one that
// it is below. The field itself where no flag sets it.
std::string FieldWordsOf(absl::Span<const FieldFlag> flags, const std::string& field);

// `text` with flags in place of the fields that it names, by their paths or last names.
std::string DescriptionWordsOf(absl::Span<const FieldFlag> flags, const std::string& text);

// The same of a command's own request and rows; the flags are made when they are first used.
inline constexpr std::array<FlagRow, 0> kNoRows = {};
template <typename Request, const auto& kRows = kNoRows>
const std::vector<FieldFlag>& RequestFlags() {
  static const auto* const flags =
      new std::vector<FieldFlag>(FlagsOf(*Request::descriptor(), kRows));
  return *flags;
}
template <typename Request, const auto& kRows = kNoRows>
std::string RequestFieldWords(const std::string& field) {
  return FieldWordsOf(RequestFlags<Request, kRows>(), field);
}
template <typename Request, const auto& kRows = kNoRows>
std::string RequestDescriptionWords(const std::string& text) {
  return DescriptionWordsOf(RequestFlags<Request, kRows>(), text);
}

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_FIELD_FLAG_H_
