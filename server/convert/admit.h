// An AdmitRequest as the run that it asks about, and that run's plan as an AdmitResponse.
#ifndef SEXTANT_SERVER_CONVERT_ADMIT_H_
#define SEXTANT_SERVER_CONVERT_ADMIT_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "sextant/v1/admit.pb.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// A job as the run to plan.
struct AdmitQuestion {
  v1::PlanRunRequest run;
  std::string doubt;  // why it can't be judged: an answer of UNKNOWN; empty: it can
  absl::Duration budget;
  bool has_tokens = false;         // false: one token stands in, since memory does not depend on it
  bool gives_accelerator = false;  // the scheduler does
  bool gives_node_type = false;
};

// Errors: kInvalidArgument FIELD_INVALID, naming the fields: "words" for each word that is wrong.
absl::StatusOr<AdmitQuestion> AdmitQuestionFrom(const v1::AdmitRequest& request);

// "slurm", "kubernetes" or "other", for the label of a metric.
const char* SchedulerLabel(v1::AdmitCaller::Scheduler scheduler);
// "fits", "unknown".
const char* AdmitLabel(v1::AdmitResponse::Verdict verdict);

// Makes `*response` UNKNOWN, since `why`.
void UnknownTo(absl::string_view why, v1::AdmitResponse* response);

// Fills `*response`, which is empty, by the plan of question.run.
void AdmissionTo(const AdmitQuestion& question, const v1::Plan& plan, v1::AdmitResponse* response);

// Returns the error of a failed plan of question.run, of the words where they are wrong; or OK for
// doubt, which makes `*response` UNKNOWN.
absl::Status RefusalTo(const AdmitQuestion& question, const absl::Status& status,
                       v1::AdmitResponse* response);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_ADMIT_H_
