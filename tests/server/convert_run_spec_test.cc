#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/convert/enums.h"
#include "server/convert/run_spec.h"
#include "tests/server/device_finder.h"
#include "tests/server/message_matchers.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_values.h"
#include "tests/support/field_names.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

// Every field has a different value, so that a dropped or swapped one is detected. Calibrations are
// read anew for each request.
RunSpec ReadRun(const v1::PlanRunRequest& request, FieldViolations& violations) {
  SuppliedCalibrations supplied;
  return RunSpecFrom(request, FinderOf(supplied), violations);
}

TEST(RunSpecFrom, CarriesEveryField) {
  v1::PlanRunRequest request = MessageOf<v1::PlanRunRequest>(R"({
    "model": {"preset": "p", "parameter_count": 1, "transformer": {
      "layer_count": 2, "hidden_size": 3, "feed_forward_size": 4, "attention_head_count": 5,
      "key_value_head_count": 6, "head_size": 7, "vocabulary_size": 8, "tied_embeddings": true,
      "learned_position_count": 9, "feed_forward_kind": "FEED_FORWARD_KIND_PLAIN",
      "norm_kind": "NORM_KIND_RMS_NORM", "norms_per_layer": 1, "final_norm": false,
      "query_key_norm": "QUERY_KEY_NORM_ALL_HEADS", "query_key_value_bias": true,
      "attention_output_bias": true, "feed_forward_bias": true, "output_head_bias": true,
      "embedding_size": 10}, "architecture": {"hidden_size": 25},
      "changes": {"vocabulary_multiple": 26, "base_frozen": true, "frozen_layer_count": 27,
        "frozen_components": ["norm", "router"],
        "adapters": {"rank": 28, "targets": ["attention.query", "output_head"]}}},
    "training": {"token_count": 11, "activation_bytes": 12, "sequence_length": 23,
      "encoder_sequence_length": 24, "recompute": "RECOMPUTE_POLICY_SELECTIVE",
      "precision": {"compute_data_type": "DATA_TYPE_FP8", "weight_data_type": "DATA_TYPE_FP16",
        "gradient_data_type": "DATA_TYPE_FP32", "master_weights": false,
        "optimizer_data_type": "DATA_TYPE_BF16"}, "optimizer": {"kind": "KIND_ADAFACTOR",
        "adafactor_momentum": true, "quantization_block_size": 13}},
    "cluster": {"device": {"accelerator": "a"}, "device_count": 14, "peak_flops_per_second": 15,
      "device_memory_bytes": 16, "reserved_memory_bytes": 17, "node_type": "n",
      "network": {"name": "w", "bytes_per_second": 33}, "host_link_bytes_per_second": 34,
      "host_memory_bytes_per_second": 35},
    "economics": {"device_hour_price_usd": 18, "device_power_watts": 19,
      "host_power_watts_per_device": 20, "power_usage_effectiveness": 21, "budget_usd": 34,
      "start_time": "2027-01-01T00:00:00.5Z", "deadline": "2027-01-02T00:00:01.25Z"},
    "interruptions": {"failures_per_device_hour": 35, "restart_duration": "36.5s",
      "checkpoint_write_bytes_per_second": 37, "device_write_bytes_per_second": 38,
      "checkpoint_read_bytes_per_second": 39, "checkpoint_stall_ratio": 40,
      "checkpoint_interval": "41s", "stall_ratio": 42},
    "layout": {"micro_batch_size": 29},
    "measured_step": {"seconds": 2.5, "layout": {"micro_batch_size": 30}, "device_count": 31,
      "sequence_length": 32, "recompute": "RECOMPUTE_POLICY_FULL"},
    "options": {"view": "PLAN_VIEW_FULL", "fits_chance": 0.95, "does_not_fit_chance": 0.05,
      "require_activations": true, "search": "LAYOUT_SEARCH_NONE", "tensor_across_nodes": true,
      "assumed_mfu": 0.22, "include_derivation": true, "include_ledger": true,
      "include_operations": true, "search_kernels": true,
      "flops_convention": "FLOPS_CONVENTION_SIX_N_NON_EMBEDDING"},
     "rate_requirement": {"minimum_source": "RATE_SOURCE_MEASURED_DEVICE",
       "maximum_age": "90.5s"}})");
  request.mutable_model()->set_hugging_face_config(
      R"({"model_type": "gptj", "n_layer": 2, "n_embd": 8, "n_head": 2, "vocab_size": 10,
          "rotary": true})");
  // Detects a field that is added to the API but not to the conversion or to the test.
  // Layouts and architectures have tests of their own; a device is selected in one way.
  v1::PlanRunRequest shallow = request;
  shallow.clear_layout();
  shallow.mutable_measured_step()->clear_layout();
  shallow.mutable_model()->clear_architecture();
  EXPECT_THAT(UnsetFields(shallow),
              UnorderedElementsAre(
                  "sextant.v1.DeviceSelector.calibrations", "sextant.v1.DeviceSelector.fleet",
                  "sextant.v1.DeviceSelector.host_devices", "sextant.v1.MeasuredStep.layout",
                  "sextant.v1.ModelSpec.architecture", "sextant.v1.PlanRunRequest.layout"));
  FieldViolations violations;
  const RunSpec run = ReadRun(request, violations);
  EXPECT_TRUE(violations.empty());

  EXPECT_EQ(run.model.preset, "p");
  EXPECT_EQ(run.model.parameter_count, 1);
  ASSERT_TRUE(run.model.hugging_face_config.has_value());
  EXPECT_EQ(run.model.hugging_face_config->model_type, "gptj");
  EXPECT_EQ(run.model.hugging_face_config->architecture.hidden_size, 8);
  EXPECT_THAT(run.model.hugging_face_config->ignored_fields, ::testing::ElementsAre("rotary"));
  ASSERT_TRUE(run.model.architecture.has_value());
  EXPECT_EQ(run.model.architecture->hidden_size, 25);  // more of it: convert_architecture_test.cc
  const ModelChanges& changes = run.model.changes;
  EXPECT_EQ(changes.vocabulary_multiple, 26);
  EXPECT_TRUE(changes.base_frozen);
  EXPECT_EQ(changes.frozen_layer_count, 27);
  EXPECT_EQ(changes.frozen_components,
            (std::vector{WeightComponent::kNorm, WeightComponent::kRouter}));
  ASSERT_TRUE(changes.adapters.has_value());
  EXPECT_EQ(changes.adapters->rank, 28);
  ASSERT_EQ(changes.adapters->targets.size(), 2u);
  EXPECT_EQ(changes.adapters->targets[0].module, "attention");
  EXPECT_EQ(changes.adapters->targets[0].name, "query");
  EXPECT_EQ(changes.adapters->targets[1].module, "output_head");
  EXPECT_EQ(changes.adapters->targets[1].name, "");
  ASSERT_TRUE(run.model.transformer.has_value());
  const TransformerSpec& t = *run.model.transformer;
  EXPECT_EQ(t.layer_count, 2);
  EXPECT_EQ(t.hidden_size, 3);
  EXPECT_EQ(t.feed_forward_size, 4);
  EXPECT_EQ(t.attention_head_count, 5);
  EXPECT_EQ(t.key_value_head_count, 6);
  EXPECT_EQ(t.head_size, 7);
  EXPECT_EQ(t.vocabulary_size, 8);
  EXPECT_TRUE(t.tied_embeddings);
  EXPECT_EQ(t.learned_position_count, 9);
  EXPECT_EQ(t.feed_forward_kind, FeedForwardKind::kPlain);
  EXPECT_EQ(t.norm_kind, NormKind::kRmsNorm);
  EXPECT_EQ(t.norms_per_layer, 1);
  EXPECT_FALSE(t.final_norm);
  EXPECT_EQ(t.query_key_norm, QueryKeyNorm::kAllHeads);
  EXPECT_TRUE(t.query_key_value_bias && t.attention_output_bias && t.feed_forward_bias &&
              t.output_head_bias);
  EXPECT_EQ(t.embedding_size, 10);

  EXPECT_EQ(run.training.token_count, 11);
  EXPECT_EQ(run.training.activation_bytes, 12);
  EXPECT_EQ(run.training.sequence_length, 23);
  EXPECT_EQ(run.training.encoder_sequence_length, 24);
  EXPECT_EQ(run.training.recompute, RecomputePolicy::kSelective);
  EXPECT_EQ(run.training.precision.compute_data_type, DataType::kFp8);
  EXPECT_EQ(run.training.precision.weight_data_type, DataType::kFp16);
  EXPECT_EQ(run.training.precision.gradient_data_type, DataType::kFp32);
  EXPECT_EQ(run.training.precision.master_weights, false);
  EXPECT_EQ(run.training.precision.optimizer_data_type, DataType::kBf16);
  EXPECT_EQ(run.training.optimizer.kind, OptimizerKind::kAdafactor);
  EXPECT_TRUE(run.training.optimizer.adafactor_momentum);
  EXPECT_EQ(run.training.optimizer.quantization_block_size, 13);

  EXPECT_EQ(run.cluster.device.accelerator, "a");
  EXPECT_EQ(run.cluster.device_count, 14);
  EXPECT_EQ(run.cluster.peak_flops_per_second, 15);
  EXPECT_EQ(run.cluster.device_memory_bytes, 16);
  EXPECT_EQ(run.cluster.reserved_memory_bytes, 17);
  EXPECT_EQ(run.cluster.node_type, "n");
  EXPECT_EQ(run.cluster.network.name, "w");
  EXPECT_EQ(run.cluster.network.bytes_per_second, 33);
  EXPECT_EQ(run.cluster.host_link_bytes_per_second, 34);
  EXPECT_EQ(run.cluster.host_memory_bytes_per_second, 35);
  EXPECT_EQ(run.economics.device_hour_price_usd, 18);
  EXPECT_EQ(run.economics.device_power_watts, 19);
  EXPECT_EQ(run.economics.host_power_watts_per_device, 20);
  EXPECT_EQ(run.economics.power_usage_effectiveness, 21);
  EXPECT_EQ(run.economics.budget_usd, 34);
  EXPECT_EQ(run.economics.seconds_to_deadline, 86'400.75);
  EXPECT_EQ(run.interruptions.failures_per_device_hour, 35);
  EXPECT_EQ(run.interruptions.restart_seconds, 36.5);
  EXPECT_EQ(run.interruptions.checkpoint_write_bytes_per_second, 37);
  EXPECT_EQ(run.interruptions.device_write_bytes_per_second, 38);
  EXPECT_EQ(run.interruptions.checkpoint_read_bytes_per_second, 39);
  EXPECT_EQ(run.interruptions.checkpoint_stall_ratio, 40);
  EXPECT_EQ(run.interruptions.checkpoint_interval_seconds, 41);
  EXPECT_EQ(run.interruptions.stall_ratio, 42);
  EXPECT_EQ(run.options.assumed_mfu, 0.22);
  EXPECT_EQ(run.options.flops_convention, FlopsConvention::kSixNNonEmbedding);
  EXPECT_TRUE(run.options.full);
  EXPECT_TRUE(run.options.include_derivation);
  EXPECT_EQ(run.options.thresholds.fits, 0.95);
  EXPECT_EQ(run.options.thresholds.does_not_fit, 0.05);
  EXPECT_TRUE(run.options.require_activations);
  EXPECT_TRUE(run.options.include_ledger);
  EXPECT_TRUE(run.options.include_operations);
  EXPECT_TRUE(run.options.tensor_across_nodes && run.options.search_kernels);
  ASSERT_TRUE(run.layout.has_value());
  EXPECT_EQ(run.layout->micro_batch_size, 29);  // more of it: convert_run_layout_test.cc
  ASSERT_TRUE(run.measured_step.has_value());
  EXPECT_EQ(run.measured_step->seconds, 2.5);
  EXPECT_EQ(run.measured_step->layout.micro_batch_size, 30);
  EXPECT_EQ(run.measured_step->device_count, 31);
  EXPECT_EQ(run.measured_step->sequence_length, 32);
  EXPECT_EQ(run.measured_step->recompute, RecomputePolicy::kFull);
  EXPECT_EQ(run.rate_requirement.minimum_source, RateSource::kMeasuredDevice);
  EXPECT_EQ(run.rate_requirement.maximum_age_seconds, 90.5);
}

