// Every field of every request can be set by a command line. The command lines are those of
// tests/golden/text/requests.request, whose golden text shows where each of their values arrives.
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/flags/plan_flags.h"
#include "client/flags/words.h"
#include "tests/client/fake_server.h"
#include "tests/support/source_folder.h"

namespace sextant::client {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Arguments of "op einsum \"a b -> a\" 2x3", whose quotes hold an argument together.
std::vector<std::string> ArgumentsOf(const std::string& line) {
  std::vector<std::string> args;
  const std::vector<std::string> parts = absl::StrSplit(line, '"');
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i % 2 == 1) {
      args.push_back(parts[i]);
      continue;
    }
    for (const absl::string_view word : absl::StrSplit(parts[i], ' ', absl::SkipEmpty())) {
      args.emplace_back(word);
    }
  }
  return args;
}

std::vector<std::string> CommandLines() {
  std::stringstream text;
  text << std::ifstream(SourceFolder() + "/tests/golden/text/requests.request").rdbuf();
  const std::string joined = absl::StrReplaceAll(text.str(), {{"\\\n", ""}});
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(joined, '\n', absl::SkipEmpty())) {
    if (line[0] != '#' && !absl::StartsWith(line, "all: ")) lines.emplace_back(line);
  }
  return lines;
}

// The request of a command; null where it sends none with fields.
const Message* RequestOf(const std::string& command) {
  static const std::map<std::string, const Message*> kRequests = {
      {"plan", &v1::PlanRunRequest::default_instance()},
      {"search", &v1::PlanRunRequest::default_instance()},
      {"memory", &v1::PlanRunRequest::default_instance()},
      {"compare", &v1::BatchPlanRunsRequest::default_instance()},
      {"finetune", &v1::BatchPlanRunsRequest::default_instance()},
      {"size-cluster", &v1::SizeClusterRequest::default_instance()},
      {"size-model", &v1::SizeModelRequest::default_instance()},
      {"allocate", &v1::AllocateComputeRequest::default_instance()},
      {"admit", &v1::AdmitRequest::default_instance()},
      {"count", &v1::CountModelRequest::default_instance()},
      {"op", &v1::AnalyzeOperationRequest::default_instance()},
      {"graph", &v1::AnalyzeGraphRequest::default_instance()},
      {"tensor", &v1::AnalyzeTensorRequest::default_instance()},
      {"tokens", &v1::DescribeTokensRequest::default_instance()},
      {"dtype", &v1::DescribeDataTypeRequest::default_instance()},
      {"links", &v1::GetLinkTimesRequest::default_instance()},
      {"rates", &v1::GetKernelRatesRequest::default_instance()},
      {"probe", &v1::RunProbeRequest::default_instance()},
      {"calibration", &v1::GetCalibrationRequest::default_instance()},
      {"accelerators", &v1::ListAcceleratorsRequest::default_instance()},
      {"nodes", &v1::ListNodeTypesRequest::default_instance()},
      {"models", &v1::ListModelsRequest::default_instance()},
      {"devices", &v1::ListDevicesRequest::default_instance()},
  };
  const auto found = kRequests.find(command);
  return found == kRequests.end() ? nullptr : found->second;
}

// True where a message of `type` is given as a whole: in a file, as one text, or as the request of
// another command.
bool IsOneValue(const Descriptor* type) {
  static const std::set<const Descriptor*> kTypes = {v1::TransformerSpec::descriptor(),
                                                     v1::Architecture::descriptor(),
                                                     v1::Calibration::descriptor(),
                                                     v1::MeasuredStep::descriptor(),
                                                     v1::BatchPhase::descriptor(),
                                                     v1::GraphTensor::descriptor(),
                                                     v1::GraphOperation::descriptor(),
                                                     v1::TensorStep::descriptor(),
                                                     v1::PlanRunRequest::descriptor(),
                                                     google::protobuf::Duration::descriptor(),
                                                     google::protobuf::Timestamp::descriptor()};
  return type == nullptr || kTypes.count(type) == 1;
}

// Paths of all fields below `type` that hold a value.
void AddPaths(const Descriptor& type, const std::string& prefix, std::set<std::string>* paths) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = absl::StrCat(prefix, field.name());
    if (IsOneValue(field.message_type())) {
      paths->insert(path);
    } else {
      AddPaths(*field.message_type(), absl::StrCat(path, "."), paths);
    }
  }
}

