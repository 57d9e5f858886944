// axolotl: what its reader and its writer share.
// Source: axolotl-ai-cloud/axolotl v0.18.0, src/axolotl/utils/schemas and src/axolotl/integrations.
#ifndef SEXTANT_SERVER_LAUNCHER_AXOLOTL_H_
#define SEXTANT_SERVER_LAUNCHER_AXOLOTL_H_

#include "server/launcher/fine_tuning.h"
#include "server/launcher/setting.h"

namespace sextant::server {

// Its deepspeed_configs/. The first of a kind is written.
inline constexpr DeepspeedPreset kAxolotlDeepspeed[] = {
    {"zero1.json", 1},
    {"zero2.json", 2, true},
    {"zero3_bf16.json", 3},
    {"zero3.json", 3},
    {"zero3_bf16_cpuoffload_params.json", 3, false, true},
    {"zero3_bf16_cpuoffload_all.json", 3, true, true},
};

inline constexpr char kLigerPlugin[] = "axolotl.integrations.liger.LigerPlugin";
inline constexpr char kCutLossPlugin[] =
    "axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin";
inline constexpr char kExpertPlugin[] = "axolotl.integrations.expert_parallel.ExpertParallelPlugin";

// Writers of its rows.
void WriteAxolotlModel(const Setting& setting, Writing& writing);
void WriteAxolotlAdapter(const Setting& setting, Writing& writing);
void WriteAxolotlAccumulation(const Setting& setting, Writing& writing);
void WriteAxolotlSteps(const Setting& setting, Writing& writing);
void WriteAxolotlOptimizer(const Setting& setting, Writing& writing);
void WriteAxolotlTypes(const Setting& setting, Writing& writing);
void WriteAxolotlRecompute(const Setting& setting, Writing& writing);
void WriteAxolotlLoss(const Setting& setting, Writing& writing);
void WriteAxolotlEngine(const Setting& setting, Writing& writing);
void WriteAxolotlGroup(const Setting& setting, Writing& writing);
void WriteAxolotlTensor(const Setting& setting, Writing& writing);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_LAUNCHER_AXOLOTL_H_
