#include "server/launcher/kubernetes_ask.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "proto/words/field_names.h"
#include "server/launcher/kubernetes_job.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Object = nlohmann::json;

// The limit of FleetDevices.hostnames.
constexpr size_t kMaxHostnames = 4096;

// The message that the field at `path` is in; null where that is not there.
Message* MessageOf(Message* message, absl::string_view path) {
  const size_t dot = path.find('.');
  if (dot == absl::string_view::npos) return message;
  const auto* const field =
      message->GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  const google::protobuf::Reflection& reflection = *message->GetReflection();
  if (field == nullptr || !reflection.HasField(*message, field)) return nullptr;
  return MessageOf(reflection.MutableMessage(message, field), path.substr(dot + 1));
}

// "--tp=8"; "" where the field is not set, or has no value in a word.
std::string WordOf(const words::NamedField& named, const Message& message) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  const FieldDescriptor& field = *named.field;
  const bool is_set = field.is_repeated() ? reflection.FieldSize(message, &field) > 0
                                          : reflection.HasField(message, &field);
  if (!is_set) return "";
  std::string value;
  if (field.is_repeated()) {
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_INT64)
      value = words::FieldText(message, field);
  } else if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    value = reflection.GetString(message, &field);
  } else {
    value = words::FieldText(message, field);
  }
  if (value.empty()) return "";
  return absl::StrCat(named.Word(), "='", absl::StrReplaceAll(value, {{"'", "'\\''"}}), "'");
}

// The first field that is set, with the messages that it is in; "" where none is.
std::string FirstField(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_repeated()) {
      return field->name();
    }
    const std::string below = FirstField(message.GetReflection()->GetMessage(message, field));
    if (!below.empty()) return absl::StrCat(field->name(), ".", below);
  }
  return "";
}

// The words of a PlanRunRequest, as the programs write it into a manifest.
//
// Errors: kInvalidArgument where it is none, or sets what words do not.
absl::StatusOr<std::string> WordsOfPlan(const std::string& json) {
  v1::PlanRunRequest run;
  if (!google::protobuf::util::JsonStringToMessage(json, &run).ok()) {
    return absl::InvalidArgumentError("is no PlanRunRequest in JSON");
  }
  run.clear_options();    // what an answer shows
  run.clear_economics();  // what it costs
  std::string out;
  for (const words::NamedField& field : words::PlanFields()) {
    Message* const message = field.described->admit() ? MessageOf(&run, field.path) : nullptr;
    const std::string word = message == nullptr ? "" : WordOf(field, *message);
    if (word.empty()) continue;
    message->GetReflection()->ClearField(message, field.field);
    absl::StrAppend(&out, out.empty() ? "" : " ", word);
  }
  const std::string rest = FirstField(run);
  if (rest.empty()) return out;
  return absl::InvalidArgumentError(absl::StrCat("has ", rest, ", which is not judged here"));
}

// The values of a slice's level, in either form that v1beta2 had. Source: kubernetes-sigs/kueue
// apis/kueue/v1beta2/workload_types.go and keps/2724-topology-aware-scheduling,
// TopologyAssignmentSliceLevelValues.
void AppendLevelValues(const Object& level, std::vector<std::string>& out) {
  const auto text = [](const Object& value) {
    return value.is_string() ? value.get<std::string>() : std::string();
  };
  for (const char* const of_all : {"universal", "universalValue"}) {
    if (level.contains(of_all)) return out.push_back(text(level[of_all]));
  }
  const Object& values = level.contains("individual") ? level["individual"] : level;
  const Object& roots = ValueAt(values, "roots");
  if (!roots.is_array()) return;
  for (const Object& root : roots) {
    out.push_back(
        absl::StrCat(text(ValueAt(values, "prefix")), text(root), text(ValueAt(values, "suffix"))));
  }
}

// The nodes of one assignment, by v1beta1's domains or v1beta2's slices; the lowest level names
// them.
void AppendNodes(const Object& assignment, std::vector<std::string>& out) {
  const Object& levels = ValueAt(assignment, "levels");
  if (!levels.is_array() || levels.empty() || levels.back() != "kubernetes.io/hostname") return;
  const Object& domains = ValueAt(assignment, "domains");
  for (const Object& domain : domains.is_array() ? domains : Object::array()) {
    const Object& values = ValueAt(domain, "values");
    if (values.is_array() && !values.empty() && values.back().is_string()) {
      out.push_back(values.back().get<std::string>());
    }
  }
  const Object& slices = ValueAt(assignment, "slices");
  for (const Object& slice : slices.is_array() ? slices : Object::array()) {
    const Object& values = ValueAt(slice, "valuesPerLevel");
    if (values.is_array() && !values.empty() && values.back().is_object()) {
      AppendLevelValues(values.back(), out);
    }
  }
}

// Each once; none where there are more than a fleet's rates are read of.
std::vector<std::string> NodesOf(const Object& object) {
  std::vector<std::string> out;
  const Object& assignments = ValueAt(object, "status.admission.podSetAssignments");
  if (!assignments.is_array()) return out;
  for (const Object& each : assignments) AppendNodes(ValueAt(each, "topologyAssignment"), out);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  if (out.size() > kMaxHostnames) out.clear();
  return out;
}

// Why the devices of the job are in doubt; empty: they are not.
std::string DoubtOf(const KubernetesJob& job, const Object& object) {
  if (!job.open.empty()) return absl::StrCat(job.open, ", and it is not guessed");
  std::string product;
  for (const PodGroup& group : job.groups) {
    if (group.devices_per_pod == 0 || group.pods == 0 || group.product.empty()) continue;
    if (!product.empty() && product != group.product) {
      return absl::StrCat("its pods ask for ", product, " and for ", group.product);
    }
    product = group.product;
  }
  if (ValueAt(object, "kind") == "TrainJob" && DevicesOfJob(job).count == 0) {
    return "the TrainJob has no spec.trainer.resourcesPerNode with GPUs: its runtime is not read";
  }
  return "";
}

}  // namespace

KubernetesAsk ReadKubernetesAsk(const Object& object) {
  KubernetesAsk out = {.mode = AnnotationOf(object, kModeAnnotation)};
  const KubernetesJob job = JobOf(object);
  if (job.groups.empty()) {
    out.doubt = absl::StrCat("no pods are found in it: it is not ", KindsOfJobs());
    return out;
  }
  const std::string plan = AnnotationOf(object, kPlanAnnotation);
  if (absl::StripAsciiWhitespace(plan).empty()) {
    out.doubt = absl::StrCat("it has no annotation ", kPlanAnnotation,
                             ": write the run's words there, as for sextant admit");
    return out;
  }
  out.doubt = DoubtOf(job, object);
  const JobDevices devices = DevicesOfJob(job);
  out.device_count = devices.count;
  out.accelerator = devices.product;
  out.hostnames = NodesOf(object);
  out.words = plan;
  if (absl::StartsWith(absl::StripLeadingAsciiWhitespace(plan), "{")) {
    absl::StatusOr<std::string> words = WordsOfPlan(plan);
    if (!words.ok()) {
      out.doubt = absl::StrCat("its ", kPlanAnnotation, " ", words.status().message());
    } else {
      out.words = *std::move(words);
    }
  }
  return out;
}

void AskTo(const KubernetesAsk& ask, v1::AdmitRequest* request) {
  if (request->words().empty()) request->set_words(ask.words);
  if (!request->has_device_count() && ask.device_count > 0) {
    request->set_device_count(ask.device_count);
  }
  if (request->accelerator().empty()) request->set_accelerator(ask.accelerator);
}

}  // namespace sextant::server
