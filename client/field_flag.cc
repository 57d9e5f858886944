#include "client/field_flag.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "client/command_parts.h"
#include "client/field_path.h"
#include "client/table.h"

namespace sextant {
namespace {

using google::protobuf::Message;

// What is wrong with a text for the field, `type` being a request of its kind.
Check CheckOf(const char* field, const Message* type) {
  return [field, type](const std::string& text) {
    const std::unique_ptr<Message> scratch(type->New());
    return std::string(SetField(field, text, scratch.get()).message());
  };
}

}  // namespace

CLI::Option* AddFieldFlag(const FieldFlag& flag, Message* message, CLI::App* app) {
  const google::protobuf::FieldDescriptor& field =
      *FindField(*message->GetDescriptor(), flag.field);
  const char* path = flag.field;
  const auto set = [path, message](const std::string& text) {
    (void)SetField(path, text, message);  // has passed CheckOf()
  };
  if (FormOf(field) == FieldForm::kSwitch) {
    // CLI11 counts: "--x" is 1, "--x=false" is -1.
    return app
        ->add_flag_function(
            flag.names, [set](int64_t count) { set(count > 0 ? "true" : "false"); }, flag.help)
        ->group(flag.group);
  }
  const std::string values = ValueName(field);
  CLI::Option* option =
      app->add_option_function<std::string>(flag.names, set, flag.help)
          ->group(flag.group)
          ->type_name(values)
          ->check(CheckOf(path, message))
          ->trigger_on_parse(field.is_repeated());  // each time that the flag is given
  return FitsOnALine(flag.names, values) ? option : option->option_text("NAME");
}

bool FitsOnALine(const char* names, const std::string& values) {
  return absl::string_view(names).size() + values.size() + 3 <= kTextWidth;
}

std::string ShortName(const FieldFlag& flag) {
  const absl::string_view names = flag.names;
  return std::string(names.substr(names.rfind(',') + 1));
}

}  // namespace sextant