TEST(RunSpecFrom, RefusesTimesThatAreNone) {
  const auto fields_of = [](const std::string& text) {
    FieldViolations violations;
    ReadRun(MessageOf<v1::PlanRunRequest>(text), violations);
    return FieldsOf(violations);
  };
  // No answer depends on a clock.
  EXPECT_THAT(fields_of(R"({"economics": {"deadline": "2027-01-01T00:00:00Z"}})"),
              ElementsAre("economics.start_time"));
  v1::PlanRunRequest request;
  request.mutable_economics()->mutable_start_time()->set_nanos(-1);
  request.mutable_interruptions()->mutable_restart_duration()->set_nanos(-1);
  request.mutable_interruptions()->mutable_checkpoint_interval()->set_nanos(1'000'000'000);
  FieldViolations violations;
  ReadRun(request, violations);
  EXPECT_THAT(FieldsOf(violations),
              UnorderedElementsAre("economics.start_time", "interruptions.restart_duration",
                                   "interruptions.checkpoint_interval"));
  request = {};
  request.mutable_economics()->mutable_start_time()->set_seconds(0);
  request.mutable_economics()->mutable_deadline()->set_seconds(int64_t{1} << 62);
  FieldViolations late;
  ReadRun(request, late);
  EXPECT_THAT(FieldsOf(late), ElementsAre("economics.deadline"));
}

TEST(RunSpecFrom, AnEmptyRequestStandsForDefaults) {
  FieldViolations violations;
  const RunSpec run = ReadRun(v1::PlanRunRequest(), violations);
  EXPECT_TRUE(violations.empty());  // missing fields are reported by the engine
  EXPECT_FALSE(run.model.transformer.has_value());
  EXPECT_FALSE(run.model.parameter_count.has_value());
  EXPECT_EQ(run.training.optimizer.kind, OptimizerKind::kAdamw);
  EXPECT_FALSE(run.training.precision.master_weights.has_value());
  EXPECT_FALSE(run.options.assumed_mfu.has_value());
  EXPECT_FALSE(run.options.include_ledger);
  EXPECT_FALSE(run.options.include_operations);
  EXPECT_FALSE(run.layout.has_value());
}

TEST(RunSpecFrom, TellsAnExplicitZeroFromADefault) {
  FieldViolations violations;
  ReadRun(MessageOf<v1::PlanRunRequest>(
              R"({"model": {"transformer": {"key_value_head_count": 0, "head_size": 0,
                            "embedding_size": 0}}})"),
          violations);
  EXPECT_THAT(FieldsOf(violations), UnorderedElementsAre("model.transformer.key_value_head_count",
                                                         "model.transformer.head_size",
                                                         "model.transformer.embedding_size"));
}

