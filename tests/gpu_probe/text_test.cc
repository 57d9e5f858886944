#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gpu_probe/calibration_text.h"
#include "gpu_probe/figure_text.h"
#include "gpu_probe/progress_bar.h"
#include "gpu_probe/text_table.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FigureTextTest, Rates) {
  EXPECT_EQ(RateText(0, "B/s"), "0.0 B/s");
  EXPECT_EQ(RateText(312.4e9, "FLOP/s"), "312.4 GFLOP/s");
  EXPECT_EQ(RateText(999.94, "B/s"), "999.9 B/s");
  EXPECT_EQ(RateText(999.96, "B/s"), "1.0 kB/s");
  EXPECT_EQ(RateText(1e15, "FLOP/s"), "1.0 PFLOP/s");
  EXPECT_EQ(RateText(1e24, "FLOP/s"), "1.000e+24 FLOP/s");
  EXPECT_EQ(RateText(std::numeric_limits<double>::infinity(), "B/s"), "inf B/s");
}

TEST(FigureTextTest, FineRates) {
  EXPECT_EQ(FineRateText(2.85e12, "B/s"), "2.850 TB/s");
  EXPECT_EQ(FineRateText(28.5e12, "B/s"), "28.50 TB/s");
  EXPECT_EQ(FineRateText(712.34e12, "FLOP/s"), "712.3 TFLOP/s");
  EXPECT_EQ(FineRateText(9.9996e9, "B/s"), "10.00 GB/s");
  EXPECT_EQ(FineRateText(999.96, "B/s"), "1.000 kB/s");
  EXPECT_EQ(FineRateText(1e24, "FLOP/s"), "1.000e+24 FLOP/s");
}

TEST(FigureTextTest, Seconds) {
  EXPECT_EQ(SecondsText(1.234e-8), "12.3 ns");
  EXPECT_EQ(SecondsText(1.5e-3), "1.50 ms");
  EXPECT_EQ(SecondsText(999.4e-6), "999 us");
  EXPECT_EQ(SecondsText(999.6e-6), "1.00 ms");
  EXPECT_EQ(SecondsText(44.1), "44.1 s");
  EXPECT_EQ(SecondsText(9.996), "10.0 s");
  EXPECT_EQ(SecondsText(99.96), "100 s");
  EXPECT_EQ(SecondsText(12345), "12345 s");
  EXPECT_EQ(SecondsText(0), "0.00 ns");
}

TEST(FigureTextTest, Bytes) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(1023), "1023 B");
  EXPECT_EQ(BytesText(65536), "64.00 KiB");
  EXPECT_EQ(BytesText(int64_t{1} << 30), "1.00 GiB");
  EXPECT_EQ(BytesText(std::numeric_limits<int64_t>::max()), "8.00 EiB");
  EXPECT_EQ(BytesText((1 << 20) - 1), "1.00 MiB");
}

TEST(TextTableTest, AlignsAndCuts) {
  TextTable table({"name", ">rate", "why"});
  EXPECT_EQ(table.Text(), "");
  table.AddRow({"a", "1.0"});
  table.AddRow({"long", "100.0", std::string(200, 'x')});
  const std::vector<std::string> lines = absl::StrSplit(table.Text(), '\n');
  EXPECT_EQ(lines[0], "  name   rate  why");
  EXPECT_EQ(lines[1], "  a       1.0");
  EXPECT_EQ(lines[2].size(), kTextWidth);
  EXPECT_EQ(lines[2].substr(kTextWidth - 4), "x...");
}

TEST(TextTableTest, NothingSteersATerminal) {
  EXPECT_EQ(PrintableText("a\x1b[2Jb\nc\x7f"), "a?[2Jb?c?");
  TextTable table({"name"});
  table.AddRow({"\x1b[31m"});
  EXPECT_THAT(table.Text(), Not(HasSubstr("\x1b")));
}

TEST(TextTableTest, CutsWholeCharacters) {
  EXPECT_EQ(CutText("äöüß", 4), "äöüß");
  EXPECT_EQ(CutText("äöüßé", 4), "ä...");
}

