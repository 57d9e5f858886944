// Good requests with one number of theirs set to a hostile value: each is answered with finite
// numbers, or refused as the caller's mistake. Every numeric field of the API is tried.
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/server/finite_numbers.h"
#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The way from a request to one of its numbers.
using Path = std::vector<const FieldDescriptor*>;

// Values of one numeric field that callers send by mistake; empty: not a number.
std::vector<double> HostileValues(const FieldDescriptor& field) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return {0, -1, 1e-320, 1e-300, 1e300, kInfinity, std::nan("")};
    case FieldDescriptor::CPPTYPE_INT64:
      return {0, -1, 1, 16'384, 0x1p62};
    case FieldDescriptor::CPPTYPE_INT32:
      return {0, -1, 1, 16'384, 0x1p30};
    default:
      return {};
  }
}

// Numbers of messages that hold a message of their own kind are tried once.
void AddPaths(const google::protobuf::Descriptor& type, Path& way, std::vector<Path>& out) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_map()) continue;
    way.push_back(field);
    if (!HostileValues(*field).empty()) out.push_back(way);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const auto* inner = field->message_type();
      const bool nested = std::any_of(way.begin(), way.end() - 1, [&](const FieldDescriptor* f) {
        return f->message_type() == inner;
      });
      if (inner != &type && !nested) AddPaths(*inner, way, out);
    }
    way.pop_back();
  }
}

void Set(Message& message, const FieldDescriptor& field, double value) {
  const Reflection& reflection = *message.GetReflection();
  const auto integer = static_cast<int64_t>(std::isfinite(value) ? value : 0);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return field.is_repeated() ? reflection.AddDouble(&message, &field, value)
                                 : reflection.SetDouble(&message, &field, value);
    case FieldDescriptor::CPPTYPE_INT64:
      return field.is_repeated() ? reflection.AddInt64(&message, &field, integer)
                                 : reflection.SetInt64(&message, &field, integer);
    default:
      return field.is_repeated()
                 ? reflection.AddInt32(&message, &field, static_cast<int32_t>(integer))
                 : reflection.SetInt32(&message, &field, static_cast<int32_t>(integer));
  }
}

// Sets the number at `path`, with the messages that hold it.
void SetAt(Message& request, const Path& path, double value) {
  Message* at = &request;
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const Reflection& reflection = *at->GetReflection();
    if (!path[i]->is_repeated()) {
      at = reflection.MutableMessage(at, path[i]);
    } else if (reflection.FieldSize(*at, path[i]) == 0) {
      at = reflection.AddMessage(at, path[i]);
    } else {
      at = reflection.MutableRepeatedMessage(at, path[i], 0);
    }
  }
  Set(*at, *path.back(), value);
}

std::string NameOf(const Path& path, double value) {
  std::string out;
  for (const FieldDescriptor* field : path) out += "." + field->name();
  return out + " = " + std::to_string(value);
}

// Refusals that tell a caller what to change.
bool IsTheCallers(grpc::StatusCode code) {
  return code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::NOT_FOUND ||
         code == grpc::StatusCode::FAILED_PRECONDITION;
}

template <typename Request, typename Response>
void TryAll(grpc::Status (v1::PlanningService::Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
            const Request& good) {
  const PlanningServer server = WithSample();
  Response answer;
  const grpc::Status asked = server.Call(method, good, &answer);
  ASSERT_TRUE(asked.ok()) << asked.error_message();
  ASSERT_EQ(NotFinite(answer), "");
  std::vector<Path> paths;
  Path way;
  AddPaths(*Request::descriptor(), way, paths);
  int answered = 0;
  int refused = 0;
  for (const Path& path : paths) {
    for (const double value : HostileValues(*path.back())) {
      Request request = good;
      SetAt(request, path, value);
      answer.Clear();
      const grpc::Status status = server.Call(method, request, &answer);
      (status.ok() ? answered : refused)++;
      EXPECT_TRUE(status.ok() || IsTheCallers(status.error_code()))
          << NameOf(path, value) << ": " << status.error_code() << " " << status.error_message();
      EXPECT_EQ(NotFinite(answer), "") << NameOf(path, value);
    }
  }
  EXPECT_GT(answered, 10);
  EXPECT_GT(refused, 100);
}

// Eight GPUs: a small space, as every call searches it.
v1::PlanRunRequest SmallRun() {
  v1::PlanRunRequest run;
  run.mutable_model()->set_preset("llama-3.1-8b");
  run.mutable_training()->set_token_count(1'000'000'000'000);
  run.mutable_training()->set_sequence_length(8192);
  run.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  run.mutable_cluster()->set_device_count(8);
  run.mutable_cluster()->set_node_type("dgx-h100");
  run.mutable_layout()->set_global_batch_size(64);
  run.mutable_layout()->set_micro_batch_size(1);
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(4);
  run.mutable_layout()->mutable_framework()->set_kind(v1::FrameworkMemory::KIND_MEGATRON_LM);
  return run;
}

TEST(HostileValues, OfPlanRun) {
  TryAll<v1::PlanRunRequest, v1::PlanRunResponse>(&v1::PlanningService::Stub::PlanRun, SmallRun());
}

TEST(HostileValues, OfHeadsThatAreExchanged) {
  v1::PlanRunRequest run = SmallRun();
  run.mutable_layout()->set_context_parallel_size(2);
  run.mutable_layout()->set_context_parallel_kind(v1::CONTEXT_PARALLEL_KIND_ALL_TO_ALL);
  TryAll<v1::PlanRunRequest, v1::PlanRunResponse>(&v1::PlanningService::Stub::PlanRun, run);
}

TEST(HostileValues, OfASearch) {
  v1::PlanRunRequest run = SmallRun();
  run.mutable_layout()->clear_micro_batch_size();
  run.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  TryAll<v1::PlanRunRequest, v1::PlanRunResponse>(&v1::PlanningService::Stub::PlanRun, run);
}

TEST(HostileValues, OfSizeCluster) {
  v1::SizeClusterRequest request;
  *request.mutable_run() = SmallRun();
  request.mutable_run()->mutable_cluster()->clear_device_count();
  TryAll<v1::SizeClusterRequest, v1::SizeClusterResponse>(&v1::PlanningService::Stub::SizeCluster,
                                                          request);
}

TEST(HostileValues, OfSizeModel) {
  v1::SizeModelRequest request;
  *request.mutable_run() = SmallRun();
  TryAll<v1::SizeModelRequest, v1::SizeModelResponse>(&v1::PlanningService::Stub::SizeModel,
                                                      request);
}

TEST(HostileValues, OfAllocateCompute) {
  v1::AllocateComputeRequest request;
  request.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  request.mutable_cluster()->set_device_count(8);
  request.mutable_duration()->set_seconds(604800);
  TryAll<v1::AllocateComputeRequest, v1::AllocateComputeResponse>(
      &v1::PlanningService::Stub::AllocateCompute, request);
}

}  // namespace
}  // namespace sextant::server