TEST(RunSpecFrom, NamesEnumNumbersThatItDoesNotKnow) {
  FieldViolations violations;
  ReadRun(MessageOf<v1::PlanRunRequest>(
              R"({"model": {"transformer": {"feed_forward_kind": 99, "norm_kind": -1,
                              "query_key_norm": 7}},
                            "training": {"precision": {"compute_data_type": 99},
                                         "optimizer": {"kind": 99}},
                            "options": {"flops_convention": 99},
                            "rate_requirement": {"minimum_source": 9}})"),
          violations);
  EXPECT_THAT(
      FieldsOf(violations),
      UnorderedElementsAre("model.transformer.feed_forward_kind", "model.transformer.norm_kind",
                           "model.transformer.query_key_norm",
                           "training.precision.compute_data_type", "training.optimizer.kind",
                           "options.flops_convention", "rate_requirement.minimum_source"));
}

TEST(RunSpecFrom, RefusesDurationsThatAreNone) {
  v1::PlanRunRequest request;
  for (const int nanos : {-1, 1'000'000'000}) {
    request.mutable_rate_requirement()->mutable_maximum_age()->set_nanos(nanos);
    FieldViolations violations;
    ReadRun(request, violations);
    EXPECT_THAT(FieldsOf(violations), ElementsAre("rate_requirement.maximum_age")) << nanos;
  }
}

TEST(RunSpecFrom, RefusesMoreCalibrationsThanItReads) {
  v1::PlanRunRequest request;
  for (int i = 0; i < 65; ++i) SuppliedTo(request).Add();
  FieldViolations violations;
  EXPECT_THAT(ReadRun(request, violations).cluster.device.calibrations, IsEmpty());
  EXPECT_THAT(FieldsOf(violations), ElementsAre("cluster.device.calibrations.calibrations"));
}

v1::PlanRunRequest RequestWithCalibrations(int count) {
  v1::PlanRunRequest request;
  for (int i = 0; i < count; ++i) {
    *SuppliedTo(request).Add() = SampleCalibration(absl::StrCat("CPU-", i));
  }
  return request;
}

TEST(RunSpecFrom, TakesSixteenCalibrationsAndNoMore) {
  FieldViolations none;
  const v1::PlanRunRequest most = RequestWithCalibrations(16);
  EXPECT_EQ(ReadRun(most, none).cluster.device.calibrations.size(), 16u);
  EXPECT_TRUE(none.empty());
  FieldViolations violations;
  ReadRun(RequestWithCalibrations(17), violations);
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].field, "cluster.device.calibrations.calibrations");
  EXPECT_THAT(violations.all()[0].description,
              AllOf(HasSubstr("are 17: give at most 16"), HasSubstr("slowest of each host")));
}