// Removes the paths of fields that `message` sets.
void RemoveSet(const Message& message, const std::string& prefix, std::set<std::string>* paths) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = absl::StrCat(prefix, field->name());
    if (IsOneValue(field->message_type())) {
      paths->erase(path);
    } else if (!field->is_repeated()) {
      RemoveSet(message.GetReflection()->GetMessage(message, field), path + ".", paths);
    } else {
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
        RemoveSet(message.GetReflection()->GetRepeatedMessage(message, field, i), path + ".",
                  paths);
      }
    }
  }
}

// Fields that no flag sets, each with its reason.
std::set<std::string> WithoutFlag() {
  return {
      // Only Kubernetes' webhook sets it.
      "AdmitRequest.manifest",
      // Links are the product's, which NODE names.
      "GetLinkTimesRequest.nodes.device.fleet.accelerator",
      "GetLinkTimesRequest.nodes.device.fleet.gpu_uuids",
      "GetLinkTimesRequest.nodes.device.fleet.hostnames",
      // Sent where NODE turns out to be an accelerator (hardware_commands_test.cc).
      "GetLinkTimesRequest.nodes.device.accelerator",
      // Devices of the server are measured one by one, without links.
      "GetLinkTimesRequest.nodes.device.host_devices.devices",
  };
}

TEST(RequestFields, AreAllSetByCommandLines) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(SourceFolder() + "/tests/golden/text/inputs");
  std::map<const Descriptor*, std::set<std::string>> unset;
  for (const std::string& line : CommandLines()) {
    std::vector<std::string> args = ArgumentsOf(line);
    const Message* const type = RequestOf(args[0]);
    ASSERT_NE(type, nullptr) << line;
    const std::string name = type->GetDescriptor()->name();
    args.emplace_back("--print-request");
    const Ran ran = RunWith(args);
    ASSERT_EQ(ran.exit_code, 0) << line << "\n" << ran.err;
    const std::unique_ptr<Message> request(type->New());
    const bool reads = google::protobuf::util::JsonStringToMessage(ran.out, request.get()).ok();
    if (args[0] == "dtype" && !reads) continue;
    ASSERT_TRUE(reads) << ran.out;
    const auto [place, added] = unset.emplace(type->GetDescriptor(), std::set<std::string>());
    if (added) AddPaths(*type->GetDescriptor(), name + ".", &place->second);
    RemoveSet(*request, name + ".", &place->second);
  }
  std::filesystem::current_path(before);
  std::set<std::string> left;
  for (const auto& [type, paths] : unset) left.insert(paths.begin(), paths.end());
  EXPECT_THAT(left, ::testing::ElementsAreArray(WithoutFlag()));
}

// A flag of `sextant plan` is a flag of every command whose request has its field: by itself, or in
// a run.
TEST(RequestFields, HaveTheFlagsOfAPlanInEveryCommand) {
  for (const char* command :
       {"plan", "search", "memory", "compare", "size-cluster", "size-model", "allocate", "count"}) {
    const Descriptor& type = *RequestOf(command)->GetDescriptor();
    const std::string help = RunWith({command, "--help"}).out;
    int count = 0;
    for (const FieldFlag& flag : PlanFlags()) {
      const bool has_field = FindField(type, flag.field) != nullptr ||
                             FindField(type, absl::StrCat("run.", flag.field)) != nullptr ||
                             FindField(type, absl::StrCat("runs.", flag.field)) != nullptr;
      if (!has_field) continue;
      ++count;
      for (const absl::string_view name : absl::StrSplit(flag.names, ',')) {
        if (!absl::StartsWith(name, "--")) continue;
        // The end of a flag's name, or of its names.
        EXPECT_TRUE(absl::StrContains(help, absl::StrCat(name, " ")) ||
                    absl::StrContains(help, absl::StrCat(name, ",")) ||
                    absl::StrContains(help, absl::StrCat(name, "\n")))
            << command << " has no " << name;
      }
    }
    EXPECT_GT(count, 10) << command;
  }
}

}  // namespace
}  // namespace sextant::client
