// The flags of `sextant plan`: their names, and their words for fields.
#include "client/flags/plan_flags.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/flags/field_path.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::client {
namespace {

using google::protobuf::FieldDescriptor;

// "--kind" would not say of what.
std::string NameOf(const FieldDescriptor& field) {
  if (field.containing_type() == v1::FrameworkMemory::descriptor() && field.name() == "kind") {
    return "framework";
  }
  if (field.name() == "kind") return "optimizer";
  if (field.containing_type() == v1::SoftwareStack::descriptor() && field.name() == "name") {
    return "software_stack";
  }
  if (field.containing_type() == v1::NetworkSpec::descriptor()) {
    return field.name() == "name" ? "network" : absl::StrCat("network_", field.name());
  }
  // "--devices" is their number.
  if (field.containing_type() == v1::HostDevices::descriptor()) return "device_uuids";
  // "--accelerator" is a product by what is published of it.
  if (field.full_name() == "sextant.v1.FleetDevices.accelerator") return "fleet";
  if (field.containing_type() == v1::ModelChanges::Adapters::descriptor()) {
    return absl::StrCat("lora_", field.name());
  }
  return field.name();
}

TEST(PlanFlags, BearTheNamesOfTheirFields) {
  for (const FieldFlag& flag : PlanFlags()) {
    const FieldDescriptor* field = FindField(*v1::PlanRunRequest::descriptor(), flag.field);
    ASSERT_NE(field, nullptr) << flag.field;
    const std::string expect =
        absl::StrCat("--", absl::StrReplaceAll(NameOf(*field), {{"_", "-"}}));
    EXPECT_TRUE(
        absl::StrContains(absl::StrCat(",", flag.names, ","), absl::StrCat(",", expect, ",")))
        << flag.names << " lacks " << expect;
  }
}

TEST(FindField, KnowsNoOtherPaths) {
  const auto& type = *v1::PlanRunRequest::descriptor();
  EXPECT_EQ(FindField(type, "cluster.devise"), nullptr);
  EXPECT_EQ(FindField(type, "model.preset.name"), nullptr);
  EXPECT_EQ(FindField(type, ""), nullptr);
  v1::PlanRunRequest request;
  EXPECT_EQ(SetField("cluster.devise", "1", &request).code(), absl::StatusCode::kInternal);
}

TEST(PlanFieldWords, AreThoseOfTheCommandLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"model.preset", "--preset"},
      {"training.sequence_length", "--sequence-length"},
      {"training.encoder_sequence_length", "--encoder-sequence-length"},
      {"cluster.device_count", "--devices"},
      {"cluster.device.host_devices.devices[1]", "--device, entry 2"},
      {"cluster.device", "--accelerator"},
      {"layout.parallel.tensor_parallel_size", "--tp"},
      {"layout.parallel.layers_per_chunk[2]", "--layers-per-chunk, entry 3"},
      {"layout.framework.kind", "--framework"},
      {"layout.global_batch_size", "--gbs"},
      {"layout.parallel.virtual_stage_count", "--vpp"},
      {"layout.software", "--software"},
      {"layout.software.name", "--software"},
      {"layout.software.growth_per_doubling", "--growth-per-doubling"},
      {"training.recompute", "--recompute"},
      {"cluster.node_type", "--node-type"},
      {"cluster.network", "--network"},
      {"cluster.network.name", "--network"},
      {"cluster.network.bytes_per_second", "--network-bytes-per-second"},
      {"options.include_ledger", "--ledger"},
      {"options.include_operations", "--explain"},
      {"model.architecture.layer_kinds[0].name", "--architecture: layer_kinds[0].name"},
      {"model.transformer.layer_count", "--transformer: layer_count"},
      {"model.hugging_face_config.n_layer", "--config: n_layer"},
      {"layout", "layout"},
      {"layout.of_the_future", "layout.of_the_future"}};
  for (const auto& [field, words] : cases) EXPECT_EQ(PlanFieldWords(field), words);
}

TEST(PlanDescriptionWords, AreThoseOfTheCommandLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"must divide the 62 layers: write 2, or say how many go where in layers_per_chunk: such as",
       "must divide the 62 layers: write 2, or say how many go where in --layers-per-chunk: such "
       "as"},
      {"must be a multiple of micro_batch_size x the data parallel size (2 x 8), which 9 is not",
       "must be a multiple of --mbs x the data parallel size (2 x 8), which 9 is not"},
      {"give layout.global_batch_size to have fewer.", "give --gbs to have fewer."},
      {"(layout.sequence_parallel).", "(--sp)."},
      {"within the intervals of docs/memory.md", "within the intervals of docs/memory.md"},
      {"plan by cluster.device.accelerator, or cluster.device.calibrations",
       "plan by --accelerator, or --calibration"},
      {"as megatron_lm has them", "as megatron_lm has them"},
      {"is required for PIPELINE_SCHEDULE_GPIPE, which holds",
       "is required for gpipe, which holds"},
      {"must be LAYOUT_SEARCH_BOUNDED at most", "must be bounded at most"},
      {"is not of SOME_OTHER_ENUM", "is not of SOME_OTHER_ENUM"}};
  for (const auto& [text, words] : cases) EXPECT_EQ(PlanDescriptionWords(text), words);
}

}  // namespace
}  // namespace sextant::client
