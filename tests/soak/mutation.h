// Random changes of a message that make it larger, or different, by reflection: every field of its
// type takes part, a new one by itself.
#ifndef SEXTANT_TESTS_SOAK_MUTATION_H_
#define SEXTANT_TESTS_SOAK_MUTATION_H_

#include <google/protobuf/message.h>

#include <cstdint>
#include <random>
#include <string>

#include "tests/soak/field_values.h"

namespace sextant::server {

class Mutation {
 public:
  // `values` outlive this.
  Mutation(std::mt19937& random, const FieldValues& values) : random_(random), values_(values) {}

  // Makes one change somewhere in `message`: a list doubled, halved or with one element more, a
  // number scaled, an enum, a bool or a text changed, a field set or cleared, or given a value that
  // it has in another request. Copies of elements that have a name get names of their own.
  void Apply(google::protobuf::Message* message);

 private:
  using Field = google::protobuf::FieldDescriptor;

  void Change(google::protobuf::Message* message, const Field* field);
  void ChangeList(google::protobuf::Message* message, const Field* field);
  void ChangeValue(google::protobuf::Message* message, const Field* field);
  void Append(google::protobuf::Message* message, const Field* field, int source);
  int64_t ChangedWhole(int64_t value);
  double ChangedReal(double value);
  int Below(int count) { return static_cast<int>(random_() % static_cast<unsigned>(count)); }

  std::mt19937& random_;
  const FieldValues& values_;
  int64_t names_ = 0;
};

// Sets what marks a measurement apart from all others, in each calibration of `message`, so that no
// earlier request has had it read. `number` is a new one each time.
void MarkCalibrations(google::protobuf::Message* message, int64_t number);

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SOAK_MUTATION_H_
