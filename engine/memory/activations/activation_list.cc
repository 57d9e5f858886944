#include "engine/memory/activations/activation_list.h"

namespace sextant {
namespace {

// TF32 is a mode of the matrix units over fp32 data.
DataType StoredAs(DataType type) { return type == DataType::kTf32 ? DataType::kFp32 : type; }

}  // namespace

int64_t SequenceLengthOf(const ActivationContext& context, ModelPart part) {
  const bool encoder = part == ModelPart::kEncoder && !context.spec.decoder.layers.empty();
  return encoder ? context.batch.encoder_sequence_length : context.batch.sequence_length;
}

int64_t TokensOf(const ActivationContext& context, ModelPart part) {
  return context.batch.sequence_count * SequenceLengthOf(context, part) /
         context.batch.context_parallel_size;
}

int64_t ComputeBytesOf(const MicroBatchSpec& batch) {
  return StorageBytes(StoredAs(batch.compute_data_type));
}

bool CopiesNormInput(NormVariant variant, const MicroBatchSpec& batch) {
  return batch.eager_layers && variant == NormVariant::kRmsNorm;
}

bool WidensSoftmax(const MicroBatchSpec& batch) {
  constexpr int64_t kWideBytes = 4;
  return batch.wide_softmax && ComputeBytesOf(batch) < kWideBytes;
}

ActivationList::ActivationList(const ActivationContext& context, ActivationTensors* rows,
                               LayerSteps* steps)
    : context_(context),
      rows_(rows),
      steps_(steps),
      lists_(rows != nullptr || (steps != nullptr && steps->again_rows != nullptr)),
      element_bytes_{StorageBytes(TypeOf(ElementKind::kCompute)),
                     StorageBytes(TypeOf(ElementKind::kMatmulInput)), 4, 1, 8} {}

void ActivationList::GoTo(const ActivationPlace& place) {
  place_ = place;
  const int64_t tokens = TokensOf(context_, place.part);
  const auto rows = [this](ActivationCut cut) -> CheckedInt& {
    return rows_by_cut_[static_cast<size_t>(cut)];
  };
  rows(ActivationCut::kContext) = tokens;
  rows(ActivationCut::kTensor) = tokens;
  rows(ActivationCut::kSequence) = tokens / SequenceRanks(batch(), context_.layout);
}

void ActivationList::SetExpertSlots(CheckedInt slots_per_sequence) {
  const CheckedInt slots = slots_per_sequence * batch().sequence_count;
  rows_by_cut_[static_cast<size_t>(ActivationCut::kExpertTokens)] = slots;
  rows_by_cut_[static_cast<size_t>(ActivationCut::kExpertFeatures)] = slots;
}

// Source: docs/memory_transients.md, "Eager code".
void ActivationList::AddNorm(ActivationRow row, const NormUse& use) {
  const bool copies = CopiesNormInput(use.variant, batch());
  row.kept_for = copies ? "gradient of the norm, which computes in fp32" : "gradient of the norm";
  row.kind = copies ? ElementKind::kFp32 : use.of_residual ? ResidualKind() : ElementKind::kCompute;
  Add(row);
  if (!copies || !use.trained) return;
  row.name = "normalised";
  row.kind = use.of_residual ? ResidualKind() : ElementKind::kCompute;
  row.kept_for = "gradient of the norm's weight";
  Add(row);
}

void ActivationList::AddSaved(ActivationRow row) {
  if (saved_ == nullptr || !Needs(ActivationSite::kLayerOutput)) return;
  row.saved = true;
  row.kept_for = "in place of computing it again";
  row.source = activation_source::kOperators;
  Add(row);
}

// A rank's part of the sum is of all tokens; the sum is scattered.
void ActivationList::AddSavedOutput(absl::string_view name) {
  ActivationRow row = {.name = name,
                       .shape = "b s h",
                       .cut = ActivationCut::kContext,
                       .width = context_.spec.hidden_size,
                       .step = BackwardStep::kOutput};
  if (Saves(name)) AddSaved(row);
  row.name = "scattered_sum";
  row.cut = ActivationCut::kSequence;
  if (SequenceRanks(batch(), context_.layout) > 1) AddSaved(row);
}

void ActivationList::AddMatmulInput(ActivationRow row, ActivationSite activation) {
  row.for_weights = true;
  if (place_.gradients == nullptr) return Add(row);
  AddMatmulInput(row, place_.gradients->UseOf(activation));
}

// An adapter reads the input of its matrix in the compute type: one tensor serves both, unless
// dropout makes a copy for each adapter. Eager code casts for each adapter: to the adapter's fp32,
// and from that to the compute type. Source: docs/memory_transients.md, "Frozen parts and
// adapters", "Eager code".
void ActivationList::AddMatmulInput(ActivationRow row, const MatmulUse& use, int64_t readers) {
  const bool apart = batch().adapters_cast_input && !use.trained;
  const bool shared = use.adapters > 0 && !batch().adapter_dropout;
  row.for_weights = true;
  ActivationRow input = row;
  if (shared) input.kind = ElementKind::kCompute;
  if (shared && apart) {
    input.width = input.width * use.adapters;
    Add(input);
  } else if (use.trained || shared) {
    AddCast(input, readers);
  }
  if (KeepsFrozenInput(use)) {
    row.kind = row.of_core ? ElementKind::kCompute : ProductKind();
    row.kept_for = "the 8-bit product of a frozen matrix";
    Add(row);
  }
  if (use.adapters > 0) AddAdapters(row, use);
}

void ActivationList::AddAdapters(ActivationRow row, const MatmulUse& use) {
  row.source = activation_source::kChainRule;
  if (batch().adapter_dropout) {
    row.width = row.width * use.adapters;
    row.name = "adapter_input";
    row.kind = ElementKind::kCompute;
    row.kept_for = "weight gradients of adapters, after their dropout";
    Add(row);
    row.name = "adapter_dropout_mask";
    row.kind = ElementKind::kMask;
    row.kept_for = "gradient of adapters' dropout";
    row.for_weights = false;
    if (use.needs_gradient) Add(row);
  }
  const bool experts =
      row.cut == ActivationCut::kExpertTokens || row.cut == ActivationCut::kExpertFeatures;
  AddAdapterInner({.adapters = use.adapters,
                   .cut = experts ? ActivationCut::kExpertTokens : ActivationCut::kSequence,
                   .step = row.step});
}

void ActivationList::AddAdapterInner(const AdapterInner& inner) {
  ActivationRow row = {.name = "adapter_inner",
                       .shape = "b s r",
                       .cut = inner.cut,
                       .width = CheckedInt(context_.flow->adapter_rank()) * inner.adapters,
                       .step = inner.step,
                       .for_weights = true,
                       .kept_for = "weight gradients of adapters' second matrices",
                       .source = activation_source::kChainRule};
  Add(row);
  row.name = "adapter_inner.gradient";
  AddOutputGradient(row, MatmulUse());
}

// The dy of dW = dy x^T. Source: Qi et al. 2023 (arXiv 2401.10241) section 2.
ActivationRow ActivationList::OutputGradient(ActivationRow row) {
  row.for_weights = true;
  row.kept_for = "weight gradient of the matrix that made the output";
  row.source = activation_source::kWeightGradient;
  return row;
}

DataType ActivationList::TypeOf(ElementKind kind) const {
  const DataType compute = StoredAs(batch().compute_data_type);
  if (kind == ElementKind::kFp32) return DataType::kFp32;
  if (kind == ElementKind::kMatmulInput &&
      batch().matmul_input_data_type != DataType::kUnspecified) {
    return batch().matmul_input_data_type;
  }
  return compute;
}

void ActivationList::ListRow(const ActivationRow& row, CheckedInt elements) {
  ActivationTensors* const rows = !IsAgain(row) || for_weights_ ? rows_
                                  : steps_                      ? steps_->again_rows
                                                                : nullptr;
  const int64_t element_bytes = BytesOf(row.kind);
  const CheckedInt size = elements * element_bytes;
  if (rows == nullptr || size.value() == 0) return;
  const RowElements elements_are = row.kind == ElementKind::kMask    ? RowElements::kMask
                                   : row.kind == ElementKind::kIndex ? RowElements::kIndex
                                                                     : RowElements::kNumber;
  rows->push_back({.part = place_.part,
                   .layer_kind = place_.layer_kind,
                   .module = module_,
                   .name = row.name,
                   .shape = row.shape,
                   .element_kind = elements_are,
                   .data_type = elements_are == RowElements::kNumber ? TypeOf(row.kind)
                                                                     : DataType::kUnspecified,
                   .element_bytes = element_bytes,
                   .cut = row.cut,
                   .elements = elements.value(),
                   .size = Bytes(size.value()),
                   .layers = place_.layers,
                   .last_read = {branch_, row.step},
                   .kept_for = row.kept_for,
                   .source = row.source});
}

}  // namespace sextant
