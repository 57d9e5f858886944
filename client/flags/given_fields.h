// The fields of a request that a command line gives: in --request's file, and by flags, which
// override it.
#ifndef SEXTANT_CLIENT_FLAGS_GIVEN_FIELDS_H_
#define SEXTANT_CLIENT_FLAGS_GIVEN_FIELDS_H_

#include <google/protobuf/field_mask.pb.h>
#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include <istream>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "client/flags/field_flag.h"

namespace sextant::client {

// True where the field at `path` of a request names its model, which changes to it do not.
bool NamesModel(absl::string_view path);

struct GivenFields {
  // A flag whose value names the file that holds its field.
  struct File {
    const FieldFlag* flag;
    std::string name;
  };

  // A file that starts a run, for the server to read.
  struct LaunchInput {
    std::string name = {};                 // "-" for standard input
    std::string format = {};               // what a flag takes it for; "": found by its content
    std::optional<std::string> text = {};  // of a flag that takes the text itself
  };

  std::string request_file;            // "" where none was given, "-" for standard input
  google::protobuf::FieldMask fields;  // those that flags set
  std::vector<File> files;
  std::vector<LaunchInput> launch_files;
  bool* imports = nullptr;  // where MODEL may be a launch file: set to true once one is given

  void AddLaunchFile(LaunchInput input);

  // True where a flag sets the field at `path`.
  bool Sets(absl::string_view path) const;
  // The paths of all fields that flags set, files included.
  std::vector<std::string> Paths() const;
  // True where a flag names the model.
  bool GivesModel() const;
};

// True where a word of the command line names a file that starts a run, and no model: "-", a text
// that ends as such files do or starts with "./", "../" or "/", and what exists, but for a model's
// config.json, and a folder that holds one.
bool IsLaunchFile(const std::string& word);
// True where its end alone says so.
bool IsLaunchFileName(absl::string_view word);

// The path in such a word: "recipes.py" of "recipes.py:llama3_8b", which names a function.
std::string LaunchFilePath(const std::string& word);

// Adds --request, the file of a request such as `type`.
void AddRequestFile(const google::protobuf::Message& type, GivenFields* given, CLI::App* app);

// Adds the flags of `flags` that have names, which set fields of `*values`. All outlive `app`.
// `given` may be null where no field is in a file.
void AddFlags(absl::Span<const FieldFlag> flags, GivenFields* given,
              google::protobuf::Message* values, CLI::App* app);

// The error where flags name devices in two ways, of which the request would keep the last in
// silence; "" where they don't.
std::string ConflictOfDevices(const GivenFields& given);

// Fill `*request` from --request's file (`in` for "-"), and then from flags and their files. Set
// only what was given: defaults and ranges are the server's.
//
// The ways to give a model exclude each other, so a model flag replaces the whole model of the
// file. Two model flags are both sent, and the server reports the conflict. The same holds for the
// ways to name devices. A list given by flags replaces the file's list.
//
// Errors: INVALID_ARGUMENT, reason REQUEST_MALFORMED where a file is not proto JSON of its message,
// REQUEST_TOO_LARGE where it holds more than kMaxRequestBytes, or a config.json more than
// kMaxConfigBytes.
grpc::Status ReadRequestFile(const GivenFields& given, std::istream& in,
                             google::protobuf::Message* request);
grpc::Status Override(const GivenFields& given, const google::protobuf::Message& values,
                      std::istream& in, google::protobuf::Message* request);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_FLAGS_GIVEN_FIELDS_H_
