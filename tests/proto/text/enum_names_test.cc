#include "proto/text/enum_names.h"

#include <gtest/gtest.h>

#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/training.pb.h"

namespace sextant::text {
namespace {

TEST(EnumNames, AreTheApisInKebabCase) {
  const std::vector<std::string> optimizers = {"sgd",  "sgd-momentum", "adagrad",   "rmsprop",
                                               "adam", "adamw",        "adafactor", "lion",
                                               "muon", "adam-8bit",    "galore"};
  EXPECT_EQ(EnumNames(*v1::OptimizerSpec::Kind_descriptor()), optimizers);
  EXPECT_EQ(EnumNumber(*v1::OptimizerSpec::Kind_descriptor(), "SGD_Momentum"),
            v1::OptimizerSpec::KIND_SGD_MOMENTUM);
  EXPECT_EQ(EnumNumber(*v1::OptimizerSpec::Kind_descriptor(), "unspecified"), std::nullopt);
  EXPECT_EQ(DataTypeName(v1::DATA_TYPE_BF16), "bf16");
  EXPECT_EQ(DataTypeName(v1::DATA_TYPE_UNSPECIFIED), "");
}

// A newer program may send what this one has no name for.
TEST(EnumNames, ShowTheNumberOfWhatIsNotKnown) {
  EXPECT_EQ(DataTypeName(static_cast<v1::DataType>(4242)), "4242");
}

TEST(EnumLabel, HasUnderscores) {
  EXPECT_EQ(EnumLabel(v1::DATA_TYPE_FP8_E4M3), "fp8_e4m3");
  EXPECT_EQ(EnumLabel(v1::COLLECTIVE_OPERATION_ALL_REDUCE), "all_reduce");
  EXPECT_EQ(EnumLabel(v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE), "host_to_device");
  EXPECT_EQ(EnumLabel(v1::DATA_TYPE_UNSPECIFIED), "unspecified");
}

}  // namespace
}  // namespace sextant::text
