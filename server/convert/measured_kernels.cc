#include "server/convert/measured_kernels.h"

#include <algorithm>

#include "server/convert/enums.h"

namespace sextant {
namespace {

static_assert(static_cast<int>(CollectiveOp::kAllReduce) + 1 ==
              v1::COLLECTIVE_OPERATION_ALL_REDUCE);
static_assert(static_cast<int>(CollectiveOp::kAllGather) + 1 ==
              v1::COLLECTIVE_OPERATION_ALL_GATHER);
static_assert(static_cast<int>(CollectiveOp::kReduceScatter) + 1 ==
              v1::COLLECTIVE_OPERATION_REDUCE_SCATTER);
static_assert(static_cast<int>(CollectiveOp::kAllToAll) + 1 == v1::COLLECTIVE_OPERATION_ALL_TO_ALL);
static_assert(static_cast<int>(CollectiveOp::kBroadcast) + 1 == v1::COLLECTIVE_OPERATION_BROADCAST);
static_assert(static_cast<int>(CollectiveOp::kSendReceive) + 1 ==
              v1::COLLECTIVE_OPERATION_SEND_RECEIVE);

// The one of `all` in the type of `wire`, made where there is none yet.
template <typename OfType, typename Measurement>
OfType& InType(const Measurement& wire, std::vector<OfType>& all) {
  FieldViolations checked_before;
  const DataType type = DataTypeFrom(wire.data_type(), "", checked_before);
  const auto found = std::find_if(all.begin(), all.end(),
                                  [type](const OfType& each) { return each.data_type == type; });
  if (found != all.end()) return *found;
  all.push_back({.data_type = type});
  return all.back();
}

Seconds TimeOf(const v1::TimeStatistics& time) { return Seconds(time.median_seconds()); }

}  // namespace

AttentionShape ShapeFrom(const v1::AttentionMeasurement& wire) {
  return {.batch = wire.batch(),
          .sequence = wire.sequence_length(),
          .heads = wire.heads(),
          .key_value_heads = wire.kv_heads(),
          .query_key_head_size = wire.head_size(),
          .value_head_size = wire.value_head_size(),
          .causal = wire.causal(),
          .window = wire.window()};
}

GroupedGemmShape ShapeFrom(const v1::ExpertsMeasurement& wire) {
  return {.tokens = wire.tokens(),
          .hidden = wire.hidden_size(),
          .intermediate = wire.feed_forward_size(),
          .experts_per_token = wire.experts_per_token(),
          .experts = wire.expert_count(),
          .expert_parallel = wire.expert_parallel_size(),
          .gated = wire.gated()};
}

CollectiveOp CollectiveOpFrom(v1::CollectiveOperation wire) {
  const bool known =
      v1::CollectiveOperation_IsValid(wire) && wire != v1::COLLECTIVE_OPERATION_UNSPECIFIED;
  return known ? static_cast<CollectiveOp>(static_cast<int>(wire) - 1) : CollectiveOp::kAllReduce;
}

std::vector<MeasuredGemms> GemmsFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredGemms> out;
  for (const v1::MatmulMeasurement& m : calibration.matmuls()) {
    FieldViolations checked_before;
    const DataType type = DataTypeFrom(m.data_type(), "", checked_before);
    auto of_type = std::find_if(out.begin(), out.end(),
                                [type](const auto& each) { return each.data_type == type; });
    if (of_type == out.end()) of_type = out.insert(out.end(), {.data_type = type, .gemms = {}});
    const GemmShape shape = {m.m(), m.n(), m.k()};
    const bool known = std::any_of(of_type->gemms.begin(), of_type->gemms.end(),
                                   [&](const MeasuredGemm& g) { return g.shape == shape; });
    if (!known) of_type->gemms.push_back({shape, Seconds(m.time().median_seconds())});
  }
  return out;
}

std::vector<MeasuredAttentions> AttentionsFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredAttentions> out;
  for (const v1::AttentionMeasurement& wire : calibration.attentions()) {
    MeasuredAttentions& of_type = InType(wire, out);
    const bool backward = wire.pass() == v1::AttentionMeasurement::PASS_BACKWARD;
    (backward ? of_type.backward : of_type.forward)
        .push_back({.shape = ShapeFrom(wire), .time = TimeOf(wire.time())});
  }
  return out;
}

std::vector<MeasuredExperts> ExpertsFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredExperts> out;
  for (const v1::ExpertsMeasurement& wire : calibration.experts()) {
    InType(wire, out).points.push_back({.shape = ShapeFrom(wire), .time = TimeOf(wire.time())});
  }
  return out;
}

std::vector<MeasuredCollective> CollectivesFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredCollective> out;
  for (const v1::CollectiveMeasurement& wire : calibration.collectives()) {
    out.push_back({.op = CollectiveOpFrom(wire.operation()),
                   .ranks = wire.rank_count(),
                   .bytes = wire.size_bytes(),
                   .seconds = wire.time().median_seconds()});
  }
  return out;
}

std::vector<MeasuredHostCopy> HostCopiesFrom(const v1::Calibration& calibration) {
  std::vector<MeasuredHostCopy> out;
  for (const v1::HostCopyMeasurement& wire : calibration.host_copies()) {
    const bool to_device = wire.direction() == v1::HostCopyMeasurement::DIRECTION_HOST_TO_DEVICE;
    out.push_back(
        {.direction = to_device ? HostCopyDirection::kToDevice : HostCopyDirection::kFromDevice,
         .pageable = wire.pageable(),
         .bytes = wire.size_bytes(),
         .time = TimeOf(wire.time())});
  }
  return out;
}

}  // namespace sextant
