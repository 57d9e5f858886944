#include "server/launcher/slurm_job.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "engine/hardware/catalogue.h"
#include "server/launcher/hugging_face.h"
#include "server/launcher/shell_words.h"

namespace sextant::server {
namespace {

constexpr int64_t kMaxMemoryUnits = int64_t{1} << 30;
constexpr int64_t kMinHostMemory = int64_t{1} << 30;  // the API's
constexpr int64_t kMaxJobNodes = 1'000'000;           // of what Slurm's own numbers are read as

// Source: common_options[] of src/common/slurm_opt.c in SchedMD/slurm @284c3b95f0.
constexpr Setting kSlurmSettings[] = {
    Other("--nodes"),
    Other("--ntasks"),
    Other("--ntasks-per-node"),
    Other("--tasks-per-node"),
    Other("--gpus"),
    Other("--gpus-per-node"),
    Other("--gpus-per-task"),
    Other("--gres"),
    Other("--constraint"),
    Other("--mem"),
    Matters("--gpus-per-socket|--ntasks-per-gpu|--ntasks-per-tres|--tres-per-task|--wrap",
            Effect::kEither, "how many GPUs a job has, and what it starts"),
    Passes("--account"),
    Passes("--array"),
    Passes("--begin"),
    Passes("--chdir"),
    Passes("--comment"),
    Passes("--container-"),
    Passes("--contiguous"),
    Passes("--cpu-bind"),
    Passes("--cpus-per-gpu"),
    Passes("--cpus-per-task"),
    Passes("--deadline"),
    Passes("--dependency"),
    Passes("--distribution"),
    Passes("--error"),
    Passes("--exclude"),
    Passes("--exclusive"),
    Passes("--export"),
    Passes("--get-user-env"),
    Passes("--gpu-bind"),
    Passes("--gres-flags"),
    Passes("--hint"),
    Passes("--input"),
    Passes("--job-name"),
    Passes("--jobid"),
    Passes("--kill-on-bad-exit"),
    Passes("--label"),
    Passes("--licenses"),
    Passes("--mail-type"),
    Passes("--mail-user"),
    Passes("--mem-bind"),
    Passes("--mem-per-cpu"),
    Passes("--mem-per-gpu"),
    Passes("--mpi"),
    Passes("--network"),
    Passes("--nice"),
    Passes("--no-kill"),
    Passes("--no-requeue"),
    Passes("--nodelist"),
    Passes("--open-mode"),
    Passes("--output"),
    Passes("--overcommit"),
    Passes("--partition"),
    Passes("--priority"),
    Passes("--qos"),
    Passes("--requeue"),
    Passes("--reservation"),
    Passes("--signal"),
    Passes("--switches"),
    Passes("--threads-per-core"),
    Passes("--time"),
    Passes("--time-min"),
    Passes("--unbuffered"),
    Passes("--verbose"),
    Passes("--wait"),
    Passes("--wait-all-nodes"),
    Passes("--wckey"),
    Passes("--accel-bind|--acctg-freq|--argv|--async|--autocomplete|--batch|--bb|--bbf"
           "|--bcast|--bcast-exclude|--bell|--cluster|--cluster-constraint|--clusters"
           "|--compress|--consolidate-segments|--container|--context|--core-spec"
           "|--cores-per-socket|--cpu-freq|--debugger-test|--delay-boot|--disable-status"
           "|--environment|--epilog|--exact|--export-file|--external|--external-launcher"
           "|--extra|--extra-node-info|--gid|--gpu-freq|--help"
           "|--het-group|--hold|--ignore-pbs|--ignore-signals|--immediate|--interactive"
           "|--kill-command|--kill-on-invalid-dep|--mcs-label|--mem-update|--mincpus"
           "|--msg-timeout|--multi-prog|--no-allocate|--no-bell|--no-shell|--nodefile"
           "|--ntasks-per-core|--ntasks-per-socket"
           "|--oom-kill-step|--overlap|--oversubscribe|--pack-group|--parsable|--prefer"
           "|--preserve-env|--profile|--prolog|--propagate|--pty|--quiet"
           "|--quit-on-interrupt|--reboot|--relative|--resources|--resv-ports|--runtime"
           "|--segment|--send-libs|--slurmd-debug|--sockets-per-node|--spread-job"
           "|--spread-segments|--stepmgr|--task-epilog|--task-prolog|--test-only"
           "|--thread-spec|--threads|--tmp|--treewidth|--tres-bind|--uid"
           "|--usage|--use-min-nodes|--version|--wait-for-children|--whole|--x11"),
};

// The short forms of the above.
constexpr std::pair<char, const char*> kShortOptions[] = {
    {'A', "--account"},
    {'a', "--array"},
    {'b', "--begin"},
    {'c', "--cpus-per-task"},
    {'C', "--constraint"},
    {'D', "--chdir"},
    {'d', "--dependency"},
    {'e', "--error"},
    {'G', "--gpus"},
    {'i', "--input"},
    {'J', "--job-name"},
    {'k', "--no-kill"},
    {'K', "--kill-on-bad-exit"},
    {'l', "--label"},
    {'L', "--licenses"},
    {'m', "--distribution"},
    {'N', "--nodes"},
    {'n', "--ntasks"},
    {'o', "--output"},
    {'O', "--overcommit"},
    {'p', "--partition"},
    {'q', "--qos"},
    {'t', "--time"},
    {'u', "--unbuffered"},
    {'v', "--verbose"},
    {'w', "--nodelist"},
    {'W', "--wait"},
    {'x', "--exclude"},
};

// "-N4", "-N 4" and "--nodes=4" alike.
std::vector<std::string> LongOptions(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    const auto* const row =
        word.size() > 1 && word[0] == '-'
            ? absl::c_find_if(kShortOptions, [&](auto& each) { return each.first == word[1]; })
            : std::end(kShortOptions);
    if (row == std::end(kShortOptions)) {
      out.push_back(word);
      continue;
    }
    out.emplace_back(row->second);
    if (word.size() > 2) out.push_back(word.substr(word[2] == '=' ? 3 : 2));
  }
  return out;
}

// A number of Slurm's; absent, and open, where it is a range ("2-4") or a variable.
int64_t SlurmCount(const char* name, SettingFile& file, LauncherRead& out) {
  const std::optional<std::string> text = file.Text(name);
  int64_t value = 0;
  if (!text.has_value()) return 0;
  if (absl::SimpleAtoi(*text, &value) && value > 0 && value <= kMaxJobNodes) return value;
  out.open.push_back(absl::StrCat(name, "=", *text));
  return 0;
}

// "8", "h100:8" and "gpu:h100:8": a number of devices, and their product where it is there.
int64_t SlurmDevices(const char* name, SettingFile& file, JobDevices& devices, LauncherRead& out) {
  const std::optional<std::string> text = file.Text(name);
  if (!text.has_value()) return 0;
  for (absl::string_view part : absl::StrSplit(*text, ',')) {
    const bool gres = absl::string_view(name) == "--gres";
    absl::ConsumePrefix(&part, "gres/") || absl::ConsumePrefix(&part, "gres:");
    if (gres && part != "gpu" && !absl::ConsumePrefix(&part, "gpu:")) continue;
    if (part == "gpu") return 1;
    std::vector<std::string> words = absl::StrSplit(part, ':');
    int64_t count = 0;
    const bool counted = absl::SimpleAtoi(words.back(), &count);
    if (counted) words.pop_back();
    if (!counted) count = 1;
    if (words.size() > 1 || count <= 0 || count > kMaxJobNodes) break;
    if (!words.empty() && !words.front().empty()) devices.product = words.front();
    return count;
  }
  const bool others = absl::string_view(name) == "--gres" && !absl::StrContains(*text, "gpu");
  if (!others) out.open.push_back(absl::StrCat(name, "=", *text));
  return 0;
}

// --mem: of a node, in MiB unless a letter says otherwise. 0 is all of it.
void ReadNodeMemory(SettingFile& file, LauncherRead& out) {
  const std::optional<std::string> text = file.Text("--mem");
  if (!text.has_value() || *text == "0") return;
  absl::string_view digits = *text;
  absl::ConsumeSuffix(&digits, "B");
  constexpr absl::string_view kUnits = "KMGT";
  size_t unit = kUnits.find(digits.empty() ? '\0' : digits.back());
  unit == absl::string_view::npos ? void(unit = 1) : digits.remove_suffix(1);
  int64_t count = 0;
  if (!absl::SimpleAtoi(digits, &count) || count <= 0 || count > kMaxMemoryUnits) {
    return out.open.push_back(absl::StrCat("--mem=", *text));
  }
  const auto bytes = Product(count, int64_t{1024} << (10 * unit));
  if (!bytes.has_value() || *bytes < kMinHostMemory) {
    return out.open.push_back(absl::StrCat("--mem=", *text));
  }
  out.request.mutable_cluster()->set_host_memory_bytes(*bytes);
}

// The first that is said.
int64_t FirstOf(int64_t a, int64_t b) { return a > 0 ? a : b; }

}  // namespace

