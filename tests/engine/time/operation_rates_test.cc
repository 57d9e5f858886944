#include "engine/time/operation_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "engine/hardware/catalogue.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/support/note_matchers.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<absl::string_view> Quantities(const OperationRates& rates) {
  std::vector<absl::string_view> out;
  for (const Rate& rate : rates.used) out.push_back(rate.quantity);
  return out;
}

DeviceCalibration Measured() {
  DeviceCalibration out;
  out.uuid = "GPU-1";
  out.product_name = "Some GPU";
  out.KeepIfBetter({.data_type = DataType::kBf16,
                    .m = 1,
                    .n = 1,
                    .k = 1,
                    .rate = FlopsPerSecond(5e14),
                    .sample_count = 3,
                    .stable = true,
                    .engine = "library"});
  out.ConsiderPass(StreamPattern::kCopy,
                   {.per_second = 2e12, .array_bytes = 1 << 30, .sample_count = 1});
  return out;
}

TEST(OperationRates, OfADatasheetAreItsPeaks) {
  const auto rates = RatesFor({.device = {.accelerator = "h100-sxm"}}, DataType::kFp64, "device");
  ASSERT_THAT(rates, IsOk());
  EXPECT_THAT(Quantities(*rates),
              ElementsAre("peak_flops_per_second", "peak_general_flops_per_second",
                          "peak_memory_bandwidth_bytes_per_second"));
  EXPECT_NEAR(rates->rates.matrix->value(), 67e12, 0.2e12);     // fp64 by the matrix units
  EXPECT_NEAR(rates->rates.general->value(), 33.5e12, 0.2e12);  // without them
  EXPECT_EQ(rates->datasheet_peak, rates->rates.matrix);
}

TEST(OperationRates, OfAMeasuredDeviceLeaveOutWhatWasNotMeasured) {
  OperationDevice device = {.device = {.calibrations = {ModelOf(Measured())}}};
  device.launch_seconds = 1e-6;
  const auto rates = RatesFor(device, DataType::kBf16, "device");
  ASSERT_THAT(rates, IsOk());
  EXPECT_THAT(Quantities(*rates),
              ElementsAre("matmul_flops_per_second", "memory_bandwidth_bytes_per_second"));
  EXPECT_EQ(rates->used[0].source, RateSource::kMeasuredSupplied);
  EXPECT_FALSE(rates->used[1].measured->relative_spread.has_value());  // of a single sample
  EXPECT_FALSE(rates->rates.general.has_value());
  EXPECT_FALSE(rates->datasheet_peak.has_value());
  EXPECT_EQ(rates->rates.launch, Seconds(1e-6));
  ASSERT_THAT(rates->notes, ElementsAre(IsNote(NoteKind::kGeneralRateUnknown,
                                               HasSubstr("at the rate of matrix products"))));
  EXPECT_THAT(rates->notes[0].fields, ElementsAre("device.general_flops_per_second"));
}

TEST(OperationRates, OfADatasheetAreFullPeaksAndFreeLaunches) {
  const auto rates =
      RatesFor(OperationDevice{.device = {.accelerator = "h100-sxm"}}, DataType::kBf16, "device");
  ASSERT_THAT(rates, IsOk());
  ASSERT_THAT(rates->notes,
              ElementsAre(IsNote(NoteKind::kDatasheetPeaks, HasSubstr("in full")),
                          IsNote(NoteKind::kLaunchesFree,
                                 "Kernels launch in no time: device.launch_seconds is 0.")));
  EXPECT_THAT(rates->notes[1].fields, ElementsAre("device.launch_seconds"));
}

TEST(OperationRates, KeepTheMeasuredPassThatSaysMost) {
  DeviceCalibration c = Measured();
  const auto copy = [&c] { return c.memory_copy()->per_second; };
  c.ConsiderPass(StreamPattern::kCopy, {.per_second = 1.9e12, .sample_count = 9, .stable = true});
  EXPECT_EQ(copy(), 1.9e12);  // not 2e12, which is unstable and less than 10 % more
  c.ConsiderPass(StreamPattern::kCopy, {.per_second = 1.8e12, .sample_count = 9, .stable = true});
  EXPECT_EQ(copy(), 1.9e12);
  c.ConsiderPass(StreamPattern::kCopy, {.per_second = 3e12, .sample_count = 9});
  EXPECT_EQ(copy(), 3e12);
}

TEST(OperationRates, OfANamedDeviceNeedAMeasurement) {
  NamedDevice device = {.found = {}, .uuid = "GPU-1"};
  const auto fault = [&] {
    OperationDevice asked;
    asked.device.devices = {device};
    return PreconditionsOf(RatesFor(asked, DataType::kBf16, "device").status());
  };
  ASSERT_EQ(fault().size(), 1);
  EXPECT_THAT(fault()[0].description, HasSubstr("was never measured"));
  EXPECT_EQ(fault()[0].subject, "GPU-1");
  device.distrusted = true;
  EXPECT_THAT(fault()[0].description, HasSubstr("wrong result"));
  device.distrusted = false;
  device.model = ModelOf(Measured());
  EXPECT_THAT(fault(), IsEmpty());
  OperationDevice asked;
  asked.device.devices = {device};
  EXPECT_EQ(RatesFor(asked, DataType::kBf16, "device")->used[0].source,
            RateSource::kMeasuredDevice);
  device.found = absl::NotFoundError("no such device");
  asked.device.devices = {device};
  EXPECT_TRUE(absl::IsNotFound(RatesFor(asked, DataType::kBf16, "device").status()));
}

