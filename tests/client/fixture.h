// What tests of the command line share: tables of cases, messages written as text, files, errors of
// a server, and a run of the program.
#ifndef SEXTANT_TESTS_CLIENT_FIXTURE_H_
#define SEXTANT_TESTS_CLIENT_FIXTURE_H_

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/command/run_client.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/support/cases.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {

// The rows of cases.jsonl of that name.
inline std::vector<nlohmann::json> CasesOf(const std::string& name) {
  return CasesIn("tests/client/cases.jsonl", name);
}

// The message that protobuf's text format or proto JSON describes.
template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}
template <typename Message>
Message FromJson(const std::string& json) {
  Message message;
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &message).ok()) << json;
  return message;
}

// Expects equal messages, and says how they differ.
inline void ExpectSame(const google::protobuf::Message& found,
                       const google::protobuf::Message& expected) {
  google::protobuf::util::MessageDifferencer differ;
  std::string difference;
  differ.ReportDifferencesToString(&difference);
  EXPECT_TRUE(differ.Compare(expected, found)) << difference;
}

// A file of the test's own that holds `text`.
inline std::string FileWith(const std::string& name, const std::string& text) {
  std::string path = TemporaryFile(name);
  std::ofstream(path) << text;
  return path;
}

// The error of a server, with a reason and an invalid field, "" for none.
inline grpc::Status Refusal(grpc::StatusCode code, const std::string& reason,
                            const std::string& field = "",
                            const std::string& description = "is wrong") {
  google::rpc::Status details;
  details.set_code(code);
  details.set_message("refused");
  if (!reason.empty()) {
    google::rpc::ErrorInfo info;
    info.set_reason(reason);
    info.set_domain("sextant");
    details.add_details()->PackFrom(info);
  }
  if (!field.empty()) {
    google::rpc::BadRequest bad;
    bad.add_field_violations()->set_field(field);
    bad.mutable_field_violations(0)->set_description(description);
    details.add_details()->PackFrom(bad);
  }
  return {code, details.message(), details.SerializeAsString()};
}

// INVALID_ARGUMENT with one invalid field.
inline grpc::Status FieldInvalid(const std::string& field,
                                 const std::string& description = "is wrong") {
  return Refusal(grpc::StatusCode::INVALID_ARGUMENT, "", field, description);
}

// The result of a run of the program.
struct Ran {
  int exit_code;
  std::string out;
  std::string err;
};

// The instant that the program takes for now: a day after SampleCalibration() was measured.
inline constexpr int64_t kNowUnixSeconds = 1'763'812'800;  // 2025-11-22 12:00:00 UTC

// `err_columns` is the width of the errors' terminal; 0: it is not a terminal.
inline Ran RunWith(const std::vector<std::string>& args, const std::string& input = "",
                   int err_columns = 0) {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int exit_code =
      RunClient(args, {.in = in, .out = out, .err = err, .err_columns = err_columns, .now = [] {
                         return absl::FromUnixSeconds(kNowUnixSeconds);
                       }});
  return {exit_code, out.str(), err.str()};
}

// SIGINT and SIGTERM end the program for as long as it lives, as they do at a terminal: a shell
// starts its background jobs, tests among them, with SIGINT ignored.
class DefaultSignals {
 public:
  DefaultSignals()
      : interrupt_(std::signal(SIGINT, SIG_DFL)), end_(std::signal(SIGTERM, SIG_DFL)) {}
  DefaultSignals(const DefaultSignals&) = delete;
  DefaultSignals& operator=(const DefaultSignals&) = delete;
  ~DefaultSignals() {
    std::signal(SIGINT, interrupt_);
    std::signal(SIGTERM, end_);
  }

 private:
  void (*interrupt_)(int);
  void (*end_)(int);
};

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_FIXTURE_H_
