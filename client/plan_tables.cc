#include "client/plan_tables.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/enum_names.h"
#include "client/format.h"
#include "client/table.h"

namespace sextant {
namespace {

// What is computed twice is no model FLOP, and in no figure of the table but hardware ones.
std::string HardwareLine(const v1::TrainingFlops& flops) {
  if (!flops.has_hardware_flops_ratio() || flops.hardware_flops_ratio() == 1) return "";
  return Wrap("  ",
              absl::StrFormat("hardware FLOPs, recomputation included: %.4f x those of %s",
                              flops.hardware_flops_ratio(),
                              EnumName(*v1::FlopsConvention_descriptor(), flops.convention_used())),
              4);
}

}  // namespace

std::string ModelSection(const v1::ParameterCounts& parameters) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kLeft});
  const auto add = [&table](const std::string& name, int64_t count, const std::string& note) {
    table.AddRow({name, Grouped(count), note});
  };
  add("total", parameters.total(), "parameters");
  if (parameters.has_active() && parameters.active() != parameters.total()) {
    add("active", parameters.active(), "that one token meets");
  }
  if (parameters.has_trainable() && parameters.trainable() != parameters.total()) {
    add("trainable", parameters.trainable(), "");
  }
  if (parameters.has_embedding()) add("embedding", parameters.embedding(), "");
  if (parameters.has_non_embedding()) add("non-embedding", parameters.non_embedding(), "");
  if (parameters.padding() > 0) add("padding", parameters.padding(), "of the embedding");
  if (parameters.components_size() > 0) table.AddRow({"by component:"});
  for (const v1::ParameterCounts::Component& part : parameters.components()) {
    add(absl::StrCat("  ", Words(part.name())), part.parameter_count(),
        part.embedding() ? "embedding" : "");
  }
  return absl::StrCat("\nModel\n", table.Text());
}

std::string ArithmeticSection(const v1::TrainingFlops& flops) {
  Table table(2, {Align::kLeft, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.AddRow({"convention", "per token", "whole run", "counts", ""});
  for (const v1::TrainingFlops::Count& count : flops.counts()) {
    const bool used = count.convention() == flops.convention_used();
    table.AddRow({EnumName(*v1::FlopsConvention_descriptor(), count.convention()),
                  Scaled(count.flops_per_token(), "FLOP"),
                  absl::StrFormat("%.4e FLOP", count.flops()),
                  count.hardware() ? "hardware" : "model", used ? "<- used for the times" : ""});
  }
  return absl::StrCat("\nArithmetic (training, forward and backward)\n", table.Text(),
                      HardwareLine(flops));
}

std::string MemorySection(const v1::Memory& memory) {
  Table terms(2, {Align::kLeft, Align::kLeft, Align::kRight, Align::kRight});
  terms.AddRow({"whole job", "data type", "bytes/parameter", "memory"});
  for (const v1::Memory::Term& term : memory.terms()) {
    terms.AddRow({Words(term.name()), DataTypeName(term.data_type()),
                  Plain(term.bytes_per_parameter()), Gib(term.size_bytes())});
  }
  terms.AddRow({"model state", "", "", Gib(memory.model_state_bytes())});
  terms.AddRow({"activations", "", "",
                memory.has_activation_bytes() ? Gib(memory.activation_bytes()) : "not counted"});
  terms.AddRow({"total", "", "", Gib(memory.total_bytes())});

  Table fit(2, {Align::kLeft, Align::kRight, Align::kLeft});
  fit.AddRow({"needed per device", Gib(memory.bytes_per_device())});
  fit.AddRow({"usable per device", Gib(memory.usable_bytes_per_device())});
  fit.AddRow({"headroom per device", Gib(memory.headroom_bytes_per_device())});
  fit.AddRow({"fewest devices that hold it", Grouped(memory.minimum_device_count()), "devices"});
  fit.AddRow(
      {"largest model on these devices", Grouped(memory.largest_parameter_count()), "parameters"});
  return absl::StrCat("\nMemory (sharded evenly over all devices)\n", terms.Text(), "\n",
                      fit.Text());
}

}  // namespace sextant
