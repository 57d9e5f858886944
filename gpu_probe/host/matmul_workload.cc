#include "gpu_probe/host/matmul_workload.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "gpu_probe/host/matmul_check.h"

namespace sextant {
namespace {

// Of every byte of C: NaN for the floating types, and for INT8 a sum below all that occur.
constexpr int kNanByte = 0xFF;
constexpr int kLowByte = 0x80;

}  // namespace

MatmulOperands MatmulWorkload::Operands() const {
  return {.a = parts_.arena->a(),
          .b = parts_.arena->b() + turn_ * parts_.rotation.stride_bytes,
          .c = parts_.arena->c()};
}

void MatmulWorkload::Poison() {
  const v1::MatmulShape& shape = parts_.shape;
  const int64_t bytes = shape.m() * shape.n() * OutputElementBytes(shape.data_type());
  const int value = shape.data_type() == v1::DATA_TYPE_INT8 ? kLowByte : kNanByte;
  parts_.context->team->Run([&](int index) {
    const Part part = PartOf(bytes, index, parts_.context->team->size(), /*block=*/4096);
    std::memset(parts_.arena->c() + part.begin, value, static_cast<size_t>(part.end - part.begin));
  });
}

absl::Status MatmulWorkload::Run(int64_t repetition_count) {
  for (int64_t i = 0; i < repetition_count; ++i) {
    turn_ = (turn_ + 1) % parts_.rotation.count;
    const absl::Status run = parts_.matmul->Run(Operands());
    if (!run.ok()) return absl::InternalError(absl::StrCat("the kernel failed: ", run.message()));
  }
  return absl::OkStatus();
}

absl::Status MatmulWorkload::Check() {
  // New signs each time: what one choice happens to cancel, the next does not.
  check_seed_ += static_cast<uint64_t>(parts_.shape.n());
  return CheckMatmul(parts_.shape, Operands(), check_seed_, parts_.context->team.get());
}

}  // namespace sextant