TEST(TextTableTest, WrapsWithinTheWidth) {
  std::string text = "  -";
  for (int i = 0; i < 60; ++i) text += " word";
  absl::StrAppend(&text, " ", std::string(150, 'y'));
  const std::vector<std::string> lines = absl::StrSplit(WrapText(text, 4), '\n');
  EXPECT_EQ(lines[0].substr(0, 8), "  - word");
  for (size_t i = 0; i + 1 < lines.size(); ++i) {
    EXPECT_LE(lines[i].size(), kTextWidth);
    if (i > 0) {
      EXPECT_EQ(lines[i].substr(0, 4), "    ");
    }
  }
}

TEST(ProgressBarTest, FitsALineWhateverIsInIt) {
  for (const double fraction : {0.0, 0.5, 1.0, -1.0, 7.0, std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::infinity()}) {
    v1::ProbeProgress progress;
    progress.set_fraction(fraction);
    progress.set_phase("matmul bf16");
    progress.set_figure(std::string(100, 'f'));
    const std::string bar = ProgressBar(progress);
    EXPECT_EQ(bar.size(), 79 + sizeof("\r\x1b[K") - 1) << fraction;
    EXPECT_EQ(bar.find('\n'), std::string::npos);
  }
}

v1::Calibration Sample() {
  v1::Calibration calibration;
  const std::string time = R"({"median_seconds":0.002,"relative_spread":0.012,"p10_seconds":0.0019,
      "p90_seconds":0.0021,"sample_count":12,"repetition_count":"1","stable":true})";
  const std::string noisy = R"({"median_seconds":0.002,"relative_spread":0.312,"sample_count":4})";
  const std::string json = absl::StrCat(
      R"({"schema_version":1,"device":{"uuid":"CPU-0123456789abcdef","kind":"DEVICE_KIND_CPU",
      "product_name":"A Processor","hostname":"node-1","memory_bytes":"8589934592",
      "cache_bytes":"33554432","compute_unit_count":"2","instruction_sets":["avx2","avx512f"]},
      "measured_time":"2026-11-21T12:00:00Z","probe_version":"sextant-probe 0.1.0",
      "mode":"PROBE_MODE_STANDARD","duration_seconds":4.9,
      "coverage_ratio":0.95,"drift_ratio":0.008,
      "checked_result_count":"120","notes":["A note."],"ridge_flops_per_byte":13.5,
      "matmuls":[{"data_type":"DATA_TYPE_BF16","m":"1024","n":"512","k":"256",
      "engine":"onednn 2.6.3",
      "kernel":"brgemm:avx512_core_bf16","flops_per_second":312.4e9,"register_ratio":0.941,
      "time":)",
      time, R"(},{"data_type":"DATA_TYPE_FP32","m":"1000000","n":"1000000","k":"1000000",
      "engine":"builtin","flops_per_second":1e9,"time":)",
      noisy, R"(}],"registers":[{"data_type":"DATA_TYPE_FP32","instruction":"avx512f vfmadd",
      "flops_per_second":332e9,"time":)",
      time, R"(}],"streams":[{"operation":"OPERATION_COPY","array_bytes":"1073741824",
      "main_memory":true,"bytes_per_second":26.9e9,"time":)",
      time, R"(}],"elementwise":[{"multiply_add_count":"8","flops_per_byte":2,
      "array_bytes":"1073741824","flops_per_second":50e9,"bytes_per_second":25e9,"time":)",
      time, R"(}],"fusion":{"operation_count":"4","array_bytes":"1073741824","unfused_time":)",
      time, R"(,"fused_time":)", time, R"(,"speedup_ratio":3.2}})");
  EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(json, &calibration).ok());
  return calibration;
}

