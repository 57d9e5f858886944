// Enums of layouts and of the memory under them, between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_LAYOUT_ENUMS_H_
#define SEXTANT_SERVER_CONVERT_LAYOUT_ENUMS_H_

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/memory/activations/micro_batch.h"
#include "engine/memory/ledger/framework.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"
#include "engine/run/memory_estimate.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/plan.pb.h"

namespace sextant {

// From the wire. A number that this version does not know is a violation at `field`, and the
// default is returned, as where it is unspecified.
PipelineSchedule PipelineScheduleFrom(v1::PipelineSchedule wire, absl::string_view field,
                                      FieldViolations& violations);
// Absent: unspecified.
absl::optional<ZeroStage> ZeroStageFrom(v1::ZeroStage wire, absl::string_view field,
                                        FieldViolations& violations);
WeightScaling WeightScalingFrom(v1::WeightStorage::Scaling wire, absl::string_view field,
                                FieldViolations& violations);
AttentionKernel AttentionKernelFrom(v1::KernelChoices::Attention wire, absl::string_view field,
                                    FieldViolations& violations);
LossKind LossKindFrom(v1::KernelChoices::Loss wire, absl::string_view field,
                      FieldViolations& violations);
ExpertScaling ExpertScalingFrom(v1::KernelChoices::ExpertScaling wire, absl::string_view field,
                                FieldViolations& violations);
Framework FrameworkFrom(v1::FrameworkMemory::Kind wire, absl::string_view field,
                        FieldViolations& violations);

// To the wire.
v1::Verdict VerdictTo(Verdict verdict);
v1::LedgerKind LedgerKindTo(LedgerKind kind);
v1::PeakMoment PeakMomentTo(PeakMoment moment);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_LAYOUT_ENUMS_H_
