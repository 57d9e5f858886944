#include "server/launcher/software.h"

#include <cstddef>
#include <string>

#include "google/protobuf/message.h"
#include "sextant/v1/framework.pb.h"

namespace sextant::server {
namespace {

using google::protobuf::FieldDescriptor;

double HopperValue(Framework framework, StackConstant constant) {
  return StackOf(framework).of(constant).On(DeviceGeneration::kHopper);
}

SoftwareSpec SpecOf(const v1::SoftwareStack& software) {
  SoftwareSpec out = {.name = software.name()};
  const google::protobuf::Reflection& reflection = *software.GetReflection();
  for (size_t i = 0; i < kStackConstantCount; ++i) {
    const auto constant = static_cast<StackConstant>(i);
    const FieldDescriptor* const field =
        software.GetDescriptor()->FindFieldByName(std::string(StackConstantName(constant)));
    if (!reflection.HasField(software, field)) continue;
    const bool number = field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE;
    out.of(constant) = number ? reflection.GetDouble(software, field)
                              : static_cast<double>(reflection.GetBool(software, field));
  }
  return out;
}

// Bytes of a number on its way. Gradients under bf16 are fp32 unless said otherwise.
double BytesOf(v1::DataType type, double unspecified) {
  switch (type) {
    case v1::DATA_TYPE_UNSPECIFIED:
      return unspecified;
    case v1::DATA_TYPE_FP32:
    case v1::DATA_TYPE_TF32:
      return 4;
    case v1::DATA_TYPE_BF16:
    case v1::DATA_TYPE_FP16:
      return 2;
    default:
      return 1;
  }
}

}  // namespace

SoftwareConstants ConstantsOfRun(const v1::PlanRunRequest& request, const LaunchSizes& sizes) {
  const v1::RunLayout& layout = request.layout();
  const v1::FrameworkMemory::Kind kind = layout.framework().kind();
  // Both have the same order.
  const auto framework = static_cast<Framework>(kind - v1::FrameworkMemory::KIND_MEGATRON_LM);
  const bool named = kind != v1::FrameworkMemory::KIND_UNSPECIFIED;
  return ConstantsOf(SpecOf(layout.software()), named ? &framework : nullptr,
                     DeviceGeneration::kHopper)
      .Under({.sequence_parallel = sizes.sequence_parallel,
              .dual_pipe = layout.schedule() == v1::PIPELINE_SCHEDULE_DUALPIPE,
              .distributed_optimizer = sizes.zero != v1::ZERO_STAGE_NONE});
}

double OverlappedTensorExposure() {
  return HopperValue(Framework::kMegatronBridge, StackConstant::kTensorExchangeExposure);
}

double GradientsAloneOverlap(const v1::PrecisionPolicy& precision) {
  const v1::DataType compute = precision.compute_data_type();
  const bool whole = compute == v1::DATA_TYPE_FP32;
  const bool half = compute == v1::DATA_TYPE_FP16;
  const double gradient = BytesOf(precision.gradient_data_type(), half ? 2 : 4);
  const double weight = BytesOf(precision.weight_data_type(), whole ? 4 : 2);
  return HopperValue(Framework::kMegatronLm, StackConstant::kDataExchangeOverlap) * gradient /
         (gradient + weight);
}

double EagerMemoryPassRatio() {
  return HopperValue(Framework::kPytorchFsdp, StackConstant::kMemoryPassTimeRatio);
}

}  // namespace sextant::server
