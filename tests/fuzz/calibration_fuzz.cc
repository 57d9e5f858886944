// Calibration files of any bytes: no crash and no hang. One that is read has an answer in finite
// numbers to every question about its device; another one is refused with a reason.
#include <google/protobuf/stubs/logging.h>

#include <chrono>
#include <string>

#include "engine/base/call_work.h"
#include "server/handler/device_answers.h"
#include "server/store/calibration_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/json_mutator.h"
#include "tests/fuzz/possible_answer.h"
#include "tests/server/fake_probe.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

// SampleCalibration()'s device, of any mode.
constexpr char kName[] = "CPU-0123456789abcdef.json";

void AskFor(const v1::Calibration& calibration) {
  const CalibrationSnapshot host = SnapshotOf({calibration});
  v1::GetCalibrationResponse got;
  const auto now = std::chrono::system_clock::from_time_t(absl::ToTimeT(SourcesTime()));
  if (AnswerGetCalibration({}, host, now, &got).ok()) RequirePossible(got);
  v1::GetKernelRatesRequest request;
  request.mutable_device()->mutable_host_devices()->add_devices(calibration.device().uuid());
  SuppliedCalibrations supplied;
  v1::GetKernelRatesResponse rates;
  CallWork work;
  const absl::Status answered = AnswerKernelRates(request, FinderOf(supplied, host), work, &rates);
  if (answered.ok()) RequirePossible(rates);
}

void Read(absl::string_view content) {
  static const TemporaryFolder folder;
  WriteFile(folder.File(kName), content);
  const absl::StatusOr<v1::Calibration> read = ReadCalibrationFile(folder.File(kName));
  if (read.ok()) return AskFor(*read);
  Require(read.status().code() == absl::StatusCode::kDataLoss ||
              read.status().code() == absl::StatusCode::kUnimplemented,
          read.status().ToString());
  Require(!read.status().message().empty(), "no reason");
}

}  // namespace
}  // namespace sextant::server

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool is_quiet = (google::protobuf::SetLogHandler(nullptr), true);
  (void)is_quiet;
  sextant::server::Read({reinterpret_cast<const char*>(data), size});
  return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  return sextant::MutateJson(sextant::v1::Calibration::default_instance(),
                             sextant::JsonText::kOneMessage, data, size, max_size, seed);
}
