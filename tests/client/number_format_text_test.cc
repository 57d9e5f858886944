#include "client/report/number_format_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

v1::NumberFormat Bfloat16() {
  v1::NumberFormat format;
  format.set_data_type(v1::DATA_TYPE_BF16);
  format.set_name("bf16");
  format.set_kind(v1::NUMBER_KIND_FLOAT);
  v1::FloatLayout* layout = format.add_layouts();
  layout->set_name("bfloat16");
  layout->set_bits(16);
  layout->set_exponent_bits(8);
  layout->set_fraction_bits(7);
  layout->set_exponent_bias(127);
  layout->set_largest_finite(3.3895313892515355e38);
  layout->set_smallest_normal(1.1754943508222875e-38);
  layout->set_smallest_subnormal(9.183549615799121e-41);
  layout->set_epsilon(0.0078125);
  layout->set_has_infinities(true);
  layout->set_nan_code_count(254);
  format.set_bits(16);
  format.set_storage_bits(16);
  format.set_overflow_rule(v1::OVERFLOW_RULE_NON_SATURATING);
  format.set_overflow_reason("as IEEE 754 has it");
  format.set_role("compute");
  format.set_source("a paper");
  format.add_accelerators("h100-sxm");
  return format;
}

TEST(NumberFormatText, SaysAllOfAFormat) {
  v1::DescribeDataTypeResponse response;
  *response.mutable_format() = Bfloat16();
  EXPECT_EQ(NumberFormatText(response), R"(bf16 (float)
  layout       bfloat16: 1 sign, 8 exponent (bias 127), 7 fraction bits
  largest      3.389531389e+38
  smallest     1.175494351e-38 normal, 9.183549616e-41 subnormal
  epsilon      0.0078125, from 1 to the next number
  special      infinities, 254 codes of NaN
  storage      16 bits an element
  too large    non-saturating: as IEEE 754 has it
  for          compute
  computed by  h100-sxm
  source       a paper
)");
}

TEST(NumberFormatText, SaysWhatNumbersBecame) {
  v1::DescribeDataTypeResponse response;
  *response.mutable_format() = Bfloat16();
  v1::RoundedNumber* rounded = response.add_rounded();
  rounded->set_given(300.1);
  rounded->set_value(300);
  rounded->set_outcome(v1::ROUNDING_OUTCOME_ROUNDED);
  rounded->set_subnormal(true);
  rounded->set_relative_error(0.000333);
  rounded->set_code(0x4396);
  rounded->set_block_scale(0.5);
  rounded->set_reason("It lies between two.");
  EXPECT_THAT(NumberFormatText(response),
              HasSubstr("\nRounded (to the nearest; of two, to the even one)\n"
                        "  300.1 -> 300 (rounded, subnormal, relative error 0.000333, code 0x4396, "
                        "block scale 0.5)\n    It lies between two.\n"));
}

TEST(NumberFormatTable, HasALineEachLayout) {
  v1::ListDataTypesResponse response;
  *response.add_formats() = Bfloat16();
  v1::NumberFormat* family = response.add_formats();
  family->set_name("fp8");
  family->set_storage_bits(8);
  family->add_layouts()->set_name("e4m3");
  family->add_layouts()->set_name("e5m2");
  v1::NumberFormat* integer = response.add_formats();
  integer->set_name("int8");
  integer->set_bits(8);
  integer->set_largest_integer(127);
  integer->set_storage_bits(8);
  const std::string text = NumberFormatTable(response);
  EXPECT_THAT(text, HasSubstr("bf16           16         8         7      16  3.389531389e+38"));
  EXPECT_THAT(text, HasSubstr("fp8 as e4m3 "));
  EXPECT_THAT(text, HasSubstr("fp8 as e5m2 "));
  EXPECT_THAT(text, HasSubstr("int8            8         -         -       8              127"));
}

TEST(NumberFormatText, SurvivesAnEmptyAnswer) {
  EXPECT_FALSE(NumberFormatText({}).empty());
  EXPECT_FALSE(NumberFormatTable({}).empty());
}

}  // namespace
}  // namespace sextant::client
