#include "client/report/compute_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "client/report/plan_text.h"
#include "client/report/text.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A micro-batch of 40 ms: 20 ms of a product in two kinds of layers (8 and 12 ms), 16 ms of
// attention, 3.4 ms of a pass, and two short ones of 0.3 ms. FLOPs: 8e12 + 4e12 = 12e12 of 20 ms is
// 600 TFLOP/s; 6.4e12 of 16 ms is 400; 18.4e12 of 40 ms is 460.
constexpr char kCompute[] = R"pb(
  stages {
    first_stage: 0
    stage_count: 1
    forward_seconds { expected: 13e-3 low: 12e-3 high: 14e-3 }
    backward_seconds { expected: 27e-3 low: 25e-3 high: 30e-3 }
    micro_batch_seconds { expected: 40e-3 low: 37.5e-3 high: 43e-3 }
    step_seconds { expected: 4.1e-3 low: 4e-3 high: 5e-3 }
    flops: 18.4e12
    host {
      launches: 1234
      seconds { expected: 9.872e-3 low: 2.468e-3 high: 30.9e-3 }
    }
    operations {
      part: MODEL_PART_INPUT
      layer_count: 1
      module: "token_embedding"
      name: "look_up"
      pass: OPERATION_PASS_FORWARD
      launches: 1
      seconds { expected: 0.3e-3 }
      share: 0.0075
      memory_pass { read_bytes: 1e6 written_bytes: 1e6 }
      source_number: 3
    }
    operations {
      part: MODEL_PART_DECODER
      layer_kind: "dense"
      layer_count: 8
      module: "feed_forward"
      name: "gate_up"
      pass: OPERATION_PASS_WEIGHT_GRADIENT
      matmul { batch_count: 1 m: 8192 n: 7168 k: 4096 }
      launches: 8
      flops: 8e12
      seconds { expected: 12e-3 }
      share: 0.3
      source_number: 1
    }
    operations {
      part: MODEL_PART_DECODER
      layer_kind: "sparse"
      layer_count: 4
      module: "feed_forward"
      name: "gate_up"
      pass: OPERATION_PASS_WEIGHT_GRADIENT
      matmul { batch_count: 1 m: 8192 n: 7168 k: 4096 }
      launches: 4
      flops: 4e12
      seconds { expected: 8e-3 }
      share: 0.2
      source_number: 1
    }
    operations {
      part: MODEL_PART_DECODER
      layer_kind: "dense"
      layer_count: 8
      module: "attention"
      name: "core"
      pass: OPERATION_PASS_FORWARD
      attention {
        batch_count: 1
        query_count: 8192
        key_count: 8192
        head_count: 32
        key_value_head_count: 8
        query_key_head_size: 128
        value_head_size: 128
        causal: true
      }
      launches: 8
      flops: 6.4e12
      seconds { expected: 16e-3 }
      share: 0.4
      source_number: 2
    }
    operations {
      part: MODEL_PART_DECODER
      layer_kind: "dense"
      layer_count: 8
      module: "attention"
      name: "gather"
      pass: OPERATION_PASS_FORWARD
      collective { kind: KIND_ALL_GATHER group: GROUP_TENSOR size_bytes: 134.2e6 }
      launches: 8
    }
    operations {
      part: MODEL_PART_DECODER
      layer_kind: "dense"
      layer_count: 8
      module: "feed_forward"
      name: "activation"
      pass: OPERATION_PASS_RECOMPUTE
      memory_pass { read_bytes: 78e6 written_bytes: 39.4e6 }
      launches: 16
      seconds { expected: 3.4e-3 }
      share: 0.085
      source_number: 3
    }
    operations {
      part: MODEL_PART_OUTPUT
      layer_count: 1
      module: "loss"
      name: "loss"
      pass: OPERATION_PASS_INPUT_GRADIENT
      launches: 3
      seconds { expected: 0.3e-3 }
      share: 0.0075
      memory_pass { read_bytes: 1e6 }
      source_number: 3
    }
    step_operations {
      name: "gradient_norm"
      seconds { expected: 1e-3 }
    }
    step_operations {
      name: "optimizer"
      seconds { expected: 3.1e-3 }
    }
  }
  stages {
    first_stage: 1
    stage_count: 3
    forward_seconds { expected: 1e-3 low: 0.9e-3 high: 1.1e-3 }
    backward_seconds { expected: 2e-3 low: 1.8e-3 high: 2.2e-3 }
    micro_batch_seconds { expected: 3e-3 low: 0.9e-3 high: 3.3e-3 }
    host {
      launches: 1000
      seconds { expected: 8e-3 low: 2e-3 high: 25e-3 }
      bound: true
    }
    operations {
      part: MODEL_PART_DECODER
      layer_kind: "sparse"
      layer_count: 4
      module: "experts"
      name: "gate_up"
      pass: OPERATION_PASS_FORWARD
      narrow: true
      grouped_matmul { expert_count: 8 rows_per_expert: 512 n: 4096 k: 14336 }
      launches: 1000
      flops: 3e11
      seconds { expected: 3e-3 }
      share: 1
      source_number: 1
    }
  }
)pb";

SourceList Sources() {
  SourceList out;
  for (const char* source : {"a table of products", "a table of attention", "a datasheet"}) {
    out.Add(source);
  }
  return out;
}

v1::Compute Sample() {
  v1::Compute out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(kCompute, &out));
  return out;
}

constexpr char kGolden[] =
    R"(
