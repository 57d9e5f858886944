#include "client/report/search_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <ostream>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "client/text/layout_words.h"
#include "tests/client/default_signals.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

v1::Plan Sample() {
  v1::Plan out;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        search {
          chosen {
            layout {
              parallel {
                tensor_parallel_size: 4
                pipeline_parallel_size: 3
                virtual_stage_count: 1
                layers_per_chunk: [ 10, 11, 11 ]
                expert_parallel_size: 1
              }
              context_parallel_size: 2
              micro_batch_size: 1
              sequence_parallel: true
              schedule: PIPELINE_SCHEDULE_ZERO_BUBBLE_H1
              sharding { zero_stage: ZERO_STAGE_OPTIMIZER }
              kernels { recompute_norm_outputs: true recompute_activation_function: true }
            }
            recompute: RECOMPUTE_POLICY_NONE
            step_seconds { expected: 2 low: 1.9 high: 2.2 }
            peak_bytes { expected: 64424509440 }
            fit_chance: 0.99
            tie: true
          }
          alternatives {
            layout {
              parallel {
                tensor_parallel_size: 1
                pipeline_parallel_size: 1
                virtual_stage_count: 1
                expert_parallel_size: 8
                expert_tensor_parallel_size: 1
              }
              context_parallel_size: 1
              micro_batch_size: 4
              sharding { zero_stage: ZERO_STAGE_PARAMETERS shard_group_size: 8 }
            }
            recompute: RECOMPUTE_POLICY_FULL
            step_seconds { expected: 3 low: 2.9 high: 3.2 }
            peak_bytes { expected: 32212254720 }
            fit_chance: 1
          }
          considered_count: 12345
          evaluated_count: 345
          pruned { reason: REASON_BATCH count: 2000 }
          pruned { reason: REASON_MEMORY count: 10000 }
          exhaustive: true
          tie_ratio: 0.03
        }
      )pb",
      &out));
  return out;
}

TEST(SearchSection, ListsLayoutsAndCounts) {
  const std::string text = SearchSection(Sample());
  EXPECT_THAT(text, HasSubstr("12,345 layouts considered, 345 timed"));
  EXPECT_THAT(text, HasSubstr("batch, 10,000\n  that do not fit."));
  EXPECT_THAT(text, HasSubstr("  =  2.00 s  60.00 GiB"));
  EXPECT_THAT(text, HasSubstr("     3.00 s  30.00 GiB"));
  EXPECT_THAT(text, HasSubstr("3 by 8"));
  EXPECT_THAT(text, Not(HasSubstr("not looked at")));
}

TEST(SearchSection, SaysThatOthersWereNotLookedAt) {
  v1::Plan plan = Sample();
  plan.mutable_search()->set_exhaustive(false);
  EXPECT_THAT(SearchSection(plan), HasSubstr("others were not looked at"));
  EXPECT_EQ(SearchSection(v1::Plan()), "");
}

// 384 devices: 4 x 2 x 3 = 24 share a replica of the first.
TEST(LayoutName, HasSizesAboveOne) {
  const v1::Plan plan = Sample();
  EXPECT_EQ(LayoutName(plan.search().chosen(), 384), "tp 4 sp cp 2 pp 3 dp 16 zero 1 mbs 1 zb-h1");
  EXPECT_EQ(LayoutName(plan.search().alternatives(0), 384),
            "tp 1 pp 1 ep 8 dp 384 zero 3 by 8 mbs 4");
  EXPECT_EQ(LayoutName(v1::LayoutOption(), 0), "tp 1 pp 1 dp 0 mbs 1");
}

TEST(LayoutFlags, GiveAllThatIsChosen) {
  const v1::Plan plan = Sample();
  EXPECT_EQ(LayoutFlags(plan.search().chosen()),
            "--tp=4 --sp=true --cp=2 --pp=3 --vpp=1 --layers-per-chunk=10x11x11 --zero=1 --mbs=1 "
            "--recompute=none --recompute-norm-outputs=true --recompute-activation-function=true "
            "--schedule=zb-h1");
  EXPECT_EQ(LayoutFlags(plan.search().alternatives(0)),
            "--tp=1 --cp=1 --pp=1 --vpp=1 --ep=8 --etp=1 --zero=3 --shard-group-size=8 --mbs=4 "
            "--recompute=full");
}

