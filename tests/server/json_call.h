// Calls as a user of grpcurl writes them: JSON in, JSON out.
#ifndef SEXTANT_TESTS_SERVER_JSON_CALL_H_
#define SEXTANT_TESTS_SERVER_JSON_CALL_H_

#include <grpcpp/support/status.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/server/test_server.h"

namespace sextant {

// Calls `method`, e.g. "AccountingService/AnalyzeTensor". Fields are spelt as in the API, the
// answer's without defaults; 64-bit whole numbers are texts, as in proto JSON.
grpc::Status CallJson(const TestServer& server, const std::string& method,
                      const nlohmann::json& request, nlohmann::json* response);

// The answer to a call that has to succeed; null, with a failure, where it does not.
nlohmann::json Ask(const TestServer& server, const std::string& method,
                   const nlohmann::json& request);

// The fields at fault in a call that has to be refused with INVALID_ARGUMENT, each with what is
// said of it: "steps[0].select.axis: must be ...".
std::vector<std::string> Faults(const TestServer& server, const std::string& method,
                                const nlohmann::json& request);

// The number at `pointer` ("/forward/sum/matrix_flops"), text or not; 0 where it is left out.
double NumberAt(const nlohmann::json& answer, const std::string& pointer);

}  // namespace sextant

#endif  // SEXTANT_TESTS_SERVER_JSON_CALL_H_
