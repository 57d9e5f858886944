// Messages from JSON, and the details of refusals.
#ifndef SEXTANT_TESTS_SERVER_WIRE_VALUES_H_
#define SEXTANT_TESTS_SERVER_WIRE_VALUES_H_

#include <google/protobuf/message.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/support/error_details.h>
#include <grpcpp/support/status.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace sextant::server {

template <typename Message>
Message MessageOf(const std::string& text) {
  Message out;
  const auto read = google::protobuf::util::JsonStringToMessage(text, &out);
  EXPECT_TRUE(read.ok()) << read << " " << text;
  return out;
}

// Fields have the API's names.
inline std::string JsonOf(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string out;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &out, options).ok());
  return out;
}

// The details of that type in `details`.
template <typename Detail>
std::vector<Detail> DetailsIn(const google::rpc::Status& details) {
  std::vector<Detail> out;
  for (const auto& any : details.details()) {
    if (Detail detail; any.UnpackTo(&detail)) out.push_back(detail);
  }
  return out;
}

// The only detail of that type in a refusal.
template <typename Detail>
Detail DetailOf(const grpc::Status& status) {
  google::rpc::Status wire;
  EXPECT_TRUE(grpc::ExtractErrorDetails(status, &wire).ok());
  const std::vector<Detail> all = DetailsIn<Detail>(wire);
  EXPECT_EQ(all.size(), 1u) << status.error_message();
  return all.empty() ? Detail() : all[0];
}

inline std::string RefusalReasonOf(const grpc::Status& status) {
  return DetailOf<google::rpc::ErrorInfo>(status).reason();
}

// The invalid fields of a refusal, each with its description: "steps[0].axis: must be ...".
inline std::vector<std::string> FaultsOf(const google::rpc::Status& status) {
  std::vector<std::string> out;
  for (const auto& bad : DetailsIn<google::rpc::BadRequest>(status)) {
    for (const auto& v : bad.field_violations()) out.push_back(v.field() + ": " + v.description());
  }
  return out;
}
inline std::vector<std::string> FaultsOf(const grpc::Status& status) {
  google::rpc::Status wire;
  EXPECT_TRUE(grpc::ExtractErrorDetails(status, &wire).ok());
  return FaultsOf(wire);
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_WIRE_VALUES_H_
