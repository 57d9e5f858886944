#include "gpu_probe/host/host_summary.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "gpu_probe/elementwise_summary.h"
#include "gpu_probe/host/elementwise_points.h"
#include "gpu_probe/host/host_context.h"
#include "gpu_probe/host/matmul_points.h"

namespace sextant {
namespace {

void FillRegisterRatios(const v1::RegisterMeasurement& registers, v1::Calibration* out) {
  const auto fill = [&](v1::MatmulMeasurement* matmul) {
    if (matmul->data_type() != registers.data_type()) return;
    matmul->set_register_ratio(matmul->flops_per_second() / registers.flops_per_second());
  };
  for (v1::MatmulMeasurement& matmul : *out->mutable_matmuls()) fill(&matmul);
  for (v1::MatmulMeasurement& matmul : *out->mutable_sustained_matmuls()) fill(&matmul);
}

void JudgeRatio(v1::RegisterMeasurement* registers, v1::Calibration* out) {
  const v1::DataType type = registers->data_type();
  const v1::MatmulMeasurement* best = nullptr;
  for (const v1::MatmulMeasurement& matmul : out->matmuls()) {
    if (matmul.data_type() != type || !matmul.has_register_ratio()) continue;
    if (best == nullptr || matmul.register_ratio() > best->register_ratio()) best = &matmul;
  }
  if (best == nullptr) return;
  const std::string name = absl::AsciiStrToUpper(TypeLabel(type));
  // A shape that was asked for may be as slow as it likes.
  if (best->register_ratio() < kLowRegisterRatio && !best->requested()) {
    AddNote(absl::StrFormat("The best multiplication in %s (%s, %s) reaches %.2f of the "
                            "registers' rate: the shapes are small, other programs ran, or the "
                            "library does not know this processor.",
                            name, best->engine(), best->kernel(), best->register_ratio()),
            out);
  } else if (best->register_ratio() > kHighRegisterRatio) {
    AddNote(absl::StrFormat("The best multiplication in %s (%s, %s) is %.2f times as fast as the "
                            "registers allow: the clock changed, or other programs ran, between "
                            "the two measurements. Measure again.",
                            name, best->engine(), best->kernel(), best->register_ratio()),
            out);
    // Its samples agree, and are wrong all the same.
    registers->mutable_time()->set_stable(false);
  }
}

}  // namespace

void SummariseHost(v1::Calibration* calibration) {
  for (v1::RegisterMeasurement& registers : *calibration->mutable_registers()) {
    FillRegisterRatios(registers, calibration);
    JudgeRatio(&registers, calibration);
  }
  FillRidge(kFewestMultiplyAdds, kMostMultiplyAdds, calibration);
  FillFusionSpeedup(calibration);
}

}  // namespace sextant
