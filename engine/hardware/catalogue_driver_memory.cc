#include "engine/hardware/catalogue_tables.h"

namespace sextant {
namespace {

using datasheet::Reported;

// The lowest CUDA total that reports of recent drivers (R510 and later) have is the one used:
// `reserved_mib` is then the most. Totals in GiB have two decimals, and the reserve is rounded up.
// "logs": public logs and issues that name the product, without their repositories.
// clang-format off
constexpr DriverMemoryRow kDriverMemoryRows[] = {
    {.name = "v100-sxm-16", .reported_mib = Reported(16384), .reserved_mib = Reported(254),
      .source = "driver: nvidia-smi in logs, driver 580; CUDA total 16130 MiB in logs"},
    {.name = "v100-sxm-32", .reported_mib = Reported(32768), .reserved_mib = Reported(277),
      .source = "driver: nvidia-smi in logs of SXM2; CUDA total 31.73 GiB in logs"},
    {.name = "t4", .reported_mib = Reported(15360), .reserved_mib = Reported(451),
      .source = "driver: NVIDIA/k8s-test-infra @3b2b865d qx-t4; CUDA total 14.56 GiB in logs"},
    {.name = "a100-sxm-40", .reported_mib = Reported(40960), .reserved_mib = Reported(635),
      .source = "driver: NVIDIA/k8s-test-infra @3b2b865d qx-a100 (whose own reserve is 518 MiB), "
       "modal-labs/modal-client PR 2797; CUDA total 39.38 GiB in logs"},
    {.name = "a100-sxm-80", .reported_mib = Reported(81920), .reserved_mib = Reported(871),
      .source = "driver: modal-labs/modal-client PR 2797; CUDA total 79.15 GiB: "
       "stas00/ml-engineering @744d01e training/performance/README.md"},
    {.name = "a100-pcie-40", .reported_mib = Reported(40960), .reserved_mib = Reported(621),
      .source = "driver: inferred from A100 SXM4 40GB, like the CUDA total of 42298834944 B: "
       "bottlerocket-os/bottlerocket PR 3873"},
    {.name = "a100-pcie-80", .reported_mib = Reported(81920), .reserved_mib = Reported(871),
      .source = "driver: nvidia-smi in logs; CUDA total inferred from A100 SXM4 80GB"},
    {.name = "a800-sxm-80", .reported_mib = Reported(81920), .reserved_mib = Reported(687),
      .source = "driver: dexmal/dexbotic issue 41; CUDA total 79.33 GiB in logs, driver 535"},
    {.name = "a800-pcie-80", .reported_mib = Reported(81920), .reserved_mib = Reported(687),
      .source = "driver: vllm-project/vllm issue 41519; CUDA total inferred from A800 SXM4 80GB"},
    {.name = "a10", .reported_mib = Reported(23028), .reserved_mib = Reported(439),
      .source = "driver: modal-labs/modal-client PR 2797; CUDA total 22.06 GiB in a log"},
    {.name = "a10g", .reported_mib = Reported(23028), .reserved_mib = Reported(470),
      .source = "driver: nvidia-smi in logs; CUDA total 22.03 GiB in logs"},
    {.name = "a30", .reported_mib = Reported(24576), .reserved_mib = Reported(482),
      .source = "driver: nvidia-smi in logs; CUDA total 23.53 GiB: google/RB-Modulation issue 5"},
    {.name = "a40", .reported_mib = Reported(46068), .reserved_mib = Reported(449),
      .source = "driver: nvidia-smi in logs; CUDA total 44.55 GiB in logs"},
    {.name = "rtx-a6000", .reported_mib = Reported(49140), .reserved_mib = Reported(464),
      .source = "driver, without ECC: noonghunna/club-3090 issue 1047; CUDA total 48676 MiB in "
       "logs"},
    {.name = "rtx-3090", .reported_mib = Reported(24576), .reserved_mib = Reported(328),
      .source = "driver: nvidia-smi in logs; CUDA total 23.68 GiB: wutong16/HyperDreamer issue 4 "
       "(23.70 in GaoLii/DSP issue 10)"},
    {.name = "rtx-5090", .reported_mib = Reported(32122), .reserved_mib = Reported(0),
      .source = "CUDA total 31.37 GiB: Wan-Video/Wan2.1 issue 465; the driver's own is not known"},
    {.name = "rtx-4090", .reported_mib = Reported(24564), .reserved_mib = Reported(357),
      .source = "driver: vllm-project/vllm issue 7553; CUDA total on Linux 23.64 GiB in logs"},
    {.name = "rtx-6000-ada", .reported_mib = Reported(49140), .reserved_mib = Reported(634),
      .source = "driver: nvidia-smi in logs; CUDA total 50865307648 B: unslothai/unsloth-zoo "
       "PR 1053"},
    {.name = "rtx-pro-6000", .reported_mib = Reported(97887), .reserved_mib = Reported(648),
      .source = "driver: nvidia-smi in logs; CUDA total 94.96 GiB in logs"},
    {.name = "l4", .reported_mib = Reported(23034), .reserved_mib = Reported(476),
      .source = "driver: modal-labs/modal-client PR 2797; CUDA total 22.03 GiB in a log"},
    {.name = "l40", .reported_mib = Reported(46068), .reserved_mib = Reported(705),
      .source = "driver: nvidia-smi in logs; CUDA total 44.3 GiB in logs"},
    {.name = "l40s", .reported_mib = Reported(46068), .reserved_mib = Reported(609),
      .source = "driver and its reserve: NVIDIA/k8s-test-infra @3b2b865d qx-l40s; CUDA total "
       "44.39 GiB in logs"},
    {.name = "h100-sxm", .reported_mib = Reported(81559), .reserved_mib = Reported(480),
      .source = "driver and its reserve: NVIDIA/k8s-test-infra @3b2b865d qx-h100; CUDA total "
       "79.18 GiB in logs"},
    {.name = "h100-pcie", .reported_mib = Reported(81559), .reserved_mib = Reported(551),
      .source = "driver: nvidia-smi in logs; CUDA total 81008 MiB in a log"},
    {.name = "h100-nvl", .reported_mib = Reported(95830), .reserved_mib = Reported(500),
      .source = "driver: nvidia-smi in logs; CUDA total 99961274368 B: fastfetch-cli/fastfetch "
       "issue 1658"},
    {.name = "h200-sxm", .reported_mib = Reported(143771), .reserved_mib = Reported(615),
      .source = "driver: nvidia-smi in logs; CUDA total 139.80 GiB: "
       "mlcommons/training_results_v5.1 Dell/results/1xXE9680Lx8H200-SXM-141GB, 143156 MiB in a "
       "log"},
    {.name = "h200-nvl", .reported_mib = Reported(143771), .reserved_mib = Reported(615),
      .source = "driver and CUDA total inferred from H200 SXM"},
    {.name = "h800-sxm", .reported_mib = Reported(81559), .reserved_mib = Reported(480),
      .source = "driver: nvidia-smi in a log, driver 570; CUDA total inferred from H100 SXM5"},
    {.name = "h20", .reported_mib = Reported(97871), .reserved_mib = Reported(586),
      .source = "driver: NVIDIA/nvtrust issue 128; CUDA total 97285 MiB in logs of one project"},
    {.name = "gh200-96", .reported_mib = Reported(97871), .reserved_mib = Reported(1103),
      .source = "driver: nvidia-smi in logs; CUDA total 94.50 GiB in a log that does not name the "
       "product"},
    {.name = "gh200-144", .reported_mib = Reported(146831), .reserved_mib = Reported(911),
      .source = "driver: nvidia-smi in logs of one project, driver 580; CUDA total "
       "153008209920 B in a log"},
    {.name = "b200-sxm", .reported_mib = Reported(183359), .reserved_mib = Reported(728),
      .source = "driver and its reserve: NVIDIA/k8s-test-infra @3b2b865d qx-b200; CUDA total "
       "178.35 GiB: pytorch/ao PR 4002"},
    {.name = "b300-sxm", .reported_mib = Reported(275040), .reserved_mib = Reported(926),
      .source = "driver: nvidia-smi in logs; CUDA total 267.69 GiB in logs"},
    {.name = "gb200", .reported_mib = Reported(189471), .reserved_mib = Reported(742),
      .source = "driver and its reserve: NVIDIA/k8s-test-infra @3b2b865d qx-gb200; CUDA total "
       "184.31 GiB in logs"},
    {.name = "gb300", .reported_mib = Reported(284208), .reserved_mib = Reported(1072),
      .source = "driver: NVIDIA/k8s-test-infra @3b2b865d qx-gb300 (whose own reserve is 947 MiB); "
       "CUDA total 276.50 GiB in logs"},
    {.name = "mi210", .reported_mib = Reported(65520), .reserved_mib = Reported(0),
      .source = "driver: rocm-smi in logs; HIP total 63.98 GiB in logs, the same"},
    {.name = "mi250", .reported_mib = Reported(2 * 65520), .reserved_mib = Reported(0),
      .source = "driver: twice that of a GCD, as of MI250X"},
    {.name = "mi250x", .reported_mib = Reported(2 * 65520), .reserved_mib = Reported(0),
      .source = "driver: twice that of a GCD, rocm-smi in logs; HIP total 63.98 GiB a GCD in logs, "
       "the same"},
    {.name = "mi325x", .reported_mib = Reported(261826), .reserved_mib = Reported(0),
      .source = "HIP total 255.69 GiB in logs that do not name the product (255.98 elsewhere); the "
       "driver's own is not known"},
    {.name = "mi300x", .reported_mib = Reported(196592), .reserved_mib = Reported(302),
      .source = "driver: ROCm/legacy-rocm-build issue 4750; HIP total 191.69 GiB in logs, likely "
       "of virtual machines (191.98 elsewhere)"},
};
// clang-format on

}  // namespace

absl::Span<const DriverMemoryRow> DriverMemoryTable() { return kDriverMemoryRows; }

}  // namespace sextant
