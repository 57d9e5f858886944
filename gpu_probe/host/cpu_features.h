// The processor's features, from cpuid. No files are read. For aarch64 only the name is read: every
// such processor has what FP32 needs.
#ifndef SEXTANT_GPU_PROBE_HOST_CPU_FEATURES_H_
#define SEXTANT_GPU_PROBE_HOST_CPU_FEATURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/host/simd.h"

namespace sextant::probe {

// The registers of cpuid that describe vector and matrix instructions; a leaf that the processor
// does not have is 0.
struct CpuidRegisters {
  uint32_t leaf1_ecx = 0;
  uint32_t leaf7_ebx = 0;
  uint32_t leaf7_ecx = 0;
  uint32_t leaf7_edx = 0;
  uint32_t leaf7_1_eax = 0;  // subleaf 1
  uint64_t xcr0 = 0;         // which registers the system saves; 0 where it can't be read
};

// An instruction set counts only where the system also saves its registers.
struct CpuFeatures {
  bool avx = false;
  bool avx2 = false;
  bool fma = false;
  bool f16c = false;
  bool avx512f = false;
  bool avx512bw = false;
  bool avx512dq = false;
  bool avx512vl = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool avx512_vnni = false;
  bool avx_vnni = false;
  bool amx_tile = false;
  bool amx_bf16 = false;
  bool amx_int8 = false;
};

// Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID, and
// volume 1, chapters 13 (XCR0) and 18 (AMX).
CpuFeatures FeaturesFrom(const CpuidRegisters& registers);

CpuFeatures DetectCpuFeatures();

// The widest vectors for fp32.
SimdLevel WidestSimd(const CpuFeatures& features);

// As Linux names them, e.g. "avx2", "fma", "avx512_bf16".
std::vector<std::string> InstructionSetNames(const CpuFeatures& features);

// True where BF16, or INT8, has instructions of its own, and is not emulated.
bool MultipliesBf16(const CpuFeatures& features);
bool MultipliesInt8(const CpuFeatures& features);

// The processor's own name; empty where it reports none.
std::string ProcessorName();

// Bytes of its last-level cache; absent where the processor does not report it.
absl::optional<int64_t> CacheBytesFromCpuid();

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_CPU_FEATURES_H_
