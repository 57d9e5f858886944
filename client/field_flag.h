// Flags and arguments that fill a request while the command line is read.
#ifndef SEXTANT_CLIENT_FIELD_FLAG_H_
#define SEXTANT_CLIENT_FIELD_FLAG_H_

#include <google/protobuf/message.h>

#include <string>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sextant {

struct FieldFlag {
  const char* names;  // as CLI11 takes them: the field's own name first, then short ones
  const char* field;  // the field's path in the request
  const char* help;
  const char* group = "Options";  // heading in --help
};

// Adds a flag that sets the field in `*message`, which has to outlive `app`. How its text is
// written follows from the field (field_path.h).
CLI::Option* AddFieldFlag(const FieldFlag& flag, google::protobuf::Message* message, CLI::App* app);

// Whether the flag and the values that it takes fit on a line of --help; whoever writes another
// value is told them.
bool FitsOnALine(const char* names, const std::string& values);

// The last one of its names: "--inputs" of "--input-count,--inputs".
std::string ShortName(const FieldFlag& flag);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_FIELD_FLAG_H_