TEST(OperationRates, NameWhatIsMissing) {
  EXPECT_THAT(
      RatesFor({}, DataType::kBf16, "device"),
      NamesFields(ElementsAre("device.matrix_flops_per_second", "device.memory_bytes_per_second")));
  DeviceCalibration c = Measured();
  c.memory_passes = {};
  EXPECT_THAT(RatesFor({.device = {.calibrations = {ModelOf(c)}}}, DataType::kBf16, "device"),
              NamesFields(ElementsAre("device.memory_bytes_per_second")));
  EXPECT_THAT(
      RatesFor({.device = {.calibrations = {ModelOf(c), ModelOf(c)}}}, DataType::kBf16, "device"),
      NamesFields(ElementsAre("device.device.calibrations.calibrations[1]")));
}

// Operations without products need a bandwidth, which every product of the catalogue has; products
// need a peak in their type, too.
TEST(OperationRates, OfTheCatalogueNeedOnlyWhatTheOperationDoes) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kBf16, DataType::kFp16,
                                DataType::kFp8E4m3, DataType::kInt8, DataType::kNvfp4}) {
      SCOPED_TRACE(absl::StrCat(accelerator.name, " ", DataTypeName(type)));
      const OperationDevice device = {.device = {.accelerator = accelerator.name}};
      const auto passes = RatesFor(device, type, "device", OperationNeed::kMemoryAlone);
      const auto products = RatesFor(device, type, "device");
      ASSERT_TRUE(accelerator.memory_bandwidth_bytes_per_second);
      ASSERT_THAT(passes, IsOk());
      EXPECT_EQ(passes->rates.memory.value(), accelerator.memory_bandwidth_bytes_per_second.value);
      if (PeakFlopsPerSecond(accelerator, type)) {
        EXPECT_THAT(products, IsOk());
      } else {
        EXPECT_FALSE(passes->rates.matrix.has_value());
        EXPECT_THAT(products, NamesFields(ElementsAre("device.matrix_flops_per_second")));
      }
    }
  }
}

TEST(OperationRates, OfPassesAreMemoryAloneWhereNothingElseIsKnown) {
  const auto given = RatesFor({.memory_bytes_per_second = 1e12}, DataType::kBf16, "device",
                              OperationNeed::kMemoryAlone);
  ASSERT_THAT(given, IsOk());
  EXPECT_THAT(Quantities(*given), ElementsAre("memory_bandwidth_bytes_per_second"));
  EXPECT_THAT(given->notes[0],
              IsNote(NoteKind::kGeneralRateUnknown, HasSubstr("to take no time of its own")));
  EXPECT_THAT(RatesFor({}, DataType::kBf16, "device", OperationNeed::kMemoryAlone),
              NamesFields(ElementsAre("device.memory_bytes_per_second")));
  // Measured in bf16 only.
  const OperationDevice device = {.device = {.calibrations = {ModelOf(Measured())}}};
  EXPECT_THAT(RatesFor(device, DataType::kFp8E4m3, "device", OperationNeed::kMemoryAlone), IsOk());
  EXPECT_EQ(PreconditionsOf(RatesFor(device, DataType::kFp8E4m3, "device").status()).size(), 1);
}

// A device with `matmul` FLOP/s and `copy` bytes a second.
DeviceCalibration MeasuredAs(const std::string& uuid, double matmul, double copy) {
  DeviceCalibration out = Measured();
  out.uuid = uuid;
  for (MeasuredMatmul& m : out.matmuls) m.rate = FlopsPerSecond(matmul);
  out.memory_passes = {};
  out.ConsiderPass(StreamPattern::kCopy, {.per_second = copy, .sample_count = 1});
  return out;
}

TEST(OperationRates, OfSeveralDevicesAreTheSlowestOnesEach) {
  OperationDevice asked;
  asked.device.calibrations = {ModelOf(MeasuredAs("GPU-1", 3e14, 1e12)),
                               ModelOf(MeasuredAs("GPU-2", 2e14, 2e12)),
                               ModelOf(MeasuredAs("GPU-3", 4e14, 3e12))};
  const auto rates = RatesFor(asked, DataType::kBf16, "device");
  ASSERT_THAT(rates, IsOk());
  EXPECT_EQ(rates->rates.matrix, FlopsPerSecond(2e14));
  EXPECT_EQ(rates->used[0].measured->device_uuid, "GPU-2");
  EXPECT_THAT(rates->used[0].citation, HasSubstr("the slowest of 3 devices"));
  EXPECT_EQ(rates->rates.memory, BytesPerSecond(1e12));
  EXPECT_EQ(rates->used[1].measured->device_uuid, "GPU-1");
  // A figure that one of them lacks is not a figure of all.
  DeviceCalibration without = MeasuredAs("GPU-4", 4e14, 3e12);
  without.memory_passes = {};
  asked.device.calibrations.push_back(ModelOf(without));
  EXPECT_THAT(RatesFor(asked, DataType::kBf16, "device"),
              NamesFields(ElementsAre("device.memory_bytes_per_second")));
  without.matmuls.clear();
  asked.device.calibrations.back() = ModelOf(without);
  const auto missing = PreconditionsOf(RatesFor(asked, DataType::kBf16, "device").status());
  ASSERT_EQ(missing.size(), 1u);
  EXPECT_EQ(missing[0].subject, "GPU-4");
}

}  // namespace
}  // namespace sextant
