// PlanningService.Admit: the words of strangers, judged within a budget.
#include "server/convert/admit.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <prometheus/registry.h>

#include <chrono>
#include <future>
#include <random>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/field_violation.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/words/field_names.h"
#include "proto/words/field_path.h"
#include "proto/words/plan_line.h"
#include "server/convert/admit_words.h"
#include "server/handler/admit_answer.h"
#include "tests/server/planning_server.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;
using Verdict = v1::AdmitResponse;

// Eight GPUs of one server hold it easily.
constexpr char kFits[] = "llama-3.1-8b tp=8 gbs=64 sequence-length=8192 tokens=1T";

TEST(SplitWords, FollowsAShellThatExpandsNothing) {
  const auto words = [](absl::string_view line) { return SplitWords(line).value(); };
  EXPECT_THAT(words(""), IsEmpty());
  EXPECT_THAT(words(" \t\n\r "), IsEmpty());
  EXPECT_THAT(words("a  b\nc"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(words("'a b'c \"d e\" ''"), ElementsAre("a bc", "d e", ""));
  EXPECT_THAT(words(R"(a\ b \'c "d\"e\x" 'f\')"), ElementsAre("a b", "'c", R"(d"e\x)", R"(f\)"));
  EXPECT_THAT(words("$HOME `id` ~ * a;b|c>d #e"),
              ElementsAre("$HOME", "`id`", "~", "*", "a;b|c>d", "#e"));
}

TEST(SplitWords, RefusesWhatHasNoEnd) {
  EXPECT_THAT(std::string(SplitWords("a 'b").status().message()),
              HasSubstr("quote at character 3 is not closed"));
  EXPECT_FALSE(SplitWords("\"").ok());
  EXPECT_THAT(std::string(SplitWords("a\\").status().message()), HasSubstr("backslash at the end"));
}

TEST(ReadWords, SetFieldsAsTheCommandLineDoes) {
  const struct {
    const char* words;
    const char* request;
  } kCases[] = {
      {"llama-3.1-8b --tokens=15T --tp 8 pp=2",
       "model { preset: 'llama-3.1-8b' } training { token_count: 15000000000000 } "
       "layout { parallel { tensor_parallel_size: 8 pipeline_parallel_size: 2 } }"},
      {"--model llama-3.1-8b --sequence-length=8Ki",
       "model { preset: 'llama-3.1-8b' } training { sequence_length: 8192 }"},
      {"tensor_parallel_size=2 --micro_batch_size 4",
       "layout { parallel { tensor_parallel_size: 2 } micro_batch_size: 4 }"},
      {"'llama 3.1' \"--tp=2\"",
       "model { preset: 'llama 3.1' } layout { parallel { tensor_parallel_size: 2 } }"},
      {"--offload-optimizer gpt2 --zero 1",
       "model { preset: 'gpt2' } "
       "layout { sharding { offload_optimizer: true zero_stage: ZERO_STAGE_OPTIMIZER } }"},
      {"gpt2 --offload-optimizer=false --sp false",
       "model { preset: 'gpt2' } "
       "layout { sharding { } sequence_parallel: false }"},
      {"layers-per-chunk=8x8x7 --batch-ramp=9B:512,2T:1024",
       "layout { parallel { layers_per_chunk: [8, 8, 7] } "
       "batch_ramp { token_count: 9000000000 global_batch_size: 512 } "
       "batch_ramp { token_count: 2000000000000 global_batch_size: 1024 } }"},
      {"--schedule=1f1b --recompute=full --optimizer adam-8bit",
       "layout { schedule: PIPELINE_SCHEDULE_ONE_FORWARD_ONE_BACKWARD } "
       "training { recompute: RECOMPUTE_POLICY_FULL optimizer { kind: KIND_ADAM_8BIT } }"},
      {"--lora-rank=16",
       "model { changes { adapters { rank: 16 targets: 'attention.query' "
       "targets: 'attention.value' } } }"},
      {"--lora-rank=16 --lora-targets=all-linear",
       "model { changes { adapters { rank: 16 targets: 'all-linear' } } }"},
      {"--unmodelled='$HOME is ~' --unmodelled=`id`",
       "layout { unmodelled_settings: ['$HOME is ~', '`id`'] }"},
      {"--parameters=70.55B --activation-bytes 8GiB --fits-chance=0.8",
       "model { parameter_count: 70550000000 } training { activation_bytes: 8589934592 } "
       "options { fits_chance: 0.8 }"},
      {"--devices 16 --accelerator=h100-sxm --node-type dgx-h100 --network=ib-ndr",
       "cluster { device_count: 16 device { accelerator: 'h100-sxm' } node_type: 'dgx-h100' "
       "network { name: 'ib-ndr' } }"},
  };
  for (const auto& c : kCases) {
    v1::PlanRunRequest expected;
    ASSERT_TRUE(google::protobuf::TextFormat::ParseFromString(c.request, &expected)) << c.words;
    v1::PlanRunRequest read;
    const absl::Status status = ReadWords(c.words, &read);
    ASSERT_TRUE(status.ok()) << c.words << ": " << status;
    google::protobuf::util::MessageDifferencer differ;
    std::string difference;
    differ.ReportDifferencesToString(&difference);
    EXPECT_TRUE(differ.Compare(expected, read)) << c.words << ": " << difference;
  }
}

TEST(ReadWords, RefuseFilesAddressesAndOutputsByName) {
  const struct {
    const char* words;
    const char* says;
  } kCases[] = {
      {"--config=/etc/shadow", "--config names a file, and none is read here"},
      {"hugging_face_config=x", "--config names a file"},
      {"--transformer={}", "--transformer names a file"},
      {"--architecture x", "--architecture names a file"},
      {"--measured-step=x", "--measured-step names a file"},
      {"--calibration=x", "--calibration names a file"},
      {"--request=run.json", "\"request\" is no name of a run's setting here"},
      {"--emit-to=victim", "\"emit-to\" is no name"},
      {"--from-megatron=x", "is no name"},
      {"--svg=x", "\"svg\" is no name"},
      {"--address=evil:1", "\"address\" is no name"},
      {"--token-file=x", "\"token-file\" is no name"},
      {"--tls-ca x", "\"tls-ca\" is no name"},
      {"--output=json", "\"output\" is no name"},
      {"--local", "\"local\" is no name"},
      {"--device=host", "--device is not taken here"},
      {"--fleet=h100-sxm", "--fleet is not taken here"},
      {"--hosts=a", "--hosts is not taken here"},
      {"--device-hour-price-usd=2", "--device-hour-price-usd is not taken here"},
      {"--device-memory-bytes=9TB", "--device-memory-bytes is not taken here"},
      {"--search=exhaustive", "--search is not taken here"},
      {"/etc/shadow", "\"/etc/shadow\" names a file"},
      {"./config", "names a file"},
      {"../config", "names a file"},
      {"~/config", "names a file"},
      {"a/../../b", "names a file"},
      {"config.JSON", "names a file"},
      {"--model=-", "names a file"},
      {"-", "names a file"},
      {"--model=http://10.0.0.1/x", "names a file or an address"},
      {"--software=/x", "--software: \"/x\" names a file"},
      {"-v", "\"-v\" is no name"},
      {"--", "\"\" is no name"},
      {"--tokenz=1T", "near names: --tokens"},
      {"gpt2 llama", "\"llama\" has no name"},
      {"--tp", "--tp has no value"},
      {"--tp --pp=2", "--tp has no value"},
      {"--tp=", "--tp has no value"},
      {"--tp=two", "--tp: \"two\" is not a whole number"},
      {"--tp=2 tp=4", "--tp is given twice"},
      {"gpt2 --model=gpt2", "--preset is given twice"},
      {"--schedule=fast", "write one of"},
      {"--zero=7", "\"7\" is not known"},
      {"'", "is not closed"},
      {"\\", "backslash at the end"},
  };
  for (const auto& c : kCases) {
    v1::PlanRunRequest read;
    const std::vector<FieldViolation> found = FieldViolationsOf(ReadWords(c.words, &read));
    ASSERT_EQ(found.size(), 1) << c.words;
    EXPECT_EQ(found[0].field, "words") << c.words;
    EXPECT_THAT(found[0].description, HasSubstr(c.says)) << c.words;
  }
}

TEST(ReadWords, AreBounded) {
  v1::PlanRunRequest read;
  EXPECT_TRUE(ReadWords(std::string(4096, ' '), &read).ok());
  EXPECT_THAT(FieldViolationsOf(ReadWords(std::string(4097, ' '), &read))[0].description,
              HasSubstr("at most 4096"));
  std::string many;
  for (int i = 0; i < 500; ++i) absl::StrAppend(&many, "--n", i, "=1 ");
  EXPECT_EQ(FieldViolationsOf(ReadWords(many, &read)).size(), 8);
}

// What may be set is what the API marks: nothing that is read from a file, and no other host.
TEST(AdmittedFields, HoldNoFileDevicesOrPrices) {
  int admitted = 0;
  for (const words::NamedField& field : words::PlanFields()) {
    if (!field.admitted) continue;
    ++admitted;
    EXPECT_FALSE(words::IsFile(words::FormOf(*field.field))) << field.path;
    for (const char* closed : {"economics", "interruptions", "rate_requirement", "measured_step",
                               "cluster.device.host_devices", "cluster.device.calibrations",
                               "cluster.device.fleet", "options.include"}) {
      EXPECT_FALSE(absl::StartsWith(field.path, closed)) << field.path;
    }
  }
  EXPECT_GT(admitted, 90);
}

// A request of `words` for 8 GPUs of one server.
v1::AdmitRequest RequestOf(const std::string& words, int64_t devices = 8) {
  v1::AdmitRequest out;
  out.set_words(words);
  out.set_device_count(devices);
  out.set_accelerator("h100-sxm");
  out.mutable_budget()->set_seconds(10);  // this host may be busy
  return out;
}

TEST(AdmitQuestion, IsInDoubtWhereTheSchedulerAndTheWordsDiffer) {
  const auto doubt_of = [](const v1::AdmitRequest& request) {
    return AdmitQuestionFrom(request).value().doubt;
  };
  EXPECT_THAT(doubt_of(RequestOf("gpt2")), IsEmpty());
  EXPECT_THAT(doubt_of(RequestOf("gpt2 --devices=8 --accelerator=H100-SXM")), IsEmpty());
  EXPECT_THAT(doubt_of(RequestOf(" \n")), "nothing was asked: the words are empty");
  EXPECT_THAT(doubt_of(RequestOf("gpt2 --devices=16")),
              "the words ask for 16 devices, and the scheduler gives 8");
  EXPECT_THAT(doubt_of(RequestOf("gpt2", 4294967294)),  // Slurm's NO_VAL
              HasSubstr("gives 4294967294 devices, which is no number to judge"));
  EXPECT_THAT(doubt_of(RequestOf("gpt2", 0)), HasSubstr("gives 0 devices"));
  EXPECT_THAT(doubt_of(RequestOf("gpt2 accelerator=a100-sxm-80")),
              "the words ask for a100-sxm-80, and the scheduler gives h100-sxm");
  v1::AdmitRequest request = RequestOf("gpt2");
  request.clear_device_count();
  EXPECT_THAT(doubt_of(request), HasSubstr("how many devices the job gets is not known"));
  request = RequestOf("gpt2");
  request.clear_accelerator();
  EXPECT_THAT(doubt_of(request), HasSubstr("which devices the job gets is not known"));
  request.set_accelerator("gpu:h100:8");  // of Slurm
  EXPECT_THAT(doubt_of(request), IsEmpty());
  request.set_accelerator("h101");
  EXPECT_THAT(doubt_of(request), HasSubstr("\"h101\" is not known"));
  request = RequestOf("gpt2 --node-type=hgx-h100");
  request.set_node_type("dgx-h100");
  EXPECT_THAT(doubt_of(request), HasSubstr("scheduler gives dgx-h100"));
  request = RequestOf("gpt2");
  request.set_node_type("dgx-h101");
  EXPECT_THAT(doubt_of(request), HasSubstr("\"dgx-h101\" is not known"));
}

TEST(AdmitQuestion, NamesTheFieldsThatAreWrong) {
  v1::AdmitRequest request = RequestOf("--svg=x");
  request.mutable_budget()->set_seconds(11);
  request.mutable_caller()->set_scheduler(static_cast<v1::AdmitCaller::Scheduler>(99));
  request.mutable_caller()->set_user(std::string(257, 'u'));
  std::vector<std::string> fields;
  for (const auto& each : FieldViolationsOf(AdmitQuestionFrom(request).status())) {
    fields.push_back(each.field);
  }
  EXPECT_THAT(fields, UnorderedElementsAre("budget", "caller.scheduler", "caller.user", "words"));
}

grpc::Status Admit(const PlanningServer& server, const v1::AdmitRequest& request,
                   v1::AdmitResponse* response) {
  return server.Call(&v1::PlanningService::Stub::Admit, request, response);
}

v1::AdmitResponse Admitted(const PlanningServer& server, const v1::AdmitRequest& request) {
  v1::AdmitResponse out;
  const grpc::Status status = Admit(server, request, &out);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return out;
}

TEST(Admit, SaysWhatFits) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer = Admitted(server, RequestOf(kFits));
  EXPECT_EQ(answer.verdict(), Verdict::VERDICT_FITS) << answer.message();
  EXPECT_THAT(answer.message(), AllOf(StartsWith("FITS: llama-3.1-8b, 8 x h100-sxm: 1 node x 8; "),
                                      HasSubstr(" usable"), HasSubstr(" predicted")));
  EXPECT_THAT(answer.change(), IsEmpty());
  EXPECT_THAT(answer.layout(),
              UnorderedElementsAre(Pair("SEXTANT_DEVICES", "8"), Pair("SEXTANT_TP", "8"),
                                   Pair("SEXTANT_GBS", "64")));
  // The plan's own figure, at the plan's own address.
  v1::PlanRunRequest run = Llama8b(8);
  run.mutable_cluster()->clear_node_type();
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  run.mutable_layout()->set_global_batch_size(64);
  const v1::Plan plan = server.Planned(run).plan();
  EXPECT_EQ(answer.time_limit().seconds(),
            static_cast<int64_t>(std::ceil(plan.estimates(0).elapsed_seconds().high())));
  EXPECT_THAT(answer.plan_url(),
              StartsWith("/sextant.v1.PlanningService/PlanRun?connect=v1&encoding=json&message=%7B"
                         "%22model%22%3A%7B%22preset%22%3A%22llama-3.1-8b%22%7D"));
}

TEST(Admit, SaysWhatDoesNotFitAndTheCheapestChange) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer =
      Admitted(server, RequestOf("llama-3.1-8b tp=1 gbs=64 sequence-length=8192 "
                                 "--framework=megatron-lm",
                                 16));
  EXPECT_EQ(answer.verdict(), Verdict::VERDICT_DOES_NOT_FIT) << answer.message();
  EXPECT_THAT(answer.message(),
              StartsWith("DOES NOT FIT: llama-3.1-8b, 16 x h100-sxm: 2 nodes x 8; "));
  EXPECT_THAT(answer.change(), AllOf(StartsWith("--"), HasSubstr(" (now "), HasSubstr(" GiB")));
  EXPECT_FALSE(answer.has_time_limit());  // no tokens
}

TEST(Admit, KeepsTightTight) {
  const PlanningServer server = WithSample();
  // No chance is above 1, or below 0: what may fit at all is tight.
  const v1::AdmitResponse answer =
      Admitted(server, RequestOf("llama-3.1-8b tp=8 gbs=64 sequence-length=8192 --fits-chance=1 "
                                 "--does-not-fit-chance=0 --reserved-memory-bytes=55GiB"));
  EXPECT_EQ(answer.verdict(), Verdict::VERDICT_TIGHT) << answer.message();
  EXPECT_THAT(answer.message(), StartsWith("TIGHT: "));
}

TEST(Admit, DoesNotJudgeStateAlone) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer = Admitted(server, RequestOf("llama-3.1-8b"));
  EXPECT_EQ(answer.verdict(), Verdict::VERDICT_UNKNOWN);
  EXPECT_THAT(answer.message(), AllOf(StartsWith("UNKNOWN: no layout is given"),
                                      HasSubstr("STATE FITS: llama-3.1-8b, 8 x h100-sxm")));
  EXPECT_THAT(answer.layout(), IsEmpty());
  // State that is too large needs no layout to be too large.
  EXPECT_EQ(Admitted(server, RequestOf("llama-3.1-405b")).verdict(), Verdict::VERDICT_DOES_NOT_FIT);
}

