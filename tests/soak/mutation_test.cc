// The search for the most expensive request leaves no field out: changes set each field of each
// message, and go into the messages that are set.
#include "tests/soak/mutation.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <vector>

#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The types of `type` and of all messages in it.
void AddTypes(const Descriptor& type, std::set<const Descriptor*>& out) {
  if (!out.insert(&type).second) return;
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->message_type() != nullptr) AddTypes(*type.field(i)->message_type(), out);
  }
}

// The fields of `type` that random changes of an empty message set.
std::set<const FieldDescriptor*> FieldsSet(const Descriptor& type) {
  const FieldValues none;
  std::mt19937 random(1);
  Mutation mutation(random, none);
  const std::unique_ptr<Message> message(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&type)->New());
  std::set<const FieldDescriptor*> out;
  std::vector<const FieldDescriptor*> set;
  for (int i = 0; i < 200 * type.field_count(); ++i) {
    if (i % 20 == 0) message->Clear();
    mutation.Apply(message.get());
    message->GetReflection()->ListFields(*message, &set);
    out.insert(set.begin(), set.end());
  }
  return out;
}

TEST(Mutation, SetsEveryFieldOfEveryMessage) {
  std::set<const Descriptor*> types;
  AddTypes(*v1::SizeClusterRequest::descriptor(), types);
  ASSERT_TRUE(types.contains(v1::RunLayout::descriptor()));
  for (const Descriptor* const type : types) {
    const std::set<const FieldDescriptor*> set = FieldsSet(*type);
    for (int i = 0; i < type->field_count(); ++i) {
      EXPECT_TRUE(set.contains(type->field(i))) << type->field(i)->full_name();
    }
  }
}

TEST(FieldValues, HasValuesOfOtherRequests) {
  FieldValues values;
  v1::PlanRunRequest plan;
  plan.mutable_model()->set_preset("gpt2");
  plan.mutable_layout()->add_batch_ramp()->set_token_count(7);
  plan.mutable_layout()->add_batch_ramp()->set_token_count(8);
  values.Learn(plan);
  values.Learn(plan);
  const auto* const ramp = v1::RunLayout::descriptor()->FindFieldByName("batch_ramp");
  ASSERT_EQ(values.CountOf(ramp), 2);
  v1::RunLayout layout;
  values.Give(ramp, 1, &layout);
  values.Give(ramp, 0, &layout);
  ASSERT_EQ(layout.batch_ramp_size(), 2);
  EXPECT_EQ(layout.batch_ramp(0).token_count(), 8);
  EXPECT_EQ(layout.batch_ramp(1).token_count(), 7);
  EXPECT_EQ(values.CountOf(v1::RunLayout::descriptor()->FindFieldByName("parallel")), 0);
}

TEST(FieldValues, LearnsFromTheGoldenRequests) {
  const FieldValues values = ValuesOfGoldenRequests();
  for (const char* name : {"batch_ramp", "parallel", "schedule", "global_batch_size"}) {
    EXPECT_GT(values.CountOf(v1::RunLayout::descriptor()->FindFieldByName(name)), 0) << name;
  }
}

}  // namespace
}  // namespace sextant::server
