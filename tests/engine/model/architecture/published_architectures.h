// Public models of families beyond dense decoders, with their published totals.
#ifndef SEXTANT_TESTS_ENGINE_MODEL_ARCHITECTURE_PUBLISHED_ARCHITECTURES_H_
#define SEXTANT_TESTS_ENGINE_MODEL_ARCHITECTURE_PUBLISHED_ARCHITECTURES_H_

#include <string>
#include <vector>

#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

struct PublishedArchitecture {
  std::string name;
  ArchitectureSpec spec;
  int64_t total_parameters;
  int64_t active_parameters = 0;  // 0: no exact figure is published
};

// Shapes are those of the models' published config.json files, from memory, fixed by the totals;
// each row says where its total was read.
std::vector<PublishedArchitecture> PublishedMixtures();
std::vector<PublishedArchitecture> PublishedDecoders();
std::vector<PublishedArchitecture> PublishedEncoders();  // and encoder-decoders

// DeepSeek-V3's main model, without its module of multi-token prediction.
ArchitectureSpec DeepSeekV3();

ArchitectureSpec FlanT5Small();

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MODEL_ARCHITECTURE_PUBLISHED_ARCHITECTURES_H_
