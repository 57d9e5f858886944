// The flags of `sextant plan` are the fields of PlanRunRequest: all of them, by name.
#include "client/plan_flags.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/enum_names.h"
#include "client/field_path.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Whether a flag gives a message of `type` as one: a file of it, or text for all its fields.
bool IsOneValue(const Descriptor* type) {
  return type == nullptr || type == v1::TransformerSpec::descriptor() ||
         type == v1::Architecture::descriptor() || type == v1::Calibration::descriptor() ||
         type == google::protobuf::Duration::descriptor();
}

// Paths of the fields below `type` that hold a value.
void Collect(const Descriptor& type, const std::string& prefix, std::set<std::string>* paths) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string path = absl::StrCat(prefix, field.name());
    const Descriptor* message = field.message_type();
    if (IsOneValue(message)) {
      paths->insert(path);
    } else {
      Collect(*message, absl::StrCat(path, "."), paths);
    }
  }
}

TEST(PlanFlags, AreExactlyTheFieldsOfTheRequest) {
  std::set<std::string> fields;
  Collect(*v1::PlanRunRequest::descriptor(), "", &fields);
  std::set<std::string> flags;
  for (const PlanFlag& flag : PlanFlags()) {
    EXPECT_TRUE(flags.insert(flag.field).second) << flag.field << " has two flags";
  }
  EXPECT_EQ(flags, fields);
}

// "--kind" would not say of what.
std::string NameOf(const FieldDescriptor& field) {
  if (field.containing_type() == v1::FrameworkMemory::descriptor() && field.name() == "kind") {
    return "framework";
  }
  if (field.name() == "kind") return "optimizer";
  if (field.containing_type() == v1::ModelChanges::Adapters::descriptor()) {
    return absl::StrCat("lora_", field.name());
  }
  return field.name();
}

TEST(PlanFlags, BearTheNamesOfTheirFields) {
  for (const PlanFlag& flag : PlanFlags()) {
    const FieldDescriptor* field = FindField(*v1::PlanRunRequest::descriptor(), flag.field);
    ASSERT_NE(field, nullptr) << flag.field;
    const std::string expect =
        absl::StrCat("--", absl::StrReplaceAll(NameOf(*field), {{"_", "-"}}));
    EXPECT_TRUE(
        absl::StrContains(absl::StrCat(",", flag.names, ","), absl::StrCat(",", expect, ",")))
        << flag.names << " lacks " << expect;
  }
}

TEST(EnumNames, AreTheApisInKebabCase) {
  const std::vector<std::string> optimizers = {"sgd",  "sgd-momentum", "adagrad",   "rmsprop",
                                               "adam", "adamw",        "adafactor", "lion",
                                               "muon", "adam-8bit"};
  EXPECT_EQ(EnumNames(*v1::OptimizerSpec::Kind_descriptor()), optimizers);
  EXPECT_EQ(EnumNumber(*v1::OptimizerSpec::Kind_descriptor(), "SGD_Momentum"),
            v1::OptimizerSpec::KIND_SGD_MOMENTUM);
  EXPECT_EQ(EnumNumber(*v1::OptimizerSpec::Kind_descriptor(), "unspecified"), std::nullopt);
  EXPECT_EQ(DataTypeName(v1::DATA_TYPE_BF16), "bf16");
  EXPECT_EQ(DataTypeName(v1::DATA_TYPE_UNSPECIFIED), "");
}

// A newer server may send what this client has no name for.
TEST(EnumNames, ShowTheNumberOfWhatIsNotKnown) {
  EXPECT_EQ(DataTypeName(static_cast<v1::DataType>(4242)), "4242");
}

TEST(FindField, KnowsNoOtherPaths) {
  const Descriptor& type = *v1::PlanRunRequest::descriptor();
  EXPECT_EQ(FindField(type, "cluster.device"), nullptr);
  EXPECT_EQ(FindField(type, "model.preset.name"), nullptr);
  EXPECT_EQ(FindField(type, ""), nullptr);
  v1::PlanRunRequest request;
  EXPECT_EQ(SetField("cluster.device", "1", &request).code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sextant
