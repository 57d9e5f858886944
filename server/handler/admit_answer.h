// The answer to AdmitRequest: within its budget, whatever its plan takes.
#ifndef SEXTANT_SERVER_HANDLER_ADMIT_ANSWER_H_
#define SEXTANT_SERVER_HANDLER_ADMIT_ANSWER_H_

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/call/call_context.h"
#include "server/convert/admit.h"
#include "server/device/device_finder.h"
#include "server/fleet/fleet_reader.h"
#include "server/metrics/metrics.h"
#include "server/store/calibration_snapshot.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/admit.pb.h"

namespace sextant::server {

// The needs of a plan; all of them outlive the pools that plan.
struct AdmitTools {
  Metrics* metrics;
  std::function<std::shared_ptr<const CalibrationSnapshot>()> calibrations;
  std::function<absl::Time()> now;
  SuppliedCalibrations* supplied;
  FleetReader* fleet = nullptr;  // null: no fleet's rates are read
};

// One admission under way. The first of two decides it: the plan, or the end of its budget, after
// which the plan stops. Thread-safe.
class Admission {
 public:
  // `context` is its call's, until it is decided.
  Admission(const CallContext& context, AdmitTools tools);
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  // Reads the request, and decides where it is wrong or in doubt. Before all below.
  void Read(const v1::AdmitRequest& request);

  const AdmitQuestion& question() const { return question_; }
  bool is_decided() const;
  // When the budget is over.
  std::chrono::steady_clock::time_point end() const;

  // Calls `then` once, when it is decided: here, if it is.
  void WhenDecided(std::function<void()> then);

  // Plans the run, and decides. `ready` is not OK where no thread is there for it.
  void Plan(const absl::Status& ready);
  // Decides that the budget is over.
  void EndBudget();

  // Counts the verdict and, where it is one or the words are wrong, what `caller` has counted: it
  // sends that until it is answered so. Moves the answer to `*response`, and returns the call's
  // status. Once, after it is decided.
  absl::Status Take(const v1::AdmitCaller& caller, v1::AdmitResponse* response);

 private:
  bool IsLate() const { return std::chrono::steady_clock::now() >= end(); }
  void Decide(absl::Status status, v1::AdmitResponse response);
  // Decides by the failure of a plan.
  void DecideBy(const absl::Status& failure);
  absl::Status End() const;

  const CallContext& context_;
  const AdmitTools tools_;
  const std::chrono::steady_clock::time_point start_;
  AdmitQuestion question_;
  mutable std::mutex mutex_;
  bool decided_ = false;
  absl::Status status_;
  v1::AdmitResponse response_;
  std::function<void()> then_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_HANDLER_ADMIT_ANSWER_H_