One micro-batch of stage 0 (of 4): forward 13.0 ms, backward 27.0 ms, together 40.0 ms (37.5 to
  43.0), 460 TFLOP/s a GPU; once a step: gradient norm 1.00 ms, optimizer 3.10 ms
  The host starts 1,234 kernels in 9.87 ms (2.47 to 30.9).
  operation                pass     runs     time     %  TFLOP/s  kernel [source]
  feed_forward gate_up     weight     12  20.0 ms  50.0      600  matmul 8192x7168x4096 [1]
  attention core           forward     8  16.0 ms  40.0      400  attention 1x8192 32/8 heads of
                                                                  128 causal [2]
  feed_forward activation  again      16  3.40 ms   8.5        -  pass 117.4 MB [3]
  2 others                             4   600 us   1.5        -  below 1 % each

  exchange          pass     runs  alone  what
  attention gather  forward     8      -  all-gather 134.2 MB by tensor ranks

One micro-batch of stages 1-3 (of 4): forward 1.00 ms, backward 2.00 ms, together 3.00 ms (900 us
  to 3.30 ms)
  The host takes 8.00 ms (2.00 to 25.0) to start 1,000 kernels, longer than they compute: a
  micro-batch takes as long.
  operation        pass      runs     time      %  TFLOP/s  kernel [source]
  experts gate_up  forward  1,000  3.00 ms  100.0      100  grouped* 8 x 512x4096x14336 [1]

Operations
  runs: kernels in all layers; %: of the micro-batch; again: of the forward pass, repeated in the
  backward pass; input, weight: their gradients; *: in the narrower type of matrix inputs
  [1] a table of products
  [2] a table of attention
  [3] a datasheet
)";

TEST(ComputeSections, ListOperationsByTimeAndNameTheirSources) {
  EXPECT_EQ(ComputeSections(Sample(), Sources()), kGolden);
}

TEST(ComputeSections, AreEmptyWithoutOperations) {
  EXPECT_EQ(ComputeSections(v1::Compute(), Sources()), "");
}

TEST(ComputeSections, ArePartOfAPlan) {
  v1::PlanRunResponse response = SampleResponse();
  EXPECT_THAT(PlanText(response, absl::UnixEpoch()), Not(HasSubstr("One micro-batch")));
  *response.mutable_plan()->mutable_compute() = Sample();
  EXPECT_THAT(PlanText(response, absl::UnixEpoch()),
              HasSubstr("\nOne micro-batch of stage 0 (of 4): forward 13.0 ms"));
}

// The only operation of a compute with one stage.
std::string LineOf(const char* operation) {
  v1::Compute compute;
  v1::StageCompute* const stage = compute.add_stages();
  stage->set_stage_count(1);
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(operation, stage->add_operations()));
  stage->mutable_operations(0)->set_share(1);
  return ComputeSections(compute, {});
}

TEST(ComputeSections, WriteTheShapeOfEachKernel) {
  const std::pair<const char*, const char*> cases[] = {
      {"matmul { batch_count: 4 m: 1 n: 2 k: 3 }", "  matmul 4 x 1x2x3\n"},
      {"narrow: true matmul { batch_count: 1 m: 1 n: 2 k: 3 }", "  matmul* 1x2x3\n"},
      {"grouped_matmul { expert_count: 8 rows_per_expert: 1.5 n: 2 k: 3 }",
       "  grouped 8 x 1.5x2x3\n"},
      {"attention { batch_count: 2 query_count: 9 key_count: 9 head_count: 4 "
       "key_value_head_count: 4 query_key_head_size: 64 value_head_size: 64 }",
       "  attention 2x9 4 heads of 64\n"},
      {"attention { batch_count: 2 query_count: 9 key_count: 18 head_count: 4 "
       "key_value_head_count: 1 query_key_head_size: 192 value_head_size: 128 "
       "window_size: 5 }",
       "  attention 2x9x18 4/1 heads of 192/128 window 5\n"},
      {"memory_pass { read_bytes: 1e9 written_bytes: 0.5e9 }", "  pass 1.500 GB\n"},
  };
  for (const auto& [operation, line] : cases) EXPECT_THAT(LineOf(operation), HasSubstr(line));
}

TEST(ComputeSections, SayThatGraphsAreCaptured) {
  EXPECT_THAT(LineOf("matmul { m: 1 n: 2 k: 3 }"),
              HasSubstr("The host starts all kernels at once, as captured graphs."));
}

// Whatever a server sends.
TEST(ComputeSections, NeverPass99Columns) {
  v1::Compute compute = Sample();
  const std::string word(240, 'w');
  SourceList sources;
  sources.Add(std::string(word));
  v1::StageCompute& stage = *compute.mutable_stages(0);
  stage.set_flops(1e300);
  stage.mutable_micro_batch_seconds()->set_high(1e300);
  stage.mutable_step_operations(0)->set_name(word);
  for (v1::TimedOperation& op : *stage.mutable_operations()) op.set_module(word);
  stage.mutable_operations(0)->mutable_memory_pass()->set_read_bytes(1e300);
  for (const absl::string_view line : absl::StrSplit(ComputeSections(compute, sources), '\n')) {
    EXPECT_LE(line.size(), kTextWidth) << line;
  }
}

// No operation of a damaged answer makes a number that is none.
TEST(ComputeSections, WithoutTimesThereAreNoRates) {
  v1::Compute compute = Sample();
  compute.mutable_stages(0)->clear_micro_batch_seconds();
  for (v1::TimedOperation& op : *compute.mutable_stages(0)->mutable_operations()) {
    op.clear_seconds();
  }
  const std::string text = ComputeSections(compute, Sources());
  EXPECT_THAT(text, Not(HasSubstr("inf")));
  EXPECT_THAT(text, Not(HasSubstr("nan")));
}

}  // namespace
}  // namespace sextant::client
