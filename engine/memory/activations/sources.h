// Where it is known from that a tensor is kept, as its row says it. docs/memory.md says which of
// these were opened.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_SOURCES_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_SOURCES_H_

namespace sextant::activation_source {

// Views of these outlive every call.
inline constexpr char kLayer[] = "Korthikanti et al. 2022 (arXiv 2205.05198) section 4.1";
inline constexpr char kEnds[] = "Korthikanti et al. 2022 (arXiv 2205.05198) section 4.3";
inline constexpr char kFullRecompute[] = "Korthikanti et al. 2022 (arXiv 2205.05198) section 5";
inline constexpr char kFlash[] = "Dao et al. 2022 (arXiv 2205.14135) section 3.1";
inline constexpr char kWeightGradient[] = "Qi et al. 2023 (arXiv 2401.10241) section 2";
inline constexpr char kChainRule[] = "the chain rule: docs/memory.md";
inline constexpr char kLatent[] = "DeepSeek-V2 (arXiv 2405.04434) section 2.1; docs/memory.md";

}  // namespace sextant::activation_source

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_SOURCES_H_