TEST(CalibrationTextTest, SaysEachFigureWithItsUnit) {
  const std::string text = CalibrationText(Sample());
  for (const char* part :
       {"A Processor, CPU-0123456789abcdef in node-1, 2 cores, 8.00 GiB memory, 32.00 MiB cache",
        "; avx2",
        "Measured 2026-11-21T12:00:00Z by sextant-probe 0.1.0, standard, in 4.90 s",
        "95.0 % of the points,",
        "120 results checked, drift +0.8 %",
        "bf16",
        "1024",
        "312.4 GFLOP/s",
        "2.00 ms",
        "1.2 %",
        "94.1 %",
        "onednn 2.6.3 brgemm",
        "31.2 %",
        "unstable",
        "avx512f vfmadd",
        "copy",
        "1.00 GiB",
        "memory",
        "26.9 GB/s",
        "2.00 FLOP/B",
        "ridge: 13.50 FLOP/B",
        "apart 2.00 ms, fused 2.00 ms: 3.20 times as fast",
        "- A note."}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) EXPECT_LE(line.size(), kTextWidth) << line;
}

TEST(CalibrationTextTest, ShowsWhatGpusAloneHave) {
  EXPECT_THAT(CalibrationText(Sample()), Not(HasSubstr("best")));
  v1::Calibration calibration = Sample();
  const std::string json = R"json({"matmuls":[{"data_type":"DATA_TYPE_BF16","m":"1","n":"1",
      "k":"1","flops_per_second":700e12,"best_flops_per_second":750e12}],
      "other_matmuls":[{"data_type":"DATA_TYPE_FP8_E4M3","m":"2048","n":"2048","k":"128",
      "batch_count":"96","layout":"LAYOUT_ROW_BY_ROW","fast_accumulation":true,
      "flops_per_second":900e12,"time":{"median_seconds":0.002,"sample_count":1}},
      {"data_type":"DATA_TYPE_BF16"}],
      "launches":[{"kind":"KIND_GRAPH","time":{"median_seconds":2.5e-6,"sample_count":5}}],
      "conditions":{"reading_count":40,"sm_clock_hertz":1.755e9,"maximum_sm_clock_hertz":1.98e9,
      "power_watts":690.4,"maximum_temperature_celsius":66,"power_throttle_ratio":0.5,
      "thermal_throttle_ratio":0,"hardware_throttle_ratio":0.025,
      "peak_allocated_bytes":"2147483648"}})json";
  calibration.clear_matmuls();
  v1::Calibration more;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &more).ok());
  calibration.MergeFrom(more);
  const std::string text = CalibrationText(calibration);
  for (const char* part :
       {"700.0 TFLOP/s", "best", "750.0 TFLOP/s", "96  row_by_row     fast", "1  row_by_column  -",
        "graph       2.50 us",
        "40 readings, sustained clock 1755 MHz of 1980, 690 W, at most 66 C, held down by "
        "the power limit",
        "by the hardware in 2.5 %", "2.00 GiB allocated"}) {
    EXPECT_THAT(absl::StrReplaceAll(text, {{"\n  ", " "}}), HasSubstr(part));
  }
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) EXPECT_LE(line.size(), kTextWidth) << line;
}

