// Each code of CUDA and of NVML that means something of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/nvml.h"
#include "gpu_probe/exit_code.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::HasSubstr;
using Failure = v1::ProbeFailure;

struct CodeCase {
  int code;
  Failure::Kind kind;
  const char* reason;
  const char* advice;  // what the sentence tells to do or to look at
};

TEST(CudaFaultTest, EachCodeHasItsKindItsWordAndItsAdvice) {
  EXPECT_THAT(CudaStatus(0, "cuInit"), IsOk());
  // Numbers as cuda.h and driver_types.h have them.
  for (const CodeCase& c : std::vector<CodeCase>{
           {2, Failure::KIND_REFUSED, "memory", "free some"},
           {34, Failure::KIND_UNSUPPORTED, "stub", "install a driver"},
           {35, Failure::KIND_UNSUPPORTED, "driver_too_old", "newer driver"},
           {46, Failure::KIND_REFUSED, "mode", "wait until it ends"},
           {100, Failure::KIND_UNSUPPORTED, "no_device", "pass one"},
           {101, Failure::KIND_UNSUPPORTED, "no_device", "not there"},
           {200, Failure::KIND_UNSUPPORTED, "driver_too_old", "or this program anew"},
           {209, Failure::KIND_UNSUPPORTED, "driver_too_old", "install a newer driver"},
           {214, Failure::KIND_MISMATCH, "ecc", "drain this GPU"},
           {218, Failure::KIND_UNSUPPORTED, "driver_too_old", "install a newer driver"},
           {222, Failure::KIND_UNSUPPORTED, "driver_too_old", "install a newer driver"},
           {304, Failure::KIND_UNSUPPORTED, "no_device", "/dev/nvidia"},
           {700, Failure::KIND_INTERNAL, "sticky", "run the probe again"},
           {719, Failure::KIND_INTERNAL, "sticky", "Xid"},
           {802, Failure::KIND_UNSUPPORTED, "no_device", "fabricmanager"},
           {803, Failure::KIND_UNSUPPORTED, "mismatch", "reboot"},
           {804, Failure::KIND_UNSUPPORTED, "mismatch", "LD_LIBRARY_PATH"},
           {999, Failure::KIND_INTERNAL, "cuda", "nvidia-smi"},
           {-1, Failure::KIND_INTERNAL, "cuda", "nvidia-smi"},
       }) {
    const Failure failure = FailureOf(CudaStatus(c.code, "cuSomething"));
    EXPECT_EQ(failure.kind(), c.kind) << c.code;
    EXPECT_EQ(failure.reason(), c.reason) << c.code;
    EXPECT_THAT(failure.message(), HasSubstr(c.advice));
    EXPECT_THAT(failure.message(), HasSubstr("cuSomething"));
    EXPECT_THAT(failure.message(), HasSubstr(absl::StrCat("CUDA's error ", c.code)));
  }
}

TEST(NvmlStatusTest, EachCodeHasItsKindItsWordAndItsAdvice) {
  EXPECT_THAT(NvmlStatus(nvml::kSuccess, "nvmlInit_v2"), IsOk());
  for (const CodeCase& c : std::vector<CodeCase>{
           {6, Failure::KIND_UNSUPPORTED, "no_device", "not there"},
           {9, Failure::KIND_UNSUPPORTED, "no_driver", "modprobe"},
           {12, Failure::KIND_UNSUPPORTED, "no_driver", "load it"},
           {15, Failure::KIND_INTERNAL, "lost", "drain the host"},
           {16, Failure::KIND_INTERNAL, "reset", "nvidia-smi -r"},
           {17, Failure::KIND_UNSUPPORTED, "no_device", "/dev/nvidia"},
           {18, Failure::KIND_UNSUPPORTED, "mismatch", "reboot"},
           {999, Failure::KIND_INTERNAL, "nvml", "nvidia-smi"},
       }) {
    const Failure failure = FailureOf(NvmlStatus(c.code, "nvmlSomething"));
    EXPECT_EQ(failure.kind(), c.kind) << c.code;
    EXPECT_EQ(failure.reason(), c.reason) << c.code;
    EXPECT_THAT(failure.message(), HasSubstr(c.advice));
    EXPECT_THAT(failure.message(), HasSubstr(absl::StrCat("nvmlSomething: NVML's error ", c.code)));
  }
}

}  // namespace
}  // namespace sextant::probe
