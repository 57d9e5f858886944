#include "server/convert/admit.h"

#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/base/field_violation.h"
#include "engine/base/near_names.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/node_type.h"
#include "engine/hardware/links/usual_nodes.h"
#include "proto/words/field_names.h"
#include "proto/words/plan_line.h"
#include "server/convert/admit_words.h"
#include "server/convert/message_fields.h"

namespace sextant::server {
namespace {

constexpr absl::Duration kDefaultBudget = absl::Milliseconds(100);
constexpr absl::Duration kMinBudget = absl::Milliseconds(1);
constexpr absl::Duration kMaxBudget = absl::Seconds(10);
constexpr size_t kMaxNameBytes = 256;
constexpr int64_t kMaxDevices = 1'000'000;  // of ClusterSpec.device_count
constexpr size_t kMaxUrlBytes = 8192;
constexpr double kMaxDurationSeconds = 315'576'000'000;  // of google.protobuf.Duration

constexpr absl::string_view kPlanPath =
    "/sextant.v1.PlanningService/PlanRun?connect=v1&encoding=json&message=";

absl::Duration BudgetOf(const v1::AdmitRequest& request) {
  if (!request.has_budget()) return kDefaultBudget;
  return absl::Seconds(request.budget().seconds()) + absl::Nanoseconds(request.budget().nanos());
}

FieldViolations CheckedFields(const v1::AdmitRequest& request, absl::Duration budget) {
  FieldViolations out;
  if (budget < kMinBudget || budget > kMaxBudget) out.Add("budget", "must be 1 ms to 10 s");
  const auto check_name = [&out](absl::string_view field, const std::string& name) {
    if (name.size() > kMaxNameBytes) {
      out.Add(field, absl::StrCat("has ", name.size(), " bytes: write at most ", kMaxNameBytes));
    }
  };
  check_name("accelerator", request.accelerator());
  check_name("node_type", request.node_type());
  check_name("caller.job_name", request.caller().job_name());
  check_name("caller.user", request.caller().user());
  if (!v1::AdmitCaller::Scheduler_IsValid(request.caller().scheduler())) {
    out.Add("caller.scheduler", "is not known: write SCHEDULER_OTHER");
  }
  static const check::NumberLimits limits(*v1::AdmitRequest::descriptor());
  CheckNumbers(limits, request, "", out);
  return out;
}

// The number of devices: the scheduler's and the words' have to agree.
std::string SetDeviceCount(const v1::AdmitRequest& request, v1::ClusterSpec* cluster) {
  const int64_t of_words = cluster->device_count();
  if (!request.has_device_count()) {
    return of_words != 0 ? ""
                         : "how many devices the job gets is not known: the scheduler says "
                           "nothing, and the words have no --devices";
  }
  const int64_t count = request.device_count();
  if (count < 1 || count > kMaxDevices) {
    return absl::StrCat("the scheduler gives ", count, " devices, which can't be");
  }
  if (of_words != 0 && of_words != count) {
    return absl::StrCat("the words ask for ", of_words, " devices, and the scheduler gives ",
                        count);
  }
  cluster->set_device_count(count);
  return "";
}

// Their product.
std::string SetAccelerator(const std::string& given, v1::ClusterSpec* cluster) {
  const std::string of_words = cluster->device().accelerator();
  if (given.empty()) {
    return !of_words.empty() ? ""
                             : "which devices the job gets is not known: the scheduler says "
                               "nothing, and the words have no --accelerator";
  }
  const absl::StatusOr<const Accelerator*> found = FindAccelerator(given);
  if (!found.ok()) return absl::StrCat("the scheduler's ", found.status().message());
  if (!of_words.empty()) {
    const absl::StatusOr<const Accelerator*> other = FindAccelerator(of_words);
    if (!other.ok()) return "";  // of the words, which the plan says
    if (*other != *found) {
      return absl::StrCat("the words ask for ", (*other)->name, ", and the scheduler gives ",
                          (*found)->name);
    }
  }
  cluster->mutable_device()->set_accelerator(std::string((*found)->name));
  return "";
}

// Their servers.
std::string SetNodeType(const std::string& given, v1::ClusterSpec* cluster) {
  if (given.empty()) return "";
  const absl::StatusOr<const NodeType*> found = FindNodeType(given);
  if (!found.ok()) return absl::StrCat("the scheduler's ", found.status().message());
  if (!cluster->node_type().empty()) {
    const absl::StatusOr<const NodeType*> other = FindNodeType(cluster->node_type());
    if (!other.ok()) return "";  // of the words, which the plan says
    if (*other != *found) {
      return absl::StrCat("the words ask for servers of ", (*other)->name,
                          ", and the scheduler gives ", (*found)->name);
    }
  }
  cluster->set_node_type(std::string((*found)->name));
  return "";
}

std::string SetDevices(const v1::AdmitRequest& request, v1::ClusterSpec* cluster) {
  std::string doubt = SetDeviceCount(request, cluster);
  if (doubt.empty()) doubt = SetAccelerator(request.accelerator(), cluster);
  if (doubt.empty()) doubt = SetNodeType(request.node_type(), cluster);
  return doubt;
}

// The devices of one server; 0: not known.
int64_t DevicesPerNode(const v1::ClusterSpec& cluster) {
  if (!cluster.node_type().empty()) {
    const absl::StatusOr<const NodeType*> found = FindNodeType(cluster.node_type());
    return found.ok() ? (*found)->device_count : 0;
  }
  const v1::DeviceSelector& device = cluster.device();
  const absl::StatusOr<const Accelerator*> found =
      FindAccelerator(device.has_fleet() ? device.fleet().accelerator() : device.accelerator());
  const NodeType* const usual = found.ok() ? UsualNodeOf((*found)->name) : nullptr;
  return usual == nullptr ? 0 : usual->device_count;
}

v1::AdmitResponse::Verdict VerdictOf(v1::Verdict verdict) {
  switch (verdict) {
    case v1::VERDICT_FITS:
      return v1::AdmitResponse::VERDICT_FITS;
    case v1::VERDICT_TIGHT:
      return v1::AdmitResponse::VERDICT_TIGHT;
    case v1::VERDICT_DOES_NOT_FIT:
      return v1::AdmitResponse::VERDICT_DOES_NOT_FIT;
    default:
      return v1::AdmitResponse::VERDICT_UNKNOWN;
  }
}

// The message that the field at `path` is in, and null where that is not there.
const google::protobuf::Message* MessageOf(const google::protobuf::Message& message,
                                           absl::string_view path) {
  const size_t dot = path.find('.');
  if (dot == absl::string_view::npos) return &message;
  const auto* const field =
      message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  if (field == nullptr || !message.GetReflection()->HasField(message, field)) return nullptr;
  return MessageOf(message.GetReflection()->GetMessage(message, field), path.substr(dot + 1));
}

bool IsSet(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& f) {
  return f.is_repeated() ? message.GetReflection()->FieldSize(message, &f) > 0
                         : message.GetReflection()->HasField(message, &f);
}

// True for what a launcher takes; the others are assumptions about its time.
bool IsOfLayout(absl::string_view path) {
  return path == "cluster.device_count" || path == "training.recompute" ||
         (absl::StartsWith(path, "layout.") && !absl::StartsWith(path, "layout.software."));
}

// "SEXTANT_MICRO_BATCH_SIZE" of "micro-batch-size". Numbers and names of enums alone: no text of
// the user's gets into an environment.
void LayoutTo(const v1::PlanRunRequest& run, v1::AdmitResponse* response) {
  for (const words::NamedField& field : words::PlanFields()) {
    if (!field.described->admit() || !IsOfLayout(field.path)) continue;
    const auto* const message = MessageOf(run, field.path);
    if (message == nullptr || !IsSet(*message, *field.field)) continue;
    const std::string value = words::FieldText(*message, *field.field);
    if (value.empty()) continue;
    const std::string name =
        absl::AsciiStrToUpper(absl::StrReplaceAll(field.names.back(), {{"-", "_"}}));
    (*response->mutable_layout())[absl::StrCat("SEXTANT_", name)] = value;
  }
}

void TimeLimitTo(const v1::Plan& plan, v1::AdmitResponse* response) {
  const auto predicted = absl::c_find_if(plan.estimates(), [](const v1::TimeEstimate& estimate) {
    return estimate.kind() == v1::ESTIMATE_KIND_PREDICTED;
  });
  if (predicted == plan.estimates().end()) return;
  const double seconds = std::ceil(predicted->elapsed_seconds().high());
  if (!(seconds > 0 && seconds <= kMaxDurationSeconds)) return;
  response->mutable_time_limit()->set_seconds(static_cast<int64_t>(seconds));
}

// RFC 3986, 2.3: all but unreserved characters are percent-encoded.
std::string PercentEncoded(absl::string_view text) {
  constexpr absl::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (absl::ascii_isalnum(byte) || absl::StrContains("-._~", absl::string_view(&c, 1))) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

void PlanUrlTo(const v1::PlanRunRequest& run, v1::AdmitResponse* response) {
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(run, &json).ok()) return;
  std::string url = absl::StrCat(kPlanPath, PercentEncoded(json));
  if (url.size() <= kMaxUrlBytes) response->set_plan_url(std::move(url));
}

}  // namespace

absl::StatusOr<AdmitQuestion> AdmitQuestionFrom(const v1::AdmitRequest& request) {
  AdmitQuestion out;
  out.budget = BudgetOf(request);
  FieldViolations violations = CheckedFields(request, out.budget);
  violations.AddAll(ReadWords(request.words(), &out.run));
  if (!violations.empty()) return violations.ToStatus();
  if (absl::c_all_of(request.words(),
                     [](char c) { return absl::ascii_isspace(static_cast<unsigned char>(c)); })) {
    out.doubt = "nothing was asked: the words are empty";
    return out;
  }
  v1::ClusterSpec& cluster = *out.run.mutable_cluster();
  out.gives_accelerator = !request.accelerator().empty() && !cluster.device().has_accelerator();
  out.gives_node_type = !request.node_type().empty() && cluster.node_type().empty();
  out.doubt = SetDevices(request, &cluster);
  out.has_tokens = out.run.training().token_count() != 0;
  if (!out.has_tokens) out.run.mutable_training()->set_token_count(1);
  return out;
}

const char* SchedulerLabel(v1::AdmitCaller::Scheduler scheduler) {
  switch (scheduler) {
    case v1::AdmitCaller::SCHEDULER_SLURM:
      return "slurm";
    case v1::AdmitCaller::SCHEDULER_KUBERNETES:
      return "kubernetes";
    default:
      return "other";
  }
}

const char* AdmitLabel(v1::AdmitResponse::Verdict verdict) {
  switch (verdict) {
    case v1::AdmitResponse::VERDICT_FITS:
      return "fits";
    case v1::AdmitResponse::VERDICT_TIGHT:
      return "tight";
    case v1::AdmitResponse::VERDICT_DOES_NOT_FIT:
      return "does_not_fit";
    default:
      return "unknown";
  }
}

void UnknownTo(absl::string_view why, v1::AdmitResponse* response) {
  response->Clear();
  response->set_verdict(v1::AdmitResponse::VERDICT_UNKNOWN);
  response->set_message(words::OneLineOf(absl::StrCat("UNKNOWN: ", why)));
}

void AdmissionTo(const AdmitQuestion& question, const v1::Plan& plan, v1::AdmitResponse* response) {
  const std::string line =
      words::PlanLine(plan, {.devices_per_node = DevicesPerNode(question.run.cluster())});
  response->set_verdict(VerdictOf(plan.verdict()));
  response->set_message(line);
  if (response->verdict() == v1::AdmitResponse::VERDICT_UNKNOWN) {
    UnknownTo(absl::StrCat("no layout is given, so that activations are not counted: add --tp, "
                           "--pp or --gbs, and --sequence-length; ",
                           line),
              response);
  }
  response->set_change(words::CheapestChange(plan));
  v1::PlanRunRequest judged = question.run;
  if (plan.has_search()) {
    *judged.mutable_layout() = plan.search().chosen().layout();
    judged.mutable_training()->set_recompute(plan.search().chosen().recompute());
  }
  if (plan.memory().scope() == v1::MEMORY_SCOPE_LAYOUT) LayoutTo(judged, response);
  if (question.has_tokens) TimeLimitTo(plan, response);
  PlanUrlTo(question.run, response);
}

absl::Status RefusalTo(const AdmitQuestion& question, const absl::Status& status,
                       v1::AdmitResponse* response) {
  switch (status.code()) {
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kFailedPrecondition:
      UnknownTo(status.message(), response);
      return absl::OkStatus();
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      break;
    default:
      return status;
  }
  // The scheduler's devices are not the words' mistake.
  for (const FieldViolation& each : FieldViolationsOf(status)) {
    const bool is_schedulers =
        (question.gives_node_type && each.field == "cluster.node_type") ||
        (question.gives_accelerator && absl::StartsWith(each.field, "cluster.device."));
    if (!is_schedulers) continue;
    UnknownTo(absl::StrCat("the scheduler's ", each.field, ": ", each.description), response);
    return absl::OkStatus();
  }
  return InWords(status);
}

}  // namespace sextant::server
