// The limits of the numbers of requests. Options of fields state them, and state those that
// tests/golden/request_limits.csv has published; check::NumberLimits enforces them; the engine's
// own checks of a plan agree.
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "engine/framework/software_stack.h"
#include "engine/run/plan.h"
#include "server/convert/message_fields.h"
#include "server/convert/run_spec.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/field_options.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "sextant/v1/telemetry_service.pb.h"
#include "tests/golden/golden_files.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/csv.h"

namespace sextant::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;

struct NumberRange {
  double low = 0;
  bool above_low = false;
  double high = 0;
  bool has_high = false;
  bool required = false;
};

// By the field's name with its message: "TrainingSpec.token_count".
const std::map<std::string, NumberRange>& Published() {
  static const auto* const limits = [] {
    auto* out = new std::map<std::string, NumberRange>;
    for (CsvRow& row : GoldenRows("request_limits.csv")) {
      NumberRange& each = (*out)[row["field"]];
      absl::string_view low = row["low"];
      each.above_low = absl::ConsumePrefix(&low, "above ");
      EXPECT_TRUE(absl::SimpleAtod(low, &each.low)) << row["field"];
      each.has_high = absl::SimpleAtod(row["high"], &each.high);
      each.required = row["required"] == "required";
    }
    return out;
  }();
  return *limits;
}

std::string NameOf(const FieldDescriptor& field) {
  return std::string(absl::StripPrefix(field.full_name(), "sextant.v1."));
}

// The published limits of `field`, or of a newer one those of its option.
NumberRange LimitsOf(const FieldDescriptor& field) {
  const auto published = Published().find(NameOf(field));
  if (published != Published().end()) return published->second;
  const v1::FieldDescription& facts = field.options().GetExtension(v1::field);
  return {.low = facts.min(),
          .above_low = facts.above_min(),
          .high = facts.max(),
          .has_high = facts.has_max(),
          .required = facts.required()};
}

bool IsGooglesOwn(const Descriptor& type) { return absl::StartsWith(type.full_name(), "google."); }

// The number fields of `type` and below that have limits, each by the fields that lead there.
using Path = std::vector<const FieldDescriptor*>;
void AddNumbers(const Descriptor& type, const Path& above, std::vector<Path>* out) {
  for (int i = 0; i < type.field_count(); ++i) {
    Path path = above;
    path.push_back(type.field(i));
    if (const Descriptor* const below = type.field(i)->message_type()) {
      if (!IsGooglesOwn(*below)) AddNumbers(*below, path, out);
    } else if (type.field(i)->options().GetExtension(v1::field).has_min()) {
      out->push_back(std::move(path));
    }
  }
}

// "layout.batch_ramp[0].token_count"
std::string TextOf(const Path& path) {
  std::string out;
  for (const FieldDescriptor* field : path) {
    absl::StrAppend(&out, out.empty() ? "" : ".", field->name(), field->is_repeated() ? "[0]" : "");
  }
  return out;
}

// The message that holds the last field of `path`, made where it is absent.
Message* HolderOf(const Path& path, Message* message) {
  for (size_t i = 0; i + 1 < path.size(); ++i) {
    const google::protobuf::Reflection& reflection = *message->GetReflection();
    if (!path[i]->is_repeated()) {
      message = reflection.MutableMessage(message, path[i]);
    } else if (reflection.FieldSize(*message, path[i]) == 0) {
      message = reflection.AddMessage(message, path[i]);
    } else {
      message = reflection.MutableRepeatedMessage(message, path[i], 0);
    }
  }
  return message;
}

void Set(const Path& path, double value, Message* request) {
  Message* const holder = HolderOf(path, request);
  const google::protobuf::Reflection& reflection = *holder->GetReflection();
  if (path.back()->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
    reflection.SetDouble(holder, path.back(), value);
  } else {
    reflection.SetInt64(holder, path.back(), static_cast<int64_t>(value));
  }
}

using Faults = std::vector<std::pair<std::string, std::string>>;

// The violations of `message`'s numbers whose field is `field`.
Faults FaultsOfMessage(const Message& message, const std::string& field) {
  FieldViolations violations;
  CheckNumbers(check::NumberLimits(*message.GetDescriptor()), message, "", violations);
  Faults out;
  for (const FieldViolation& each : violations.all()) {
    if (each.field == field) out.emplace_back(each.field, each.description);
  }
  return out;
}

bool IsReal(const Path& path) { return path.back()->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE; }

