// The words of AdmitRequest: how they are split, what they set and what they can't.
#include "server/convert/admit_words.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "proto/words/field_names.h"
#include "proto/words/field_path.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

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
  } cases[] = {
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
  for (const auto& c : cases) {
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
  } cases[] = {
      {"--config=/etc/shadow", "--config names a file, and none is read here"},
      {"hugging_face_config=x", "--config names a file"},
      {"--transformer={}", "--transformer names a file"},
      {"--architecture x", "--architecture names a file"},
      {"--measured-step=x", "--measured-step names a file"},
      {"--calibration=x", "--calibration names a file"},
      {"--request=run.json", "\"request\" sets nothing of a run"},
      {"--emit-to=victim", "\"emit-to\" sets nothing"},
      {"--from-megatron=x", "sets nothing"},
      {"--svg=x", "\"svg\" sets nothing"},
      {"--address=evil:1", "\"address\" sets nothing"},
      {"--token-file=x", "\"token-file\" sets nothing"},
      {"--tls-ca x", "\"tls-ca\" sets nothing"},
      {"--output=json", "\"output\" sets nothing"},
      {"--local", "\"local\" sets nothing"},
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
      {"-v", "\"-v\" sets nothing"},
      {"--", "\"\" sets nothing"},
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
  for (const auto& c : cases) {
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
  for (int i = 0; i < 300; ++i) absl::StrAppend(&many, "--n", i, "=1 ");
  EXPECT_EQ(FieldViolationsOf(ReadWords(many, &read)).size(), 8);
}

// The API marks what words may set: nothing that is read from a file, and no other host.
TEST(AdmittedFields, HoldNoFileDevicesOrPrices) {
  int admitted = 0;
  for (const words::NamedField& field : words::PlanFields()) {
    if (!field.described->admit()) continue;
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

}  // namespace
}  // namespace sextant::server
