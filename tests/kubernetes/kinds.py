"""The kinds of objects that an API server of a test has."""

# Group and version: plural, kind, whether it is in a namespace.
KINDS = {
    "v1": [("namespaces", "Namespace", False), ("services", "Service", True),
           ("secrets", "Secret", True), ("configmaps", "ConfigMap", True),
           ("serviceaccounts", "ServiceAccount", True), ("events", "Event", True)],
    "apps/v1": [("deployments", "Deployment", True), ("daemonsets", "DaemonSet", True)],
    "batch/v1": [("jobs", "Job", True), ("cronjobs", "CronJob", True)],
    "policy/v1": [("poddisruptionbudgets", "PodDisruptionBudget", True)],
    "autoscaling/v2": [("horizontalpodautoscalers", "HorizontalPodAutoscaler", True)],
    "networking.k8s.io/v1": [("networkpolicies", "NetworkPolicy", True)],
    "rbac.authorization.k8s.io/v1": [("clusterroles", "ClusterRole", False),
                                     ("clusterrolebindings", "ClusterRoleBinding", False),
                                     ("roles", "Role", True),
                                     ("rolebindings", "RoleBinding", True)],
    "admissionregistration.k8s.io/v1": [("validatingwebhookconfigurations",
                                         "ValidatingWebhookConfiguration", False)],
    "coordination.k8s.io/v1": [("leases", "Lease", True)],
    "jobset.x-k8s.io/v1alpha2": [("jobsets", "JobSet", True)],
    "kubeflow.org/v1": [("pytorchjobs", "PyTorchJob", True), ("mpijobs", "MPIJob", True),
                        ("xgboostjobs", "XGBoostJob", True)],
    "trainer.kubeflow.org/v1alpha1": [("trainjobs", "TrainJob", True)],
    "ray.io/v1": [("rayjobs", "RayJob", True)],
    "kueue.x-k8s.io/v1beta1": [("workloads", "Workload", True),
                               ("admissionchecks", "AdmissionCheck", False)],
    "kueue.x-k8s.io/v1beta2": [("workloads", "Workload", True),
                               ("admissionchecks", "AdmissionCheck", False)],
}


def kind_of(group, plural):
    return next(kind for each, kind, _ in KINDS[group] if each == plural)


def is_namespaced(group, plural):
    return next(namespaced for each, _, namespaced in KINDS[group] if each == plural)


def plural_of(item):
    return next(plural for plural, kind, _ in KINDS[item["apiVersion"]] if kind == item["kind"])