TEST(Admit, LooksForALayoutWhereTheBatchIsGiven) {
  const PlanningServer server = WithSample();
  const v1::AdmitResponse answer = Admitted(
      server, RequestOf("llama-3.1-8b gbs=64 sequence-length=4096 --framework=megatron-lm"));
  EXPECT_EQ(answer.verdict(), Verdict::VERDICT_FITS) << answer.message();
  EXPECT_EQ(answer.layout().count("SEXTANT_TP"), 1);
  EXPECT_EQ(answer.layout().count("SEXTANT_PP"), 1);
  EXPECT_EQ(answer.layout().at("SEXTANT_FRAMEWORK"), "megatron-lm");
}

// The violations of a refused call, by field.
std::vector<std::pair<std::string, std::string>> ViolationsOf(const grpc::Status& status) {
  google::rpc::Status details;
  details.ParseFromString(status.error_details());
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& any : details.details()) {
    google::rpc::BadRequest bad;
    if (!any.UnpackTo(&bad)) continue;
    for (const auto& v : bad.field_violations()) out.emplace_back(v.field(), v.description());
  }
  return out;
}

TEST(Admit, NamesTheWordsThatARunCannotHave) {
  const PlanningServer server = WithSample();
  v1::AdmitResponse response;
  grpc::Status status = Admit(server, RequestOf("lama-3.1-8b"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ViolationsOf(status), ElementsAre(Pair("words", HasSubstr("llama-3.1-8b"))));
  status = Admit(server, RequestOf("llama-3.1-8b tp=0 --fits-chance=2"), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(ViolationsOf(status),
              UnorderedElementsAre(Pair("words", StartsWith("--tp: ")),
                                   Pair("words", StartsWith("--fits-chance: "))));
}

TEST(Admit, DoesNotBlameTheWordsForTheScheduler) {
  const PlanningServer server = WithSample();
  v1::AdmitRequest request = RequestOf(kFits);
  request.set_node_type("dgx-a100");  // which has no H100s
  const v1::AdmitResponse answer = Admitted(server, request);
  EXPECT_EQ(answer.verdict(), Verdict::VERDICT_UNKNOWN);
  EXPECT_THAT(answer.message(), HasSubstr("the scheduler's cluster.node_type: is dgx-a100"));
}

// Keeps a pool's only thread.
class HeldPool {
 public:
  explicit HeldPool(WorkerPool& pool) {
    pool.Post("holder", [this](const absl::Status&) { released_.get_future().wait(); });
  }
  ~HeldPool() { released_.set_value(); }

 private:
  std::promise<void> released_;
};

TEST(Admit, AnswersAtTheEndOfItsBudget) {
  PlanningServer server = WithSample();
  {
    const HeldPool plans(server.workers());
    const HeldPool searches(server.searches());
    // Experts can be divided in many ways: no short plan.
    v1::AdmitRequest request = RequestOf("mixtral-8x7b tp=8 gbs=64 sequence-length=4096");
    request.mutable_budget()->set_seconds(0);
    request.mutable_budget()->set_nanos(20'000'000);
    v1::AdmitResponse answer = Admitted(server, request);
    EXPECT_EQ(answer.verdict(), Verdict::VERDICT_UNKNOWN);
    EXPECT_THAT(answer.message(),
                StartsWith("UNKNOWN: no answer within 20ms: the planner is busy"));
    request.set_words("llama-3.1-8b gbs=64 sequence-length=4096");
    answer = Admitted(server, request);
    EXPECT_EQ(answer.verdict(), Verdict::VERDICT_UNKNOWN);
    EXPECT_THAT(answer.message(), HasSubstr("no layout is given"));
    // What takes no thread is still answered.
    EXPECT_EQ(Admitted(server, RequestOf(kFits)).verdict(), Verdict::VERDICT_FITS);
  }
  EXPECT_EQ(Admitted(server, RequestOf("mixtral-8x7b tp=8 gbs=64 sequence-length=4096")).verdict(),
            Verdict::VERDICT_DOES_NOT_FIT);
}

// A call whose caller waits.
class WaitingCall final : public CallContext {
 public:
  std::string peer() const override { return "unix:"; }
  std::string certificate_name() const override { return ""; }
  absl::string_view authorization() const override { return ""; }
  absl::string_view traceparent() const override { return ""; }
  std::chrono::system_clock::time_point deadline() const override {
    return std::chrono::system_clock::time_point::max();
  }
  bool IsCancelled() const override { return false; }
  void Cancel() override {}
};

// Admissions without a server, one after the other.
class Judge {
 public:
  absl::Status Ask(const v1::AdmitRequest& request, v1::AdmitResponse* response) {
    Admission admission(call_, {.metrics = &metrics_,
                                .calibrations = [this] { return host_; },
                                .now = [] { return absl::FromUnixSeconds(kMeasured); },
                                .supplied = &supplied_});
    admission.Read(request);
    if (!admission.is_decided()) admission.Plan(absl::OkStatus());
    EXPECT_TRUE(admission.is_decided());
    return admission.Take(response);
  }
  // The count of a series.
  double Count(const std::string& caller, const std::string& verdict) {
    return metrics_.admissions(caller.c_str(), verdict.c_str()).Value();
  }

 private:
  const WaitingCall call_;
  const std::shared_ptr<const CalibrationSnapshot> host_ =
      std::make_shared<const CalibrationSnapshot>();
  prometheus::Registry registry_;
  Metrics metrics_{registry_};
  SuppliedCalibrations supplied_;
};

TEST(Admission, IsCounted) {
  Judge judge;
  v1::AdmitResponse response;
  v1::AdmitRequest request = RequestOf(kFits);
  ASSERT_TRUE(judge.Ask(request, &response).ok());
  request.mutable_caller()->set_scheduler(v1::AdmitCaller::SCHEDULER_SLURM);
  request.set_words("");
  ASSERT_TRUE(judge.Ask(request, &response).ok());
  request.set_words("--svg=x");
  ASSERT_FALSE(judge.Ask(request, &response).ok());
  EXPECT_EQ(judge.Count("other", "fits"), 1);
  EXPECT_EQ(judge.Count("slurm", "unknown"), 1);
  EXPECT_EQ(judge.Count("slurm", "refused"), 1);
}

// A busy planner lets jobs start.
TEST(Admission, IsInDoubtWithoutAThread) {
  AdmitQuestion question;
  v1::AdmitResponse response;
  ASSERT_TRUE(RefusalTo(question, ServerBusy("too many calls wait"), &response).ok());
  EXPECT_EQ(response.verdict(), Verdict::VERDICT_UNKNOWN);
  EXPECT_THAT(response.message(), StartsWith("UNKNOWN: too many calls wait"));
  EXPECT_FALSE(RefusalTo(question, absl::InternalError("broken"), &response).ok());
}

bool IsOneShortLine(const std::string& text) {
  return text.size() <= 400 && absl::c_all_of(text, [](char c) {
           return absl::ascii_isprint(static_cast<unsigned char>(c));
         });
}

// Lines that people write, and what nobody should.
const std::vector<std::string>& Pieces() {
  static const auto* const pieces = new std::vector<std::string>{"llama-3.1-8b",
                                                                 "llama-3.1-70b",
                                                                 "mixtral-8x7b",
                                                                 "gpt2",
                                                                 "--tp=8",
                                                                 "tp=2",
                                                                 "--pp 4",
                                                                 "pp=2",
                                                                 "--gbs=64",
                                                                 "gbs=32",
                                                                 "--sequence-length=8192",
                                                                 "sequence-length=4Ki",
                                                                 "--zero=1",
                                                                 "zero=3",
                                                                 "--tokens=15T",
                                                                 "--recompute=full",
                                                                 "--mbs=2",
                                                                 "--cp=2",
                                                                 "--ep=8",
                                                                 "--vpp=2",
                                                                 "--sp=true",
                                                                 "--lora-rank=16",
                                                                 "--freeze-base",
                                                                 "--framework=torchtitan",
                                                                 "--optimizer=muon",
                                                                 "--devices=8",
                                                                 "--config=/etc/shadow",
                                                                 "--emit-to=victim",
                                                                 "--svg=x",
                                                                 "--request=-",
                                                                 "--model=/etc/passwd",
                                                                 "/etc/shadow",
                                                                 "~root",
                                                                 "$(id)",
                                                                 "`id`",
                                                                 "$HOME",
                                                                 "'",
                                                                 "\"",
                                                                 "\\",
                                                                 "..",
                                                                 "-",
                                                                 "--",
                                                                 "=",
                                                                 "--=",
                                                                 "=8",
                                                                 "--tp=",
                                                                 "--tp=99999999999999999999",
                                                                 "--tp=-1",
                                                                 "--tp=1e400",
                                                                 "--mbs=0",
                                                                 "--gbs=1e18",
                                                                 "--fits-chance=nan",
                                                                 "--dropout=x",
                                                                 "--address=a:1",
                                                                 "--batch-ramp=1:1",
                                                                 "--layers-per-chunk=1x1",
                                                                 "--unmodelled=x",
                                                                 std::string("\0", 1),
                                                                 "\x1b[2J",
                                                                 "\xff\xfe",
                                                                 "\xe2\x80\xae",
                                                                 "\n",
                                                                 "\t",
                                                                 "\r",
                                                                 "%s%n",
                                                                 "{\"a\":1}",
                                                                 "😀"};
  return *pieces;
}

class LineMutator {
 public:
  explicit LineMutator(uint32_t seed) : random_(seed) {}

  std::string Next() {
    std::string line;
    const size_t pieces = Below(12);
    for (size_t i = 0; i < pieces; ++i) {
      absl::StrAppend(&line, Pieces()[Below(Pieces().size())], Below(8) == 0 ? "" : " ");
    }
    for (size_t i = Below(4); i > 0 && !line.empty(); --i) Mutate(&line);
    if (Below(200) == 0) line.resize(Below(5000), 'x');
    return line;
  }

 private:
  size_t Below(size_t limit) { return random_() % limit; }
  void Mutate(std::string* line) {
    const size_t at = Below(line->size());
    switch (Below(4)) {
      case 0:
        (*line)[at] = static_cast<char>(Below(256));
        break;
      case 1:
        line->insert(at, 1, static_cast<char>(Below(256)));
        break;
      case 2:
        line->erase(at, 1 + Below(4));
        break;
      default:
        line->insert(at, line->substr(Below(line->size()), Below(20)));
    }
  }

  std::mt19937 random_;
};

TEST(Admission, AnswersMutatedLinesWithAVerdictOrTheWordThatIsWrong) {
  constexpr int kLines = 100'000;
  Judge judge;
  LineMutator lines(49);
  v1::AdmitRequest request = RequestOf("", 16);
  request.clear_budget();
  int judged = 0;
  for (int i = 0; i < kLines; ++i) {
    request.set_words(lines.Next());
    v1::AdmitResponse response;
    const absl::Status status = judge.Ask(request, &response);
    if (status.ok()) {
      ++judged;
      ASSERT_NE(response.verdict(), Verdict::VERDICT_UNSPECIFIED) << request.words();
      ASSERT_TRUE(IsOneShortLine(response.message())) << request.words();
      ASSERT_TRUE(IsOneShortLine(response.change())) << request.words();
      continue;
    }
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << request.words() << status;
    const std::vector<FieldViolation> violations = FieldViolationsOf(status);
    ASSERT_FALSE(violations.empty()) << request.words() << status;
    for (const FieldViolation& each : violations) {
      ASSERT_EQ(each.field, "words") << request.words() << status;
      ASSERT_TRUE(IsOneShortLine(each.description)) << each.description;
    }
  }
  EXPECT_GT(judged, kLines / 100);
}

TEST(OneLineOf, IsPrintableAndShort) {
  EXPECT_EQ(words::OneLineOf("a\nb\tc\x1b[2J\x7f\xe2\x80\xae"), "a b c?[2J????");
  EXPECT_EQ(words::OneLineOf(std::string(400, 'a')), std::string(400, 'a'));
  EXPECT_EQ(words::OneLineOf(std::string(401, 'a')), std::string(397, 'a') + "...");
}

}  // namespace
}  // namespace sextant::server