// Offloaded state is in the name, the flags and a legend.
TEST(SearchSection, NamesKernelsThatWereChosen) {
  EXPECT_THAT(SearchSection(Sample()), Not(HasSubstr("attention")));
  v1::Plan plan = Sample();
  v1::LayoutOption& chosen = *plan.mutable_search()->mutable_chosen();
  chosen.mutable_layout()->mutable_kernels()->set_attention(v1::KernelChoices::ATTENTION_UNFUSED);
  chosen.mutable_layout()->mutable_kernels()->set_loss(v1::KernelChoices::LOSS_VOCABULARY_PARALLEL);
  const std::string text = SearchSection(plan);
  EXPECT_THAT(text, HasSubstr("attention, loss\n"));
  EXPECT_THAT(text, HasSubstr("unfused, vocabulary-parallel\n"));
  EXPECT_THAT(LayoutFlags(chosen), HasSubstr(" --attention=unfused --loss=vocabulary-parallel"));
  EXPECT_THAT(LayoutName(chosen, 24), HasSubstr(" zb-h1 unfused, vocabulary-parallel"));
}

TEST(SearchSection, SaysWhatIsOffloaded) {
  v1::Plan plan = Sample();
  EXPECT_THAT(SearchSection(plan), Not(HasSubstr("host memory")));
  v1::LayoutOption& chosen = *plan.mutable_search()->mutable_chosen();
  chosen.mutable_layout()->mutable_sharding()->set_offload_optimizer(true);
  EXPECT_THAT(LayoutName(chosen, 24), HasSubstr("zero 1 off"));
  EXPECT_THAT(LayoutFlags(chosen), HasSubstr("--zero=1 --offload-optimizer=true --mbs"));
  EXPECT_THAT(SearchSection(plan), HasSubstr("1 off"));
  v1::LayoutOption& other = *plan.mutable_search()->mutable_alternatives(0);
  other.mutable_layout()->mutable_sharding()->set_offload_optimizer(true);
  other.mutable_layout()->mutable_sharding()->set_offload_parameters(true);
  EXPECT_THAT(LayoutName(other, 24), HasSubstr("zero 3 by 8 off+w"));
  EXPECT_THAT(LayoutFlags(other),
              HasSubstr("--offload-optimizer=true --offload-parameters=true --mbs"));
}

// Layouts that differ in one field make different tables.
TEST(SearchSection, TellsApartWhateverASearchVaries) {
  const auto table_of = [](const v1::RunLayout& layout) {
    v1::Plan plan = Sample();
    *plan.mutable_search()->mutable_alternatives(0)->mutable_layout() = layout;
    const std::string text = SearchSection(plan);
    return text.substr(0, text.find("=: within"));
  };
  const v1::RunLayout plain = Sample().search().alternatives(0).layout();
  std::vector<v1::RunLayout> layouts(14, plain);
  layouts[1].mutable_parallel()->set_tensor_parallel_size(2);
  layouts[2].mutable_parallel()->set_pipeline_parallel_size(2);
  layouts[3].mutable_parallel()->set_virtual_stage_count(2);
  layouts[4].mutable_parallel()->set_expert_parallel_size(4);
  layouts[5].mutable_parallel()->set_expert_tensor_parallel_size(2);
  layouts[6].set_context_parallel_size(4);
  layouts[7].set_micro_batch_size(2);
  layouts[8].set_sequence_parallel(true);
  layouts[9].set_schedule(v1::PIPELINE_SCHEDULE_GPIPE);
  layouts[10].mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_GRADIENTS);
  layouts[11].mutable_sharding()->set_shard_group_size(16);
  layouts[12].mutable_sharding()->set_reshard_after_forward(false);
  layouts[13].mutable_kernels()->set_recomputed_layers_per_block(4);
  std::set<std::string> tables;
  for (const v1::RunLayout& layout : layouts) {
    const std::string table = table_of(layout);
    EXPECT_TRUE(tables.insert(table).second) << table << layout.ShortDebugString();
  }
}

