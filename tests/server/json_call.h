// Calls in grpcurl's style: JSON in, JSON out; and with any bytes.
#ifndef SEXTANT_TESTS_SERVER_JSON_CALL_H_
#define SEXTANT_TESTS_SERVER_JSON_CALL_H_

#include <grpcpp/channel.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/server/test_server.h"

namespace sextant::server {

// Calls the method at `path`, e.g. "/sextant.v1.PlanningService/PlanRun", with those bytes.
grpc::Status CallBytes(const std::shared_ptr<grpc::ChannelInterface>& channel,
                       const std::string& path, const std::string& bytes, grpc::ByteBuffer* answer);

// Calls `method`, e.g. "AccountingService/AnalyzeTensor". Fields have the API's names, the answer
// is without defaults; 64-bit whole numbers are strings, as in proto JSON.
grpc::Status CallJson(const TestServer& server, const std::string& method,
                      const nlohmann::json& request, nlohmann::json* response);

// Returns the answer to a call that has to succeed; null, with a test failure, where it does not.
nlohmann::json Ask(const TestServer& server, const std::string& method,
                   const nlohmann::json& request);

// Returns the invalid fields of a call that has to be refused with INVALID_ARGUMENT, each with its
// description: "steps[0].select.axis: must be ...".
std::vector<std::string> Faults(const TestServer& server, const std::string& method,
                                const nlohmann::json& request);

// `request` with the values of `changes` at the JSON pointers that are its keys; null: removed.
nlohmann::json WithChanges(nlohmann::json request, const nlohmann::json& changes);

// The number at `pointer` ("/forward/sum/matrix_flops"), string or not; 0 where it is left out.
double NumberAt(const nlohmann::json& answer, const std::string& pointer);

// The source of `part` by its source_number, from `answer`'s sources; "" where there is none.
std::string SourceOf(const nlohmann::json& answer, const nlohmann::json& part);

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_JSON_CALL_H_
