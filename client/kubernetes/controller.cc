#include "client/kubernetes/controller.h"

#include <chrono>
#include <map>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace sextant::client {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook(200);  // for a stop
constexpr std::chrono::seconds kRenewal(5);      // of the lease
constexpr std::chrono::seconds kAgain(1);        // after a failure, and for objects
constexpr std::chrono::seconds kAbsentKind(30);  // until it is asked for again
constexpr char kMicroTime[] = "%Y-%m-%dT%H:%M:%E6SZ";

// Sleeps, unless `is_stopped` sooner.
void Rest(steady_clock::duration time, const std::function<bool()>& is_stopped) {
  const auto end = steady_clock::now() + time;
  while (steady_clock::now() < end && !is_stopped()) std::this_thread::sleep_for(kLook);
}

// Looks at the objects of a kind, on one thread.
class KindLoop {
 public:
  KindLoop(const KubernetesApi& api, const Watched& kind, const std::function<bool()>& is_stopped,
           const std::function<void(const std::string& line)>& log)
      : api_(api), kind_(kind), is_stopped_(is_stopped), log_(log) {}

  void Run() {
    while (!is_stopped_()) {
      const absl::Status status = ListAndWatch();
      if (is_stopped_() || absl::IsOutOfRange(status)) continue;
      if (status.ok()) continue;
      Say(absl::StrCat(kind_.plural, ": ", status.message()));
      Rest(absl::IsNotFound(status) ? kAbsentKind : kAgain, is_stopped_);
    }
  }

 private:
  // The path of all objects of the best version that the API server has.
  absl::StatusOr<std::string> ListPath() {
    const absl::StatusOr<Json> group = api_.Get(absl::StrCat("/apis/", kind_.group));
    // A server may not list its groups to everyone: the best version is tried then.
    std::string known = group.ok() ? At(*group, "versions").dump() : "";
    if (!group.ok() && !absl::IsNotFound(group.status())) return group.status();
    for (const std::string& version : kind_.versions) {
      if (known.empty() || known.find(absl::StrCat("\"", version, "\"")) != std::string::npos) {
        return absl::StrCat("/apis/", kind_.group, "/", version, "/", kind_.plural);
      }
    }
    return absl::NotFoundError(
        absl::StrCat("the API server has no version of ", kind_.group, " that is read"));
  }

  absl::Status ListAndWatch() {
    const absl::StatusOr<std::string> path = ListPath();
    if (!path.ok()) return path.status();
    path_ = *path;
    later_.clear();
    const auto look = [this](const Json& object) { Look(object); };
    absl::StatusOr<std::string> version = api_.List(path_, look);
    said_.clear();
    while (version.ok() && !is_stopped_()) {
      version = api_.Watch(path_, *version, look, [this] {
        LookAgain();
        return !is_stopped_();
      });
    }
    return version.status();
  }

  std::string PathOf(const Json& object) const {
    const std::string space = TextAt(object, "metadata.namespace");
    const size_t end = path_.rfind('/');
    return absl::StrCat(path_.substr(0, end), space.empty() ? "" : "/namespaces/", space,
                        path_.substr(end), "/", TextAt(object, "metadata.name"));
  }

  void Look(Json object) {
    if (is_stopped_()) return;
    // Those of a list have neither.
    const std::string uid = TextAt(object, "metadata.uid");
    if (kind_.look(PathOf(object), object) == Looked::kLater) {
      later_[uid] = std::move(object);
    } else {
      later_.erase(uid);
    }
  }

  void LookAgain() {
    if (later_.empty() || steady_clock::now() < next_) return;
    const std::map<std::string, Json> objects = std::exchange(later_, {});
    for (const auto& [uid, object] : objects) Look(object);
    next_ = steady_clock::now() + kAgain;
  }

  // Once, until it was well between.
  void Say(const std::string& line) {
    if (line != said_) log_(line);
    said_ = line;
  }

  const KubernetesApi& api_;
  const Watched& kind_;
  const std::function<bool()>& is_stopped_;
  const std::function<void(const std::string& line)>& log_;
  std::string path_;
  std::string said_;
  std::map<std::string, Json> later_;  // by uid
  steady_clock::time_point next_;
};

}  // namespace

absl::Status LeaseHolder::Take() {
  const std::string all =
      absl::StrCat("/apis/coordination.k8s.io/v1/namespaces/", options_.name_space, "/leases");
  const std::string path = absl::StrCat(all, "/", options_.name);
  const absl::Time now = absl::Now();
  const std::string text = absl::FormatTime(kMicroTime, now, absl::UTCTimeZone());
  Json spec = {{"holderIdentity", options_.identity},
               {"leaseDurationSeconds", absl::ToInt64Seconds(kDuration)},
               {"acquireTime", text},
               {"renewTime", text}};
  absl::StatusOr<Json> there = api_.Get(path);
  if (absl::IsNotFound(there.status())) {
    return api_
        .Create(all, {{"apiVersion", "coordination.k8s.io/v1"},
                      {"kind", "Lease"},
                      {"metadata", {{"name", options_.name}, {"namespace", options_.name_space}}},
                      {"spec", spec}})
        .status();
  }
  if (!there.ok()) return there.status();
  const std::string holder = TextAt(*there, "spec.holderIdentity");
  absl::Time renewed;
  std::string error;
  const bool has_time =
      absl::ParseTime(absl::RFC3339_full, TextAt(*there, "spec.renewTime"), &renewed, &error);
  if (!holder.empty() && holder != options_.identity && has_time && now < renewed + kDuration) {
    return absl::FailedPreconditionError(absl::StrCat(holder, " holds the lease"));
  }
  if (holder == options_.identity) spec["acquireTime"] = At(*there, "spec.acquireTime");
  (*there)["spec"] = std::move(spec);
  return api_.Replace(path, *there).status();
}

absl::Status RunController(const KubernetesApi& api, const LeaseOptions& lease,
                           const std::vector<Watched>& kinds,
                           const std::function<bool()>& is_stopped,
                           const std::function<void(const std::string& line)>& log) {
  LeaseHolder holder(api, lease);
  std::string said;
  absl::Status taken = holder.Take();
  for (; !taken.ok() && !is_stopped(); taken = holder.Take()) {
    if (said != taken.message()) log(std::string(taken.message()));
    said = std::string(taken.message());
    Rest(kAgain, is_stopped);
  }
  if (is_stopped()) return absl::OkStatus();
  log(absl::StrCat("holds the lease as ", lease.identity));
  std::atomic<bool> ended{false};
  const std::function<bool()> has_ended = [&] { return ended || is_stopped(); };
  std::vector<std::thread> threads;
  for (const Watched& kind : kinds) {
    threads.emplace_back([&] { KindLoop(api, kind, has_ended, log).Run(); });
  }
  // Another may take it kDuration after our last renewal: we have to have ended by then.
  auto renewed = steady_clock::now();
  while (!is_stopped() &&
         steady_clock::now() - renewed < absl::ToChronoSeconds(LeaseHolder::kDuration) - kRenewal) {
    Rest(kRenewal / 2, is_stopped);
    const auto start = steady_clock::now();
    taken = holder.Take();
    if (taken.ok()) renewed = start;
    if (absl::IsFailedPrecondition(taken)) break;
  }
  ended = true;
  for (std::thread& thread : threads) thread.join();
  return is_stopped() ? absl::OkStatus() : taken;
}

}  // namespace sextant::client