// Values that limits refuse.
std::vector<double> BadValues(const Path& path, const NumberRange& limits) {
  const double next = IsReal(path) ? 1e-9 : 1;
  std::vector<double> out = {limits.low - std::max(next, std::abs(limits.low) * 1e-9)};
  if (limits.has_high) out.push_back(limits.high * (1 + 1e-9) + next);
  if (limits.above_low && path.back()->has_presence()) out.push_back(limits.low);
  if (IsReal(path)) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    out.insert(out.end(), {std::nan(""), kInfinity, -kInfinity});
  }
  // Without presence 0 is a missing number.
  if (!path.back()->has_presence() && out[0] == 0) out.erase(out.begin());
  return out;
}

std::vector<Path> NumbersOf(const std::vector<const Descriptor*>& types) {
  std::vector<Path> out;
  for (const Descriptor* type : types) AddNumbers(*type, {}, &out);
  return out;
}

std::vector<Path> PlanNumbers() { return NumbersOf({v1::PlanRunRequest::descriptor()}); }

TEST(RequestLimits, AreThePublishedOnes) {
  for (const auto& [name, limits] : Published()) {
    const FieldDescriptor* const field =
        google::protobuf::DescriptorPool::generated_pool()->FindFieldByName("sextant.v1." + name);
    ASSERT_NE(field, nullptr) << name;
    const v1::FieldDescription& facts = field->options().GetExtension(v1::field);
    EXPECT_EQ(facts.min(), limits.low) << name;
    EXPECT_EQ(facts.above_min(), limits.above_low) << name;
    EXPECT_EQ(facts.has_max(), limits.has_high) << name;
    EXPECT_EQ(facts.max(), limits.high) << name;
    EXPECT_EQ(facts.required(), limits.required) << name;
  }
}

// `above` are the messages that lead to `type`.
void ExpectNoneHoldsItself(const Descriptor& type, std::set<const Descriptor*>* above) {
  ASSERT_TRUE(above->insert(&type).second) << type.full_name();
  for (int i = 0; i < type.field_count(); ++i) {
    const Descriptor* const below = type.field(i)->message_type();
    if (below == nullptr || IsGooglesOwn(*below)) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectNoneHoldsItself(*below, above)) << type.field(i)->full_name();
  }
  above->erase(&type);
}

// NumberLimits would look into such a message without end.
TEST(RequestLimits, AreOfMessagesThatDoNotHoldThemselves) {
  int count = 0;
  for (const Descriptor* any :
       {v1::CountModelRequest::descriptor(), v1::PlanRunRequest::descriptor(),
        v1::ReportProgressRequest::descriptor()}) {
    const google::protobuf::FileDescriptor& file = *any->file();
    for (int i = 0; i < file.service_count(); ++i) {
      for (int j = 0; j < file.service(i)->method_count(); ++j, ++count) {
        std::set<const Descriptor*> above;
        ExpectNoneHoldsItself(*file.service(i)->method(j)->input_type(), &above);
      }
    }
  }
  EXPECT_GE(count, 15);
}

// Every message with limits, by itself.
TEST(RequestLimits, AreEnforced) {
  const std::vector<Path> numbers =
      NumbersOf({v1::PlanRunRequest::descriptor(), v1::CountModelRequest::descriptor(),
                 v1::AllocateComputeRequest::descriptor(), v1::SizeClusterRequest::descriptor(),
                 v1::SizeModelRequest::descriptor()});
  EXPECT_GT(numbers.size(), 250U);
  for (const Path& path : numbers) {
    const std::string field = TextOf(path);
    SCOPED_TRACE(field);
    const NumberRange limits = LimitsOf(*path.back());
    const std::unique_ptr<Message> request(google::protobuf::MessageFactory::generated_factory()
                                               ->GetPrototype(path.front()->containing_type())
                                               ->New());
    for (const double bad : BadValues(path, limits)) {
      Set(path, bad, request.get());
      EXPECT_THAT(FaultsOfMessage(*request, field),
                  ElementsAre(Pair(field, StartsWith("must be "))))
          << bad;
    }
    std::vector<double> good = {limits.has_high ? limits.high : 1e18};
    if (!limits.above_low) good.push_back(limits.low);
    for (const double each : good) {
      Set(path, each, request.get());
      EXPECT_THAT(FaultsOfMessage(*request, field), IsEmpty()) << each;
    }
    Set(path, 0, request.get());
    const bool is_missing = limits.required && !IsReal(path);
    if (is_missing) {
      EXPECT_THAT(FaultsOfMessage(*request, field),
                  ElementsAre(Pair(field, StartsWith("is required"))));
    }
    HolderOf(path, request.get())
        ->GetReflection()
        ->ClearField(HolderOf(path, request.get()), path.back());
    EXPECT_EQ(FaultsOfMessage(*request, field).empty(), !limits.required);
  }
}