// Nothing is made of it, so that it costs no more than its check.
TEST(RunSpecFrom, LeavesACalibrationAtFaultEmpty) {
  v1::PlanRunRequest request = RequestWithCalibrations(3);
  SuppliedTo(request)[1].set_coverage_ratio(2);
  FieldViolations violations;
  const RunSpec run = ReadRun(request, violations);
  ASSERT_EQ(violations.all().size(), 1u);
  EXPECT_EQ(violations.all()[0].field,
            "cluster.device.calibrations.calibrations[1].coverage_ratio");
  ASSERT_EQ(run.cluster.device.calibrations.size(), 3u);
  EXPECT_EQ(run.cluster.device.calibrations[0]->calibration().uuid, "CPU-0");
  EXPECT_EQ(run.cluster.device.calibrations[1]->calibration().uuid, "");
  EXPECT_EQ(run.cluster.device.calibrations[1]->calibration().fingerprint, "");
  EXPECT_EQ(run.cluster.device.calibrations[2]->calibration().uuid, "CPU-2");
}

TEST(RunSpecFrom, LooksAtNoCalibrationBeyondWhatAnAnswerNames) {
  v1::PlanRunRequest request = RequestWithCalibrations(3);
  for (v1::Calibration& c : SuppliedTo(request)) {
    for (int i = 0; i < 400; ++i) c.add_matmuls();
  }
  SuppliedTo(request)[2].clear_device();
  FieldViolations violations;
  ReadRun(request, violations);
  EXPECT_TRUE(violations.Mentions("cluster.device.calibrations.calibrations[0]"));
  EXPECT_FALSE(violations.Mentions("cluster.device.calibrations.calibrations[1]"));
  EXPECT_FALSE(violations.Mentions("cluster.device.calibrations.calibrations[2]"));
}

}  // namespace
}  // namespace sextant::server
