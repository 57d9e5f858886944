#include "tests/client/sample_plan.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace sextant::client {
namespace {

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

}  // namespace

v1::PlanRunRequest SampleRequest() {
  return FromText<v1::PlanRunRequest>(R"pb(
    model { preset: "toy" }
    training { token_count: 20000000000 }
    cluster {
      device { accelerator: "h100-sxm" }
      device_count: 8
    }
    economics { device_hour_price_usd: 2 device_power_watts: 700 }
  )pb");
}

// FLOPs: 6 x 1e9 x 20e9 = 1.2e20; without embeddings 6 x 0.8e9 x 20e9 = 9.6e19.
// Memory: 2 + 2 + 4 + 4 + 4 = 16 bytes a parameter; 16e9 / 8 = 2e9 a device.
// Time: 1.2e20 / 8e15 = 15000 s, and 37500 s at 0.4.
// Energy: 8 x 700 W x 15000 s = 8.4e7 J, and 2.1e8 J.
v1::PlanRunResponse SampleResponse() {
  return FromText<v1::PlanRunResponse>(R"pb(
    plan {
      verdict: VERDICT_FITS
      model_name: "toy"
      accelerator: "h100-sxm"
      device_count: 8
      token_count: 20000000000
      parameters {
        total: 1000000000
        embedding: 200000000
        non_embedding: 800000000
        components { name: "token_embedding" parameter_count: 200000000 embedding: true }
        components { name: "feed_forward" parameter_count: 800000000 }
      }
      flops {
        counts { convention: FLOPS_CONVENTION_SIX_N_TOTAL flops_per_token: 6e9 flops: 1.2e20 }
        counts {
          convention: FLOPS_CONVENTION_SIX_N_NON_EMBEDDING
          flops_per_token: 4.8e9
          flops: 9.6e19
        }
        convention_used: FLOPS_CONVENTION_SIX_N_TOTAL
      }
      memory {
        terms {
          name: "weight"
          data_type: DATA_TYPE_BF16
          bytes_per_parameter: 2
          size_bytes: 2000000000
        }
        terms {
          name: "gradient"
          data_type: DATA_TYPE_BF16
          bytes_per_parameter: 2
          size_bytes: 2000000000
        }
        terms {
          name: "master_weight"
          data_type: DATA_TYPE_FP32
          bytes_per_parameter: 4
          size_bytes: 4000000000
        }
        terms {
          name: "first_moment"
          data_type: DATA_TYPE_FP32
          bytes_per_parameter: 4
          size_bytes: 4000000000
        }
        terms {
          name: "second_moment"
          data_type: DATA_TYPE_FP32
          bytes_per_parameter: 4
          size_bytes: 4000000000
        }
        model_state_bytes: 16000000000
        total_bytes: 16000000000
        bytes_per_device: 2000000000
        usable_bytes_per_device: 80000000000
        headroom_bytes_per_device: 78000000000
        minimum_device_count: 1
        largest_parameter_count: 40000000000
        counted: "model state; no activations"
      }
      lower_bound {
        mfu: 1
        mfu_basis: "full peak"
        duration_seconds: 15000
        device_hours: 33.333333
        tokens_per_second: 1333333.3
        cost_usd: 66.666667
        energy_joules: 8.4e7
      }
      textbook_estimate {
        mfu: 0.4
        mfu_basis: "assumed: a rule of thumb"
        duration_seconds: 37500
        device_hours: 83.333333
        tokens_per_second: 533333.33
        cost_usd: 166.666667
        energy_joules: 2.1e8
      }
      rates {
        quantity: "peak_flops_per_second"
        data_type: DATA_TYPE_BF16
        value: 1e15
        unit: "FLOP/s"
        source: RATE_SOURCE_DATASHEET
        citation: "a datasheet"
        device: "h100-sxm"
      }
      rates {
        quantity: "device_power_watts"
        value: 700
        unit: "W"
        source: RATE_SOURCE_REQUEST
        citation: "economics.device_power_watts"
      }
      assumptions: "Activations are not counted: the request gave none."
      assumptions: "Model state is sharded evenly over all devices, which needs "
                   "a layout that this plan does not choose."
      derivation {
        symbol: "model_state_bytes"
        formula: "bytes_per_parameter * parameters"
        substitution: "16 * 1000000000"
        value: 16e9
        unit: "byte"
        source: "sum of declared terms"
      }
    }
    engine_version: "0.1.0"
    rates_fingerprint: "c0ffee"
  )pb");
}

v1::PlanRunResponse SampleThatDoesNotFit() {
  v1::PlanRunResponse response = SampleResponse();
  response.mutable_plan()->set_verdict(v1::VERDICT_DOES_NOT_FIT);
  v1::Memory* memory = response.mutable_plan()->mutable_memory();
  memory->set_bytes_per_device(16'000'000'000);
  memory->set_usable_bytes_per_device(10'000'000'000);
  memory->set_headroom_bytes_per_device(-6'000'000'000);
  memory->set_minimum_device_count(2);
  memory->set_largest_parameter_count(625'000'000);
  return response;
}

v1::ListAcceleratorsResponse SampleAccelerators() {
  return FromText<v1::ListAcceleratorsResponse>(R"pb(
    accelerators {
      name: "h100-sxm"
      product_name: "H100 SXM5 80GB"
      vendor: "NVIDIA"
      architecture: "Hopper"
      form_factor: "SXM5"
      memory_bytes { value: 80e9 source: "datasheet A" }
      memory_type: "HBM3"
      memory_bandwidth_bytes_per_second { value: 3.35e12 source: "datasheet B" }
      peak_rates {
        data_type: DATA_TYPE_BF16
        matrix_unit: true
        flops_per_second { value: 989.4e12 source: "datasheet C" }
      }
      peak_rates {
        data_type: DATA_TYPE_FP32
        flops_per_second { value: 66.9e12 source: "datasheet D" }
      }
      link_type: "NVLink4"
      link_bandwidth_bytes_per_second { value: 450e9 source: "datasheet E" }
      cache_bytes { value: 52428800 source: "datasheet F" }
      compute_unit_count { value: 132 source: "datasheet G" }
      boost_clock_hertz { value: 1.98e9 source: "datasheet H" }
      thermal_design_power_watts { value: 700 source: "datasheet I" }
      notes: "a note"
    }
    engine_version: "0.1.0"
  )pb");
}

}  // namespace sextant::client
