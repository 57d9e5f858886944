// One layer of a model as operations.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_FLOPS_LAYER_GRAPH_H_
#define SEXTANT_TESTS_ENGINE_MODEL_FLOPS_LAYER_GRAPH_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "engine/model/architecture/architecture_spec.h"
#include "tests/engine/model/flops/model_graph.h"

namespace sextant {

// A map of a model: its matrix, bias and adapter.
struct GraphMap {
  std::string module = {};
  std::string name = {};
  WeightComponent component = WeightComponent::kAdapter;
  int64_t in = 0;
  int64_t out = 0;
  bool bias = false;
  int copy = 0;  // of an expert
};

// The graph of one place of the model: a layer, or the parts outside them.
class PlaceGraph {
 public:
  // `place` ("decoder3") makes names of parameters unique.
  PlaceGraph(const ArchitectureSpec& spec, GraphWriter& graph, std::string place, bool frozen_run)
      : spec_(spec), graph_(graph), place_(std::move(place)), frozen_run_(frozen_run) {}

  bool Frozen(WeightComponent component) const;
  std::string Map(const std::string& x, const GraphMap& map);
  void MapUnread(const GraphMap& map);  // its parameters alone
  // `rows` lookups in a table of map.in rows of map.out.
  std::string Table(int64_t rows, const GraphMap& map);
  std::string Norm(const std::string& x, const std::string& name, NormVariant variant,
                   int64_t length);

 private:
  struct Parameters {
    std::string weight;
    std::string bias;
    std::string adapter_down;
    std::string adapter_up;
  };

  Parameters ParametersOf(const GraphMap& map);
  const WeightName* AdapterOf(const GraphMap& map, int64_t columns) const;
  // The first matrix of an adapter, which all maps of the target have.
  std::string DownOf(const GraphMap& map, const WeightName& target);
  std::string Full(const GraphMap& map, const std::string& what) const;

  const ArchitectureSpec& spec_;
  GraphWriter& graph_;
  const std::string place_;
  const bool frozen_run_;
  std::set<std::string> downs_ = {};
  std::map<std::string, std::string> inner_ = {};  // by what is projected, and by which matrix
};

// The input of a layer's graph.
struct LayerGraphInput {
  const LayerSpec& layer;
  std::string place;
  bool frozen = false;
  std::string x;             // [sequences x length, hidden]
  std::string encoder = {};  // [sequences x encoder_length, hidden], for cross attention
  int64_t sequences = 1;
  int64_t length = 1;
  int64_t encoder_length = 0;
  std::string position_table = {};  // of relative positions; empty: none
};

// The layer's output.
std::string AddLayer(const ArchitectureSpec& spec, const LayerGraphInput& input,
                     GraphWriter& graph);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_FLOPS_LAYER_GRAPH_H_
