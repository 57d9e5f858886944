// Overlaps and graphs of MLPerf's configurations, as the arguments of Megatron-LM that they become.
// Source: mlcommons/training_results_v5.1 @441d65f4445c, NVIDIA/benchmarks/llama31_405b:
// conf/custom.yaml, which has the names and defaults, and pretrain.py; OVERLAP_GRAD_SYNC and
// OVERLAP_PARAM_SYNC: training_results_v4.0 @6fe954378efe, gpt3, conf/optim/.
#include "absl/strings/match.h"
#include "server/launcher/launcher.h"
#include "server/launcher/software.h"

namespace sextant::server {
namespace {

// True of a switch that is on by default, unless it is off.
bool StaysOn(const char* name, SettingFile& file) { return file.IsOn(name) || !file.Has(name); }

}  // namespace

// Sequence parallel ranks exchange under their products, as NeMo's ub_tp_comm_overlap; or do not.
// Where a part of it is switched off, no time is known: then nothing is hidden.
void ReadMlperfTensorOverlap(const Setting& setting, Reading& reading) {
  SettingFile& file = reading.file;
  const bool on = file.IsOn(setting.name);
  const bool gathers = StaysOn("MC_TP_OVERLAP_AG", file);
  const bool scatters = StaysOn("MC_TP_OVERLAP_RS", file);
  const bool projects = !file.IsOn("MC_TP_DISABLE_QKV");
  const bool several = reading.layout().parallel().tensor_parallel_size() > 1;
  const bool whole =
      reading.layout().has_sequence_parallel() && !reading.layout().sequence_parallel();
  if (!file.Has(setting.name) || !several || whole) return;
  if (on && !gathers) file.Ignore("MC_TP_OVERLAP_AG");
  if (on && !scatters) file.Ignore("MC_TP_OVERLAP_RS");
  if (on && !projects) file.Ignore("MC_TP_DISABLE_QKV");
  reading.layout().mutable_software()->set_tensor_exchange_exposure(
      on && gathers && scatters && projects ? OverlappedTensorExposure() : kAllExposed);
}

void ReadMlperfSends(const Setting& setting, Reading& reading) {
  if (StaysOn(setting.name, reading.file)) return;
  reading.layout().mutable_software()->set_pipeline_exchange_exposure(kAllExposed);
}

// A part of a layer leaves its other kernels to the host, and is priced as none.
void ReadMlperfGraphs(const Setting& setting, Reading& reading) {
  constexpr char kScope[] = "CUDA_GRAPH_SCOPE";
  SettingFile& file = reading.file;
  const bool layers = file.IsOn("LAYER_CUDA_GRAPH");
  const bool captures = file.IsOn(setting.name) || layers;
  const bool iterations = file.IsOn("FULL_CUDA_GRAPH");
  const std::string scope = file.Text(kScope).value_or("full");
  if (!file.Has(setting.name) && !file.Has("LAYER_CUDA_GRAPH")) return;
  const bool whole = iterations || absl::StartsWith(scope, "full");
  if (captures && !whole) file.Ignore(kScope);
  reading.Set(setting.field, captures && whole ? "true" : "false");
}

void ReadMlperfDataOverlap(Reading& reading) {
  SettingFile& file = reading.file;
  const bool reduces = StaysOn("OVERLAP_GRAD_REDUCE", file);
  const bool syncs = StaysOn("OVERLAP_GRAD_SYNC", file);
  const bool gathers = StaysOn("OVERLAP_PARAM_GATHER", file);
  const bool gathers_synced = StaysOn("OVERLAP_PARAM_SYNC", file);
  const bool gradients = reduces && syncs;
  const bool weights = gathers && gathers_synced;
  const bool divides = reading.layout().sharding().zero_stage() > v1::ZERO_STAGE_NONE;
  if (!divides || (gradients && weights)) return;
  reading.layout().mutable_software()->set_data_exchange_overlap(
      gradients ? GradientsAloneOverlap(reading.training().precision()) : kNothingHidden);
}

}  // namespace sextant::server