TEST(RequestLimits, SayWhatToWrite) {
  v1::PlanRunRequest request;  // without `training`, which is required
  request.mutable_cluster()->set_device_memory_bytes(80);
  request.mutable_economics()->set_device_power_watts(0);
  request.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(0);
  request.mutable_layout()->set_micro_batch_size(-1);
  FieldViolations violations;
  CheckPlanNumbers(request, violations);
  EXPECT_THAT(
      violations.all(),
      ElementsAre(
          FieldViolation{"training.token_count", "is required: write 1 to 1000000000000000000"},
          FieldViolation{"cluster.device_count", "is required: write 1 to 1000000"},
          FieldViolation{
              "cluster.device_memory_bytes",
              "must be 1073741824 to 10000000000000, not 80: write bytes, 1 GiB or more"},
          FieldViolation{"economics.device_power_watts",
                         "must be a number above 0 to 1e+06, not 0"},
          FieldViolation{"layout.parallel.tensor_parallel_size",
                         "must be at least 1, or left out for its default"},
          FieldViolation{"layout.micro_batch_size", "must be 1 to 1000000000, not -1"}));
}

// In large micro-batches: the largest batch has as many as a step may have.
v1::PlanRunRequest Planned() {
  v1::PlanRunRequest out;
  out.mutable_model()->set_preset("llama-3.1-8b");
  out.mutable_training()->set_token_count(1'000'000'000);
  out.mutable_training()->set_sequence_length(4096);
  out.mutable_cluster()->mutable_device()->set_accelerator("h100-sxm");
  out.mutable_cluster()->set_device_count(8);
  out.mutable_layout()->set_global_batch_size(1024);
  out.mutable_layout()->set_micro_batch_size(128);
  out.mutable_options()->set_search(v1::LAYOUT_SEARCH_NONE);
  return out;
}

// All that a plan of `request` is refused for.
Faults PlanFaults(const v1::PlanRunRequest& request) {
  FieldViolations violations;
  SuppliedCalibrations supplied;
  CheckPlanNumbers(request, violations);
  const RunSpec run = RunSpecFrom(request, FinderOf(supplied), violations);
  Faults out;
  for (const FieldViolation& each :
       FieldViolationsOf(PlanRun(run, std::move(violations)).status())) {
    out.emplace_back(each.field, each.description);
  }
  return out;
}

// True where a violation says that a number is out of a range, whatever other fields say.
bool IsOfARange(const std::string& description) {
  static const std::regex range(
      "must be (a number (from|above) )?[-0-9.e+]+ to [-0-9.e+]+, not [-a-z0-9.e+]+(: write "
      "bytes(, 1 GiB or more)?)?"
      "|must be at least [0-9]+, or left out for its default|is required: write .*");
  return std::regex_match(description, range);
}

// The engine checks some fields by itself, such as those that a search varies. It refuses nothing
// that the API allows, and a number out of range is reported once.
TEST(RequestLimits, AgreeWithTheEngines) {
  ASSERT_THAT(PlanFaults(Planned()), IsEmpty());
  for (const Path& path : PlanNumbers()) {
    const std::string field = TextOf(path);
    SCOPED_TRACE(field);
    const NumberRange limits = LimitsOf(*path.back());
    const auto count = [&](double value) {
      v1::PlanRunRequest request = Planned();
      Set(path, value, &request);
      const Faults faults = PlanFaults(request);
      return std::count_if(faults.begin(), faults.end(), [&](const auto& each) {
        return each.first == field && IsOfARange(each.second);
      });
    };
    if (!limits.above_low) {
      EXPECT_EQ(count(limits.low), 0) << limits.low;
    }
    EXPECT_EQ(count(limits.high), 0) << limits.high;
    for (const double bad : BadValues(path, limits)) EXPECT_EQ(count(bad), 1) << bad;
  }
}

// A request may give what a stack's constants are by measurement.
TEST(RequestLimits, HoldTheConstantsOfSoftwareStacks) {
  for (const SoftwareStack& stack : SoftwareStacks()) {
    for (size_t i = 0; i < kStackConstantCount; ++i) {
      const auto constant = static_cast<StackConstant>(i);
      const StackValue& value = stack.of(constant);
      const auto limits =
          Published().find(absl::StrCat("SoftwareStack.", StackConstantName(constant)));
      if (value.source.empty() || limits == Published().end()) continue;
      for (const double each : {value.before_hopper, value.hopper, value.blackwell}) {
        EXPECT_GE(each, limits->second.low) << stack.name << " " << StackConstantName(constant);
        EXPECT_LE(each, limits->second.high) << stack.name << " " << StackConstantName(constant);
      }
    }
  }
}

}  // namespace
}  // namespace sextant::server
