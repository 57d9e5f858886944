#include "gpu_probe/host/cpu_features.h"

#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace sextant::probe {
namespace {

bool Bit(uint64_t word, int bit) { return (word >> bit & 1) != 0; }

// The parts of XCR0 that the system must save, by instruction set.
constexpr uint64_t kAvxState = 0x6;      // SSE and AVX registers
constexpr uint64_t kAvx512State = 0xE6;  // and the masks, upper halves, upper sixteen
constexpr uint64_t kAmxState = 0x60000;  // tile configuration and data

// An instruction set: the word and bit of cpuid that report it, what the system must save for it,
// and the set without which it does not count, which comes before it.
struct InstructionSet {
  bool CpuFeatures::*present;
  const char* name;
  uint32_t CpuidRegisters::*word;
  int bit;
  uint64_t saved_state;
  bool CpuFeatures::*needed;
};
using F = CpuFeatures;
using R = CpuidRegisters;
constexpr InstructionSet kInstructionSets[] = {
    {&F::avx, "avx", &R::leaf1_ecx, 28, kAvxState, nullptr},
    {&F::f16c, "f16c", &R::leaf1_ecx, 29, 0, &F::avx},
    {&F::fma, "fma", &R::leaf1_ecx, 12, 0, &F::avx},
    {&F::avx2, "avx2", &R::leaf7_ebx, 5, 0, &F::avx},
    {&F::avx_vnni, "avx_vnni", &R::leaf7_1_eax, 4, 0, &F::avx2},
    {&F::avx512f, "avx512f", &R::leaf7_ebx, 16, kAvx512State, &F::avx2},
    {&F::avx512dq, "avx512dq", &R::leaf7_ebx, 17, 0, &F::avx512f},
    {&F::avx512bw, "avx512bw", &R::leaf7_ebx, 30, 0, &F::avx512f},
    {&F::avx512vl, "avx512vl", &R::leaf7_ebx, 31, 0, &F::avx512f},
    {&F::avx512_vnni, "avx512_vnni", &R::leaf7_ecx, 11, 0, &F::avx512f},
    {&F::avx512_bf16, "avx512_bf16", &R::leaf7_1_eax, 5, 0, &F::avx512f},
    {&F::avx512_fp16, "avx512_fp16", &R::leaf7_edx, 23, 0, &F::avx512f},
    {&F::amx_tile, "amx_tile", &R::leaf7_edx, 24, kAmxState, nullptr},
    {&F::amx_bf16, "amx_bf16", &R::leaf7_edx, 22, 0, &F::amx_tile},
    {&F::amx_int8, "amx_int8", &R::leaf7_edx, 25, 0, &F::amx_tile},
};

constexpr uint32_t kIntelCaches = 4;
constexpr uint32_t kAmdCaches = 0x8000001D;

struct Leaf {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
};

#if defined(__x86_64__)
// All 0 where the processor does not have the leaf.
Leaf Cpuid(uint32_t leaf, uint32_t subleaf) {
  Leaf out;
  if (__get_cpuid_count(leaf, subleaf, &out.eax, &out.ebx, &out.ecx, &out.edx) == 0) return {};
  return out;
}

// Call only where leaf 1 reports that the system uses XSAVE (OSXSAVE).
uint64_t ReadXcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}
#else
Leaf Cpuid(uint32_t, uint32_t) { return {}; }
uint64_t ReadXcr0() { return 0; }
#endif

// Bytes of the largest cache that the leaf reports; 0 where it reports none.
int64_t LargestCacheBytes(uint32_t leaf) {
  constexpr uint32_t kMaxCacheCount = 16;  // above any processor's; bounds a faulty guest's list
  int64_t largest = 0;
  for (uint32_t i = 0; i < kMaxCacheCount; ++i) {
    const Leaf cache = Cpuid(leaf, i);
    if ((cache.eax & 0x1F) == 0) break;
    const int64_t ways = (cache.ebx >> 22) + 1;
    const int64_t partitions = (cache.ebx >> 12 & 0x3FF) + 1;
    const int64_t line_bytes = (cache.ebx & 0xFFF) + 1;
    const int64_t sets = int64_t{cache.ecx} + 1;
    largest = std::max(largest, ways * partitions * line_bytes * sets);
  }
  return largest;
}

}  // namespace