absl::Span<const Setting> SlurmSettings() { return kSlurmSettings; }

std::vector<std::string> SbatchWords(absl::string_view text) {
  std::vector<std::string> out;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty() && line.front() != '#') break;  // as sbatch stops at the first command
    if (!absl::ConsumePrefix(&line, "#SBATCH")) continue;
    ShellState state;
    ShellWords words(line, state);
    while (!words.at_end()) {
      words.SkipBlanks();
      std::vector<std::string> read = words.Read();
      if (read.empty()) words.Skip(1);
      for (const std::string& word : read) {
        out.push_back(absl::StrReplaceAll(word, {{std::string(1, kOpenMark), "$"}}));
      }
    }
  }
  return out;
}

absl::Status ReadSlurmOptions(const char* program, const std::vector<std::string>& words,
                              JobDevices& devices, LauncherRead& out) {
  SettingFile::Names names;
  for (const Setting& setting : kSlurmSettings) {
    if (!setting.passes && !setting.open) names.emplace_back(setting.name, SettingValues::kOne);
  }
  const auto finish = [&](Reading& reading) {
    SettingFile& file = reading.file;
    LauncherRead& read = reading.out;
    devices.nodes = FirstOf(SlurmCount("--nodes", file, read), devices.nodes);
    devices.tasks = FirstOf(SlurmCount("--ntasks", file, read), devices.tasks);
    devices.tasks_per_node =
        FirstOf(SlurmCount("--ntasks-per-node", file, read),
                FirstOf(SlurmCount("--tasks-per-node", file, read), devices.tasks_per_node));
    devices.per_node =
        FirstOf(SlurmDevices("--gpus-per-node", file, devices, read),
                FirstOf(SlurmDevices("--gres", file, devices, read), devices.per_node));
    devices.count = FirstOf(SlurmDevices("--gpus", file, devices, read), devices.count);
    const int64_t each = SlurmDevices("--gpus-per-task", file, devices, read);
    if (devices.per_node == 0) {
      devices.per_node = Product(each, devices.tasks_per_node).value_or(0);
    }
    if (devices.count == 0) devices.count = Product(each, devices.tasks).value_or(0);
    const std::string constraint = file.Text("--constraint").value_or("");
    if (devices.product.empty()) devices.product = constraint;
    ReadNodeMemory(file, read);
  };
  absl::StatusOr<LauncherRead> read =
      ReadSettings(kSlurmSettings, false, SettingFile::FromWords(LongOptions(words), names),
                   Unknown::kRefused, finish);
  if (!read.ok()) return read.status();
  Join(*read, absl::StrCat(program, " "), &out);
  return absl::OkStatus();
}

ShellVariables SlurmVariables(const JobDevices& devices) {
  ShellVariables out;
  const auto add = [&](const char* name, int64_t value) {
    if (value > 0) out[name] = absl::StrCat(value);
  };
  const int64_t tasks =
      FirstOf(devices.tasks, Product(devices.nodes, devices.tasks_per_node).value_or(0));
  add("SLURM_NNODES", devices.nodes);
  add("SLURM_JOB_NUM_NODES", devices.nodes);
  add("SLURM_NTASKS", tasks);
  add("SLURM_NPROCS", tasks);
  add("SLURM_NTASKS_PER_NODE", devices.tasks_per_node);
  add("SLURM_GPUS_ON_NODE", devices.per_node);
  add("SLURM_GPUS_PER_NODE", devices.per_node);
  add("SLURM_GPUS", devices.count);
  return out;
}

void ReadProduct(const std::string& product, const std::string& setting, LauncherRead& out) {
  if (product.empty()) return;
  if (FindAccelerator(product).ok()) {
    out.request.mutable_cluster()->mutable_device()->set_accelerator(product);
  } else {
    out.open.push_back(absl::StrCat(setting, " ", product));
  }
}

}  // namespace sextant::server
