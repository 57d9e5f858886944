// Answers of a server, for tests of what the program does with them: plans of a run "toy" on
// h100-sxm, and a calibration whose numbers are worked by hand. What answers look like is in
// tests/golden/text.
#ifndef SEXTANT_TESTS_CLIENT_SAMPLE_ANSWERS_H_
#define SEXTANT_TESTS_CLIENT_SAMPLE_ANSWERS_H_

#include <utility>
#include <vector>

#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/proto/text/sample_calibration.h"

namespace sextant::client {

inline constexpr int64_t kGibibyte = int64_t{1} << 30;

// 8 devices that share the model's state evenly, 3e9 of 80e9 bytes each.
v1::PlanRunResponse SamplePlan(v1::Verdict verdict = v1::VERDICT_FITS);

// The same under a layout of `count` stages, on devices of `usable` GiB. Stage i holds 32 GiB of
// state in four parts, 20 (count - i) / count GiB of activations, and 1, 0.5 and 2.5 GiB of
// transients, communication buffers and reserve; the estimate ends 1 GiB below and 2 GiB above.
v1::PlanRunResponse SampleStages(int count, int64_t usable = 80,
                                 v1::Verdict verdict = v1::VERDICT_FITS);

// SamplePlan() with a predicted step of 10 s (9 to 12) for 1e6 tokens, in 7 parts of 6, 1.5, 0.5,
// 1, 0.8, 0.004 and 0.196 s.
v1::PlanRunResponse SampleStep();

// SamplePlan() of a search with a front of these step times (s) and sizes (GiB), the first of them
// chosen. Intervals go from 10 % below to 20 % above.
v1::Plan PlanWithFront(const std::vector<std::pair<double, double>>& points);

// A front of 10, 12 and 20 s in 70, 60 and 30 GiB; the first is a tie. The second is tensor 4
// (sequence parallel) x context 2 x pipeline 2 with recomputed norms, ZeRO stage 1.
v1::Plan SampleFront();

// An operation "toy" on a device of these rates: of matrix products, and of other arithmetic where
// there is a second one; the ridge is at 100 FLOP a byte.
v1::AnalyzeOperationResponse SampleRoofline(const std::vector<double>& flops_per_second,
                                            double bytes_per_second);

// Its point of the forward pass: 1 s of it at a rate.
void SetForward(double intensity, double flops_per_second, v1::AnalyzeOperationResponse* response);

// Gives `plan` a predicted run that leaves its deadline `margin_seconds` (below 0: misses it), and
// keeps it with `chance`.
void SetDeadline(double margin_seconds, double chance, v1::Plan* plan);

using text::SampleCalibration;

// As the server holds it, three hours later; fingerprint "c0ffee".
v1::GetCalibrationResponse SampleHeldCalibration();

// As the last message of the probe that measured it; in use.
v1::RunProbeResponse SampleProbeResult();

// Halfway through that probe.
v1::RunProbeResponse SampleProgress();

// Its device, and a GPU that was never measured.
v1::ListDevicesResponse SampleDevices();

}  // namespace sextant::client

#endif  // SEXTANT_TESTS_CLIENT_SAMPLE_ANSWERS_H_