TEST(CalibrationTextTest, ShowsKernelsCollectivesAndCopies) {
  v1::Calibration calibration;
  const std::string json = R"json({"attentions":[{"data_type":"DATA_TYPE_BF16",
      "pass":"PASS_BACKWARD","batch":"2","sequence_length":"4096","heads":"32","kv_heads":"8",
      "head_size":"192","value_head_size":"128","causal":true,"window":"1024",
      "flops_per_second":450e12,"time":{"median_seconds":0.002,"sample_count":1}}],
      "experts":[{"data_type":"DATA_TYPE_FP8_E4M3","tokens":"16384","hidden_size":"7168",
      "feed_forward_size":"2048","expert_count":"256","experts_per_token":"8",
      "expert_parallel_size":"32","gated":true,"flops_per_second":900e12}],
      "collectives":[{"operation":"COLLECTIVE_OPERATION_ALL_GATHER","rank_count":"8",
      "size_bytes":"268435456","bus_bytes_per_second":350e9}],
      "host_copies":[{"direction":"DIRECTION_DEVICE_TO_HOST","pageable":true,
      "size_bytes":"268435456","bytes_per_second":9e9}]})json";
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &calibration).ok());
  const std::string text = CalibrationText(calibration);
  for (const char* part :
       {"bf16  backward      2    4096  32/8   192/128  causal 1024  450.0 TFLOP/s  2.00 ms",
        "fp8_e4m3   16384    7168    2048  8 of 256 gated       32  900.0 TFLOP/s",
        "all_gather        8  256.00 MiB  350.0 GB/s", "device_to_host  pageable     256.00 MiB",
        "9.0 GB/s"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  for (const std::string& line : lines) EXPECT_LE(line.size(), kTextWidth) << line;
}

TEST(CalibrationTextTest, LeavesOutWhatIsNotThere) {
  v1::Calibration bare;
  bare.mutable_device()->set_product_name("A Processor");
  const std::string text = CalibrationText(bare);
  EXPECT_THAT(text,
              AllOf(HasSubstr("A Processor"), Not(HasSubstr("Matrix")), Not(HasSubstr("ridge")),
                    Not(HasSubstr("Fusion")), Not(HasSubstr("Notes")), Not(HasSubstr("drift"))));
}

// A GPU's grid has 160 shapes a type, and dozens of kernels.
TEST(CalibrationTextTest, ALargeGridIsShownInPartAndItsKernelsCounted) {
  v1::Calibration calibration;
  for (int i = 0; i < 41; ++i) {
    v1::MatmulMeasurement* const matmul = calibration.add_matmuls();
    matmul->set_data_type(v1::DATA_TYPE_BF16);
    matmul->set_m(7000 + i);
    matmul->set_n(i < 5 ? 512 : 1024);
    matmul->set_k(512);
    matmul->set_engine("cublaslt 13.1.0");
    matmul->set_kernel(absl::StrCat("tile ", i));
  }
  const std::string text = CalibrationText(calibration);
  for (const char* part : {"7000", "7004", "bf16: 36 more shapes are in the calibration",
                           "bf16 by cublaslt 13.1.0, 41 kernels"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, AllOf(Not(HasSubstr("7005")), Not(HasSubstr("tile 3"))));
  calibration.mutable_matmuls()->RemoveLast();
  EXPECT_THAT(CalibrationText(calibration), AllOf(HasSubstr("7039"), Not(HasSubstr("more"))));
}

TEST(CalibrationTextTest, OneSampleHasNoSpread) {
  v1::Calibration calibration;
  calibration.add_registers()->mutable_time()->set_sample_count(1);
  EXPECT_THAT(CalibrationText(calibration), AllOf(HasSubstr("  -  "), Not(HasSubstr("0.0 %  "))));
}

TEST(CalibrationTextTest, HostileNamesAndFiguresDoNoHarm) {
  v1::Calibration calibration = Sample();
  calibration.mutable_device()->set_product_name("\x1b[2J");
  calibration.add_notes("\x1b[31m");
  calibration.set_drift_ratio(std::numeric_limits<double>::quiet_NaN());
  calibration.mutable_matmuls(0)->set_flops_per_second(-1);
  calibration.mutable_matmuls(0)->mutable_time()->set_median_seconds(
      std::numeric_limits<double>::infinity());
  EXPECT_THAT(CalibrationText(calibration), Not(HasSubstr("\x1b")));
}

TEST(DevicesTextTest, ALineADevice) {
  std::vector<v1::Device> devices(2, Sample().device());
  const std::string text = DevicesText(devices);
  EXPECT_THAT(text, HasSubstr("A Processor, CPU-0123456789abcdef in node-1, 2 cores"));
  EXPECT_EQ(DevicesText({}), "");
}

TEST(DevicesTextTest, AGpuTellsWhatItCanRunAndItsDriver) {
  v1::Device gpu;
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_product_name("NVIDIA H200");
  gpu.set_uuid("GPU-1");
  gpu.set_compute_unit_count(132);
  gpu.set_compute_capability("9.0");
  gpu.set_driver_version("580.65.06");
  gpu.set_power_limit_watts(700);
  const std::string text = absl::StrReplaceAll(DevicesText({gpu}), {{"\n  ", " "}});
  EXPECT_EQ(text,
            "NVIDIA H200, GPU-1, 132 multiprocessors, compute capability 9.0, driver 580.65.06, "
            "limited to 700 W\n");
}

}  // namespace
}  // namespace sextant