CpuFeatures FeaturesFrom(const CpuidRegisters& registers) {
  CpuFeatures out;
  for (const InstructionSet& set : kInstructionSets) {
    const bool possible = set.needed == nullptr || out.*set.needed;
    const bool saved = (registers.xcr0 & set.saved_state) == set.saved_state;
    out.*set.present = possible && saved && Bit(registers.*set.word, set.bit);
  }
  return out;
}

CpuFeatures DetectCpuFeatures() {
  CpuidRegisters registers;
  registers.leaf1_ecx = Cpuid(1, 0).ecx;
  const Leaf leaf7 = Cpuid(7, 0);
  registers.leaf7_ebx = leaf7.ebx;
  registers.leaf7_ecx = leaf7.ecx;
  registers.leaf7_edx = leaf7.edx;
  if (leaf7.eax >= 1) registers.leaf7_1_eax = Cpuid(7, 1).eax;
  constexpr int kOsxsave = 27;
  if (Bit(registers.leaf1_ecx, kOsxsave)) registers.xcr0 = ReadXcr0();
  return FeaturesFrom(registers);
}

SimdLevel WidestSimd(const CpuFeatures& features) {
  if (features.avx512f) return SimdLevel::kAvx512;
  return features.avx2 && features.fma ? SimdLevel::kAvx2 : SimdLevel::kBase;
}

std::vector<std::string> InstructionSetNames(const CpuFeatures& features) {
  std::vector<std::string> names;
  for (const InstructionSet& set : kInstructionSets) {
    if (features.*set.present) names.emplace_back(set.name);
  }
  return names;
}

bool MultipliesBf16(const CpuFeatures& features) {
  return features.avx512_bf16 || features.amx_bf16;
}

bool MultipliesInt8(const CpuFeatures& features) {
  return features.avx512_vnni || features.avx_vnni || features.amx_int8;
}

#if defined(__x86_64__)
std::string ProcessorName() {
  constexpr uint32_t kFirstNameLeaf = 0x80000002;
  constexpr uint32_t kNameLeafCount = 3;
  std::array<char, kNameLeafCount * sizeof(Leaf) + 1> name = {};
  for (uint32_t i = 0; i < kNameLeafCount; ++i) {
    const Leaf leaf = Cpuid(kFirstNameLeaf + i, 0);
    std::memcpy(name.data() + i * sizeof(Leaf), &leaf, sizeof(Leaf));
  }
  std::string text(name.data());
  // A guest's name may hold any bytes; bytes that are not ASCII could not be put in a message.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return !absl::ascii_isprint(c); }, ' ');
  absl::RemoveExtraAsciiWhitespace(&text);
  return text;
}
#else
std::string ProcessorName() {
  if ((getauxval(AT_HWCAP) & HWCAP_CPUID) == 0) return "";
  // Linux returns the register of the current core. Bits 31 to 24 are the implementer, 15 to 4 the
  // part (Arm Architecture Reference Manual, MIDR_EL1).
  uint64_t identity = 0;
  __asm__("mrs %0, midr_el1" : "=r"(identity));
  const uint64_t maker = identity >> 24 & 0xFF;
  const uint64_t part = identity >> 4 & 0xFFF;
  constexpr uint64_t kArm = 0x41;
  // The parts of Linux's arch/arm64/include/asm/cputype.h that are used in hosts with GPUs.
  const struct {
    uint64_t part;
    const char* name;
  } known[] = {{0xD0C, "N1"}, {0xD40, "V1"}, {0xD49, "N2"}, {0xD4F, "V2"}};
  for (const auto& core : known) {
    if (maker == kArm && part == core.part) return absl::StrCat("Arm Neoverse-", core.name);
  }
  return absl::StrCat("aarch64, maker 0x", absl::Hex(maker), ", part 0x", absl::Hex(part));
}
#endif

absl::optional<int64_t> CacheBytesFromCpuid() {
  const int64_t bytes = std::max(LargestCacheBytes(kIntelCaches), LargestCacheBytes(kAmdCaches));
  if (bytes == 0) return absl::nullopt;
  return bytes;
}

}  // namespace sextant::probe
