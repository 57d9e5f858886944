// `sextant tensor`: follows a tensor through views and copies.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/flags/field_flag.h"
#include "client/flags/given_fields.h"
#include "client/flags/tensor_step.h"
#include "client/flags/words.h"
#include "client/io/message_file.h"
#include "client/report/operation_text.h"
#include "client/text/text.h"
#include "sextant/v1/accounting_service.grpc.pb.h"

namespace sextant::client {
namespace {

constexpr char kTensorHelp[] =
    "Each STEP is one argument, in quotes; it works on the result of the one before. Names and\n"
    "behaviour are PyTorch's. Axes and indices may be negative: they count from the end.\n"
    "  select AXIS INDEX          one index of an axis, which goes\n"
    "  slice AXIS START:STOP:STEP a range, as Python has it: \"slice 1 0:10:2\", \"slice 0 :8\"\n"
    "  transpose [AXIS AXIS]      two axes change places; default: 0 1\n"
    "  permute AXIS...            all axes in another order\n"
    "  view SIZE...               another shape of the same storage; -1 is what remains\n"
    "  reshape SIZE...            the same, as a copy where there is no view\n"
    "  expand SIZE...             repeats axes of size 1; -1 keeps a size\n"
    "  squeeze [AXIS]             axes of size 1 go; default: all\n"
    "  unsqueeze [AXIS]           an axis of size 1 comes; default: 0\n"
    "  flatten [FIRST LAST]       axes become one; default: 0 -1\n"
    "  contiguous                 row-major order\n"
    "  cast TYPE                  another number format\n"
    "  elementwise NAME [SHAPE]   add, relu, softmax, ...; SHAPE is the other operand's\n"
    "  rearrange EXPRESSION[, AXIS=SIZE...]   \"rearrange b s (h d) -> b h s d, h=8\"\n"
    "  repeat EXPRESSION[, AXIS=SIZE...]      \"repeat b d -> b r d, r=4\"\n"
    "  reduce EXPRESSION[, AXIS=SIZE...][, sum|mean|max|min|product]   \"reduce b s d -> b d, "
    "mean\"\n"
    "  check EXPRESSION           whether the shape is this: \"check batch seq hidden\"\n"
    "  index INDEX...             where in the storage an element is: \"index 1 2\"\n"
    "\n"
    "Examples:\n"
    "  Which steps copy?\n"
    "    sextant tensor 4x128x512 --dtype=bf16 \"view 4 128 8 64\" \"transpose 1 2\" contiguous\n"
    "  Does this view exist, and if not, why?\n"
    "    sextant tensor 4x8 --dtype=fp32 \"transpose 0 1\" \"view 32\"\n"
    "  By names of axes:\n"
    "    sextant tensor 4x128x512 --dtype=bf16 \"rearrange b s (h d) -> b h s d, h=8\" \\\n"
    "        \"check batch heads seq 64\"\n";

struct TensorFlags {
  v1::AnalyzeTensorRequest request;
  std::vector<std::string> steps;  // as they were written
};

constexpr FlagRow kTensorRows[] = {
    {.field = "steps", .word = "STEP", .below = Below::kUnknown},
    {.field = "tensor.data_type"},
    {.field = "tensor.shape", .word = "SHAPE", .below = Below::kDropped},
    {.field = "tensor.strides", .word = "--strides", .below = Below::kDropped},
};

// "select.axis" is " (axis)": the step's own name is in its text already.
std::string PartOf(absl::string_view rest) {
  absl::ConsumePrefix(&rest, ".");
  const size_t name_end = rest.find('.');
  if (name_end == absl::string_view::npos) return "";
  return absl::StrCat(" (", absl::StrReplaceAll(rest.substr(name_end + 1), {{"_", " "}}), ")");
}

// A step as it was written, cut to fit an error's line.
std::string Quoted(absl::string_view step) {
  constexpr size_t kMaxStepBytes = 64;
  if (step.size() <= kMaxStepBytes) return absl::StrCat("\"", step, "\"");
  size_t end = kMaxStepBytes;
  while (end > 0 && (static_cast<unsigned char>(step[end]) & 0xC0U) == 0x80U) --end;  // in UTF-8
  return absl::StrCat("\"", step.substr(0, end), "...\"");
}

// "STEP 3, \"select 9 1\" (axis)" for "steps[2].select.axis", `steps` being the steps as written;
// "--strides", "SHAPE"; the field itself where there are no words.
std::string TensorWords(const std::vector<std::string>& steps, const std::string& field) {
  absl::string_view rest = field;
  if (!absl::ConsumePrefix(&rest, "steps["))
    return RequestFieldWords<v1::AnalyzeTensorRequest, kTensorRows>(field);
  size_t index = 0;
  const size_t end = rest.find(']');
  if (end == absl::string_view::npos || !absl::SimpleAtoi(rest.substr(0, end), &index) ||
      index >= steps.size()) {
    return field;
  }
  return absl::StrCat("STEP ", index + 1, ", ", Quoted(steps[index]), PartOf(rest.substr(end + 1)));
}

// Adds the values where they could be read; otherwise returns the error.
absl::Status AddTo(const absl::StatusOr<std::vector<int64_t>>& values,
                   google::protobuf::RepeatedField<int64_t>* field) {
  if (values.ok()) field->Add(values->begin(), values->end());
  return values.status();
}

absl::Status AddStep(const std::string& text, TensorFlags* flags) {
  flags->steps.push_back(text);
  return ReadTensorStep(text, flags->request.add_steps());
}

int RunTensor(const TensorFlags& flags, const CommandLine& line, const Streams& streams) {
  v1::AnalyzeTensorResponse response;
  grpc::Status status =
      Call(line.server, &v1::AccountingService::Stub::AnalyzeTensor, flags.request, &response);
  if (status.ok() && response.steps_size() != flags.request.steps_size()) {
    status = Incomplete("steps");
  }
  if (!status.ok()) {
    return Fail(status, line, streams, {.field = [&flags](const std::string& field) {
                  return TensorWords(flags.steps, field);
                }});
  }
  return Show(line, streams, response, [&] { return TensorText(response, flags.steps); });
}

void AddTensorFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<TensorFlags>();
  v1::TensorSpec* tensor = flags->request.mutable_tensor();
  AddText(
      "SHAPE", "4x8x64, or scalar",
      [tensor](const std::string& text) {
        return AddTo(ParseShape(text), tensor->mutable_shape());
      },
      command)
      ->required();
  AddTexts(
      "STEP", "what is done with it, e.g. \"view 4 -1\"",
      [flags](const std::string& text) { return AddStep(text, flags.get()); }, command);
  AddFlags(RequestFlags<v1::AnalyzeTensorRequest, kTensorRows>(), nullptr, &flags->request,
           command);
  command->get_option("--dtype")->required()->option_text("TYPE REQUIRED");
  command->get_option("--strides")->type_name("STRIDES");
  OnceRead(command, line, flags, RunTensor);
}

}  // namespace

const Command kTensorCommand = {"tensor", "Follow a tensor through views and copies", kTensorHelp,
                                AddTensorFlags};

}  // namespace sextant::client
