#include <limits>

#include "engine/memory/transients/layer_backward.h"

namespace sextant {

void BackwardPeak::Begin(const BackwardMoment& moment) {
  End();
  begun_ = true;
  ++count_;
  moment_ = moment.index();
  made_ = 0;
  for (; seen_ < moment_; ++seen_) {
    again_ -= steps_.again[seen_];
    freed_ += steps_.kept[seen_];
  }
}

void BackwardPeak::End() {
  if (!begun_ || list_ != nullptr) return;
  begun_ = false;
  const CheckedInt added = made_ + again_;
  // What overflows is passed on, for the sum to say so.
  const int64_t net = added.ok() ? added.value() - freed_ : std::numeric_limits<int64_t>::max();
  if (best_ != 0 && net <= best_net_) return;
  best_ = count_;
  best_net_ = net;
  best_moment_ = moment_;
  best_added_ = added;
  best_freed_ = freed_;
}

void BackwardPeak::List(const Transient& transient) {
  if (count_ == listed_) list_->Add(transient);
}

}  // namespace sextant
