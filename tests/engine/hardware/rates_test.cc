#include "engine/hardware/rates.h"

#include <gtest/gtest.h>

#include <functional>
#include <iterator>
#include <set>
#include <string>

namespace sextant {
namespace {

Rate SomeRate() {
  return {.quantity = "peak_flops_per_second",
          .data_type = DataType::kBf16,
          .value = 989.4e12,
          .unit = "FLOP/s",
          .source = RateSource::kDatasheet,
          .citation = "a datasheet",
          .device = "h100-sxm"};
}

std::string FingerprintOf(const Rate& rate) { return RatesFingerprint({&rate, 1}); }

TEST(RatesFingerprint, IsThatOfEqualRates) {
  EXPECT_EQ(FingerprintOf(SomeRate()), FingerprintOf(SomeRate()));
}

// Any one field of a rate, changed alone, changes the fingerprint.
TEST(RatesFingerprint, SeesEveryField) {
  const std::function<void(Rate&)> changes[] = {
      [](Rate& r) { r.quantity = "memory_bytes"; },
      [](Rate& r) { r.data_type = DataType::kFp16; },
      [](Rate& r) { r.value = 989.5e12; },
      [](Rate& r) { r.unit = "W"; },
      [](Rate& r) { r.source = RateSource::kRequest; },
      [](Rate& r) { r.citation = "another datasheet"; },
      [](Rate& r) { r.device = "h200-sxm"; },
  };
  for (const auto& change : changes) {
    Rate rate = SomeRate();
    change(rate);
    EXPECT_NE(FingerprintOf(rate), FingerprintOf(SomeRate())) << rate.quantity << rate.value;
  }
}

// All kinds of source, and any one fact of a measurement: no two fingerprints are the same.
TEST(RatesFingerprint, SeesEverySourceAndEveryFactOfAMeasurement) {
  std::set<std::string> seen;
  for (const RateSource source :
       {RateSource::kMeasuredSupplied, RateSource::kMeasuredDevice, RateSource::kMeasuredModel,
        RateSource::kReference, RateSource::kDatasheet, RateSource::kRequest}) {
    Rate rate = SomeRate();
    rate.source = source;
    seen.insert(FingerprintOf(rate));
  }
  const std::function<void(Measurement&)> changes[] = {
      [](Measurement&) {},
      [](Measurement& m) { m.relative_spread = 0.01; },
      [](Measurement& m) { m.relative_spread = 0.02; },
      [](Measurement& m) { m.stable = true; },
      [](Measurement& m) { m.stable = false; },
      [](Measurement& m) { m.unix_seconds = 1; },
      [](Measurement& m) { m.device_uuid = "CPU-1"; },
      [](Measurement& m) { m.calibration_fingerprint = "CPU-1"; },
  };
  for (const auto& change : changes) {
    Rate rate = SomeRate();
    change(rate.measured.emplace());
    seen.insert(FingerprintOf(rate));
  }
  EXPECT_EQ(seen.size(), 6 + std::size(changes));
}

TEST(RatesFingerprint, SeesHowManyRatesThereAre) {
  const Rate two[] = {SomeRate(), SomeRate()};
  EXPECT_NE(RatesFingerprint(two), FingerprintOf(SomeRate()));
  EXPECT_NE(RatesFingerprint({}), FingerprintOf(SomeRate()));
}

}  // namespace
}  // namespace sextant
