// `sextant kubernetes-controller` and `sextant kubernetes-certificate`: programs that run in
// a cluster with its planners.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/command/command.h"
#include "client/command/run_client.h"
#include "client/io/text_file.h"
#include "client/io/watched_call.h"
#include "client/kubernetes/api.h"
#include "client/kubernetes/certificates.h"
#include "client/kubernetes/controller.h"
#include "client/kubernetes/kueue_checks.h"
#include "client/kubernetes/train_job_sizes.h"
#include "client/text/text.h"

namespace sextant::client {
namespace {

constexpr char kControllerHelp[] =
    "Answers Kueue's admission checks whose controllerName is sextant.dev/admit, and gives\n"
    "Kubeflow's TrainJobs that name the plugin sextant their number of nodes, by the planner at\n"
    "--address. Runs until it is stopped, in a pod or outside. Several share a lease, and one is\n"
    "at work. A planner that is away holds up no job for longer than --patience.\n"
    "docs/kubernetes.md has what it needs.\n"
    "\n"
    "Examples:\n"
    "  sextant kubernetes-controller --address=sextant.sextant.svc:50051\n"
    "  sextant kubernetes-controller --api-server=http://127.0.0.1:8001 --namespace=default\n";

constexpr char kCertificateHelp[] =
    "Makes the certificate of the webhook: an authority and a server's certificate, each in a\n"
    "Secret, anew where it has less than a third of its life left; and has the webhook's\n"
    "configuration trust the authority. Run as a Job, and daily. Asks no planner.\n"
    "\n"
    "Examples:\n"
    "  sextant kubernetes-certificate --namespace=sextant\n";

// Where a pod finds its API server. Source: Kubernetes' documentation, "Accessing the Kubernetes
// API from a Pod".
constexpr char kAccountFolder[] = "/var/run/secrets/kubernetes.io/serviceaccount/";

struct ClusterFlags {
  ApiServer api;
  std::string name_space;
};

struct ControllerFlags {
  ClusterFlags cluster;
  std::string identity;
  double patience_seconds = 30;
  std::string site_file;
};

struct CertificateFlags {
  ClusterFlags cluster;
  std::string service = "sextant";
  std::string webhook = "sextant";
};

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string AccountFile(const char* name) { return absl::StrCat(kAccountFolder, name); }

void AddClusterFlags(CLI::App* command, ClusterFlags* flags) {
  command->add_option("--api-server", flags->api.origin, "Kubernetes' API; default: the pod's")
      ->type_name("URL");
  command
      ->add_option("--api-ca", flags->api.ca_file, "who signed its certificate; default: a pod's")
      ->type_name("FILE");
  command->add_option("--api-token-file", flags->api.token_file, "default: a pod's")
      ->type_name("FILE");
  command->add_option("--namespace", flags->name_space, "default: the pod's")->type_name("NAME");
}

// Completes the flags that a pod knows. Throws CLI::ValidationError outside of a pod.
void CompleteCluster(ClusterFlags& flags) {
  const bool is_pod = flags.api.origin.empty();
  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  if (is_pod && host.empty()) {
    throw CLI::ValidationError(
        "--api-server is required outside of a pod, e.g. http://127.0.0.1:8001 of kubectl proxy");
  }
  if (is_pod) {
    const bool is_ipv6 = absl::StrContains(host, ":");
    flags.api.origin = absl::StrCat("https://", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", ":",
                                    Environment("KUBERNETES_SERVICE_PORT"));
    if (flags.api.ca_file.empty()) flags.api.ca_file = AccountFile("ca.crt");
    if (flags.api.token_file.empty()) flags.api.token_file = AccountFile("token");
  }
  if (flags.name_space.empty()) {
    const absl::StatusOr<std::string> read = ReadText(AccountFile("namespace"), std::cin);
    flags.name_space = std::string(absl::StripAsciiWhitespace(read.value_or("")));
  }
  if (flags.name_space.empty()) {
    throw CLI::ValidationError("--namespace is required outside of a pod");
  }
}

int FailBy(const absl::Status& status, const CommandLine& line, const Streams& streams) {
  return Fail({grpc::StatusCode::UNAVAILABLE, std::string(status.message())}, line, streams);
}

int RunKubernetesController(const ControllerFlags& flags, const CommandLine& line,
                            const Streams& streams) {
  v1::SizeClusterRequest site;
  if (!flags.site_file.empty()) {
    const absl::StatusOr<std::string> text = ReadText(flags.site_file, streams.in);
    const auto read = text.ok() ? ReadSizes(*text) : text.status();
    if (!read.ok()) {
      return FailToWrite(absl::InvalidArgumentError(absl::StrCat("--site: ", flags.site_file, " ",
                                                                 read.status().message())),
                         line, streams);
    }
    site = *read;
  }
  const KubernetesApi api(flags.cluster.api);
  const absl::Duration patience = absl::Seconds(flags.patience_seconds);
  const auto waiting = [&line](double seconds) {
    ServerAddress out = line.server;
    out.timeout_seconds = seconds;
    return out;
  };
  KueueCheckKind checks(api);
  KueueWorkloadKind workloads(api, waiting(3), patience);
  TrainJobKind jobs(api, waiting(30), patience, site);
  const InterruptWatch watch;
  std::mutex mutex;
  const absl::Status ended = RunController(
      api,
      {.name_space = flags.cluster.name_space,
       .name = "sextant-controller",
       .identity = flags.identity},
      {checks.Kind(), workloads.Kind(), jobs.Kind()},
      [&watch] { return watch.stop_token().stop_requested(); },
      [&](const std::string& said) {
        const std::lock_guard<std::mutex> lock(mutex);
        streams.err << Printable(absl::StrCat("sextant: ", OneLine(said), "\n"));
        streams.err.flush();
      });
  return ended.ok() ? int{kExitFits} : FailBy(ended, line, streams);
}

int RunKubernetesCertificate(const CertificateFlags& flags, const CommandLine& line,
                             const Streams& streams) {
  const absl::Status made =
      RenewCertificate(KubernetesApi(flags.cluster.api),
                       {.name_space = flags.cluster.name_space,
                        .service = flags.service,
                        .authority = absl::StrCat(flags.service, "-webhook-authority"),
                        .secret = absl::StrCat(flags.service, "-webhook-tls"),
                        .webhook = flags.webhook});
  return made.ok() ? int{kExitFits} : FailBy(made, line, streams);
}

void AddControllerFlags(CLI::App* command, CommandLine* line) {
  constexpr double kMaxPatience = 60;
  const auto flags = std::make_shared<ControllerFlags>();
  AddClusterFlags(command, &flags->cluster);
  flags->identity = Environment("HOSTNAME");
  command
      ->add_option("--identity", flags->identity, "who holds the lease; default: the host's name")
      ->type_name("NAME");
  command
      ->add_option("--patience", flags->patience_seconds,
                   "until a job passes that the planner did not answer about")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.0, kMaxPatience))
      ->capture_default_str();
  command
      ->add_option("--site", flags->site_file,
                   "products and bounds of TrainJobs that say none, a SizeClusterRequest in JSON")
      ->type_name("FILE");
  const auto check = [line, flags] {
    line->may_start_server = false;
    CompleteCluster(flags->cluster);
    if (flags->identity.empty()) throw CLI::ValidationError("--identity is required");
  };
  OnceRead(command, line, flags, RunKubernetesController, {.check = check});
}

void AddCertificateFlags(CLI::App* command, CommandLine* line) {
  const auto flags = std::make_shared<CertificateFlags>();
  AddClusterFlags(command, &flags->cluster);
  command->add_option("--service", flags->service, "the planners' Service")
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--webhook", flags->webhook, "the ValidatingWebhookConfiguration")
      ->type_name("NAME")
      ->capture_default_str();
  const auto check = [line, flags] {
    line->may_start_server = false;
    line->asks_server = false;
    CompleteCluster(flags->cluster);
  };
  OnceRead(command, line, flags, RunKubernetesCertificate, {.check = check});
}

}  // namespace

const Command kKubernetesControllerCommand = {
    "kubernetes-controller", "Answer Kueue's checks, size Kubeflow's jobs, in a cluster",
    kControllerHelp, AddControllerFlags};
const Command kKubernetesCertificateCommand = {"kubernetes-certificate",
                                               "Make the certificate of Kubernetes' webhook",
                                               kCertificateHelp, AddCertificateFlags};

}  // namespace sextant::client
