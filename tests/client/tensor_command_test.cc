// `sextant tensor` and `sextant tokens` from their arguments to the exit code, against a fake
// server.
#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Tensors = Answering<v1::AnalyzeTensorRequest, v1::AnalyzeTensorResponse>;
using Tokens = Answering<v1::DescribeTokensRequest, v1::DescribeTokensResponse>;

template <typename Message>
Message ReadAnswer(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

TEST(Tensor, AsksForWhatIsWritten) {
  Tensors tensors;
  tensors.response.add_steps()->set_name("transpose");
  tensors.response.add_steps()->set_name("view");
  const FakeServer server(AccountingHandlers{.analyze_tensor = tensors.handler()});
  const Ran ran =
      RunWith({"tensor", "4x8", "transpose 0 1", "view -1", "--dtype=bf16", "--strides=16x2",
               "--offset=3", "--storage=1K", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("      transpose 0 1:"));
  EXPECT_TRUE(MessageDifferencer::Equals(
      tensors.request,
      ReadAnswer<v1::AnalyzeTensorRequest>(
          "tensor { shape: [4, 8] data_type: DATA_TYPE_BF16 strides: [16, 2] offset_elements: 3 "
          "storage_elements: 1000 } steps { transpose { axis_a: 0 axis_b: 1 } } "
          "steps { view { shape: -1 } }")))
      << tensors.request.DebugString();
}

TEST(Tensor, MayBeAScalarWithoutSteps) {
  Tensors tensors;
  const FakeServer server(AccountingHandlers{.analyze_tensor = tensors.handler()});
  EXPECT_EQ(RunWith({"tensor", "scalar", "--dtype=fp32", "--address", server.address()}).exit_code,
            0);
  EXPECT_EQ(tensors.request.tensor().shape_size(), 0);
}

TEST(Tensor, NamesTheStepAtFault) {
  Tensors tensors = {.status = FieldInvalid("steps[1].view.shape")};
  const FakeServer server(AccountingHandlers{.analyze_tensor = tensors.handler()});
  const Ran ran = RunWith(
      {"tensor", "4x8", "transpose 0 1", "view 32", "--dtype=bf16", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_EQ(
      ran.err,
      "sextant: INVALID_ARGUMENT: correct 1 field\n  STEP 2, \"view 32\" (shape): is wrong\n");
}

TEST(Tensor, TakesNoAnswerOfOtherSteps) {
  Tensors tensors;
  const FakeServer server(AccountingHandlers{.analyze_tensor = tensors.handler()});
  const Ran ran =
      RunWith({"tensor", "4x8", "squeeze", "--dtype=bf16", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("the answer holds no steps"));
}

TEST(TokensCommand, AsksForWhatIsWritten) {
  Tokens tokens;
  const FakeServer server(AccountingHandlers{.describe_tokens = tokens.handler()});
  tokens.response.set_bytes_per_id(2);
  const Ran ran = RunWith({"tokens", "15T", "--vocabulary=50257", "--tokens-per-second=9e6",
                           "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("15,000,000,000,000 tokens at 2 bytes an id"));
  EXPECT_TRUE(MessageDifferencer::Equals(
      tokens.request, ReadAnswer<v1::DescribeTokensRequest>("token_count: 15000000000000 "
                                                            "vocabulary_size: 50257 "
                                                            "tokens_per_second: 9e6")));
  tokens.status = FieldInvalid("vocabulary_size");
  const Ran wrong = RunWith({"tokens", "1", "--vocabulary=0", "--address", server.address()});
  EXPECT_EQ(wrong.exit_code, 3);
  EXPECT_THAT(wrong.err, HasSubstr("  --vocabulary: is wrong\n"));
}

// In place of fields that the server names.
TEST(Tensor, NamesWhatIsAtFaultInTheWordsOfTheCommandLine) {
  Tensors tensors;
  const FakeServer server(AccountingHandlers{.analyze_tensor = tensors.handler()});
  // The third has an umlaut of two bytes where the line ends.
  const std::string third = "check " + std::string(57, 'a');
  const std::string cut = absl::StrCat("STEP 3, \"", third, "...\"");
  const std::pair<const char*, const char*> cases[] = {
      {"steps[0].transpose.axis_b", "STEP 1, \"transpose 0 9\" (axis b)"},
      {"steps[1].check_shape.expression", "STEP 2, \"check a\" (expression)"},
      {"steps[1]", "STEP 2, \"check a\""},
      {"steps[1].check_shape", "STEP 2, \"check a\""},
      {"steps[2].view", cut.c_str()},
      {"steps[3].view", "steps[3].view"},  // there is no such step
      {"steps[x]", "steps[x]"},
      {"steps[1", "steps[1"},
      {"steps", "STEP"},
      {"tensor.shape[0]", "SHAPE"},
      {"tensor.strides", "--strides"},
      {"tensor.data_type", "--dtype"},
      {"tensor.offset_elements", "--offset"},
      {"tensor.storage_elements", "--storage"},
      {"future", "future"}};
  for (const auto& [field, words] : cases) {
    tensors.status = FieldInvalid(field);
    const Ran ran =
        RunWith({"tensor", "4x8", "transpose 0 9", "check a", absl::StrCat(third, "\xc3\xa4", "b"),
                 "--dtype=bf16", "--address", server.address()});
    EXPECT_THAT(ran.err, HasSubstr(absl::StrCat("\n  ", words, ": is wrong\n"))) << field;
  }
}

TEST(TokensCommand, NamesWhatIsAtFaultInTheWordsOfTheCommandLine) {
  Tokens tokens;
  const FakeServer server(AccountingHandlers{.describe_tokens = tokens.handler()});
  for (const auto& [field, words] : {std::pair("token_count", "COUNT"),
                                     {"vocabulary_size", "--vocabulary"},
                                     {"bytes_per_id", "--bytes-per-id"},
                                     {"tokens_per_second", "--tokens-per-second"},
                                     {"future", "future"}}) {
    tokens.status = FieldInvalid(field);
    const Ran ran = RunWith({"tokens", "5", "--bytes-per-id=2", "--address", server.address()});
    EXPECT_THAT(ran.err, HasSubstr(absl::StrCat("\n  ", words, ": is wrong\n"))) << field;
  }
}

}  // namespace
}  // namespace sextant::client
