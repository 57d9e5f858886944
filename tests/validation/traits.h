// Words that translators put into MeasuredCase::traits; causes of errors are looked up by them.
#ifndef SEXTANT_TESTS_VALIDATION_TRAITS_H_
#define SEXTANT_TESTS_VALIDATION_TRAITS_H_

namespace sextant {

inline constexpr char kTraitExperts[] = "experts";
inline constexpr char kTraitFsdp[] = "fsdp";
inline constexpr char kTraitBert[] = "bert";
inline constexpr char kTraitLocalLayers[] = "local layers";
inline constexpr char kTraitContextParallel[] = "context parallel";
inline constexpr char kTraitNewestWorkspace[] = "workspaces of the newest PyTorch";
inline constexpr char kTraitShorterSamples[] = "samples shorter than the maximum";
inline constexpr char kTraitCompiled[] = "compiled";

// Why a row is left out of which two columns can't both be right.
inline constexpr char kSelfContradicting[] = "two of its columns contradict each other";

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_TRAITS_H_