TEST(SearchSection, SaysWhatKeepsItsWeights) {
  v1::Plan plan = Sample();
  EXPECT_THAT(SearchSection(plan), Not(HasSubstr("keep")));
  v1::LayoutOption& other = *plan.mutable_search()->mutable_alternatives(0);
  other.mutable_layout()->mutable_sharding()->set_reshard_after_forward(false);
  EXPECT_THAT(SearchSection(plan), HasSubstr("3 by 8 keep"));
  EXPECT_THAT(SearchSection(plan), HasSubstr("keep: weights stay gathered"));
  EXPECT_THAT(LayoutName(other, 24), HasSubstr("zero 3 by 8 keep"));
}

// On a terminal the progress is one line, which the answer replaces; elsewhere there is none.
TEST(Search, ShowsItsProgressOnATerminalAndErasesIt) {
  v1::WatchPlanRunResponse progress;
  progress.mutable_progress()->set_searched_count(12288);
  progress.mutable_progress()->set_layout_count(24576);
  *progress.mutable_progress()->mutable_best() = Sample().search().chosen();
  v1::WatchPlanRunResponse answer;
  *answer.mutable_answer()->mutable_plan() = Sample();
  answer.mutable_answer()->mutable_plan()->set_verdict(v1::VERDICT_FITS);
  Answering<v1::PlanRunRequest, v1::PlanRunResponse> unary = {.response = answer.answer()};
  const FakeServer server(PlanningHandlers{
      .plan_run = unary.handler(),
      .watch_plan_run = [&](grpc::ServerContext*, const v1::PlanRunRequest&, auto* writer) {
        writer->Write(progress);
        writer->Write(answer);
        return grpc::Status::OK;
      }});
  const std::vector<std::string> args = {"search", "toy", "--devices=24", "--address",
                                         server.address()};
  const Ran watched = RunWith(args, "", 120);
  EXPECT_EQ(watched.exit_code, 0);
  EXPECT_EQ(
      watched.err,
      "\r\x1b[K[############............]  50 %  12,288 of 24,576 layouts; 2.00 s: tp 4 sp cp 2 "
      "pp 3 dp 1 zero 1 mbs 1 zb-h1\r\x1b[K");
  const Ran plain = RunWith(args);
  EXPECT_EQ(plain.err, "");
  EXPECT_EQ(plain.out, watched.out);
}

// A text that raises a signal once a search's progress is written to it.
class RaisingText : public std::stringbuf {
 public:
  explicit RaisingText(int signal_number) : signal_number_(signal_number) {}

 private:
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    const bool shows = absl::StrContains({text, static_cast<size_t>(size)}, "layouts");
    if (shows && signal_number_ != 0) kill(getpid(), std::exchange(signal_number_, 0));
    return std::stringbuf::xsputn(text, size);
  }

  int signal_number_;
};

// Sends progress until the client is gone, which gets a signal when it shows the first of it: only
// a cancelled call ends this handler.
TEST(Search, SaysOnASignalHowFarItCame) {
  const DefaultSignals signals;
  v1::WatchPlanRunResponse progress;
  progress.mutable_progress()->set_searched_count(12288);
  progress.mutable_progress()->set_layout_count(24576);
  *progress.mutable_progress()->mutable_best() = Sample().search().chosen();
  for (const int signal_number : {SIGINT, SIGTERM}) {
    bool cancelled = false;
    int exit_code = 0;
    std::istringstream in;
    std::ostringstream out;
    RaisingText shown(signal_number);
    std::ostream err(&shown);
    {
      const FakeServer server(
          PlanningHandlers{.watch_plan_run = [&](grpc::ServerContext* context,
                                                 const v1::PlanRunRequest&, auto* writer) {
            while (writer->Write(progress)) continue;
            cancelled = context->IsCancelled();
            return grpc::Status::OK;
          }});
      exit_code = RunClient({"search", "toy", "--devices=24", "--address", server.address()},
                            {.in = in, .out = out, .err = err, .err_columns = 120, .now = [] {
                               return absl::FromUnixSeconds(kNowUnixSeconds);
                             }});
    }  // the handler has ended
    EXPECT_EQ(exit_code, 128 + signal_number);
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(out.str(), "");
    EXPECT_THAT(shown.str(),
                EndsWith("sextant: CANCELLED: interrupted: the server stops the search, "
                         "after 12,288 of 24,576 layouts; 2.00 s: tp 4 sp cp 2 pp 3 dp 1 "
                         "zero 1 mbs 1 zb-h1\n"));
  }
}

}  // namespace
}  // namespace sextant::client
