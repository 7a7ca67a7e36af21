//! Options of the Armory agent that are accepted and have no effect; setting one logs the reason.

use spindrift_process::config::Unused;

pub(super) const UNUSED: &[Unused] = &[
    unused(
        "balanceConnection",
        "any hub takes any agent and any of its channels, so nothing has to be balanced",
    ),
    unused("certFile", "it is the name of 2020; the client certificate is clouddriver.tls.clientCertFile"),
    unused("clouddriver.cacheRetryIntervalSeconds", "watches are taken up again at a pace of their own"),
    unused("clouddriver.dynamicAccountsEnabled", "accounts come from the agent's own files in this version"),
    unused(
        "clouddriver.keepAliveOperationSeconds",
        "pings tell whether the link lives; a quiet hour is no reason to begin again",
    ),
    unused("clouddriver.retries", "it was never documented; see clouddriver.responseRetries"),
    unused("clouddriverNamespace", "hubs find each other, the agent needs to know none but clouddriver.grpc"),
    unused("domainName", "hubs find each other, the agent needs to know none but clouddriver.grpc"),
    unused("dynamicAccounts", "accounts come from the agent's own files in this version"),
    unused("dynamicAccountsEnabled", "accounts come from the agent's own files in this version"),
    unused("hub", "it belonged to Armory Cloud, which has ended; the hub is named by clouddriver.grpc"),
    unused(
        "kubernetes.accounts[].configureImagePullSecrets",
        "it belonged to Spinnaker's first provider for Kubernetes",
    ),
    unused("kubernetes.accounts[].debug", "logging.level says how much is told"),
    unused(
        "kubernetes.accounts[].dockerRegistries",
        "it belonged to Spinnaker's first provider for Kubernetes",
    ),
    unused("kubernetes.accounts[].kubeconfigAgent", "it belongs to accounts that a hub hands out"),
    unused("kubernetes.accounts[].kubectlExecutable", "no kubectl is run"),
    unused(
        "kubernetes.accounts[].kubectlRequestTimeoutSeconds",
        "no kubectl is run; timeoutSeconds bounds requests of all accounts",
    ),
    unused("kubernetes.accounts[].liveManifestCalls", "manifests are always read live"),
    unused("kubernetes.accounts[].namingStrategy", "there is one, kubernetesAnnotations"),
    unused(
        "kubernetes.accounts[].oAuthScopes",
        "API servers of today are reached by credential plugins (exec in the kubeconfig), which know their scopes",
    ),
    unused(
        "kubernetes.accounts[].oAuthServiceAccount",
        "API servers of today are reached by credential plugins (exec in the kubeconfig)",
    ),
    unused("kubernetes.accounts[].providerVersion", "Spinnaker has one provider for Kubernetes today"),
    unused(
        "kubernetes.accounts[].serviceAccountName",
        "who an account is comes from its kubeconfig; assumeServiceAccount acts as another",
    ),
    unused(
        "kubernetes.accounts[].skipManifestDefaults",
        "kubernetes.serverSideApply.manifestDefaults has replaced it",
    ),
    unused("kubernetes.accounts[].skipServerSideApply", "kubernetes.serverSideApply.enabled has replaced it"),
    unused("kubernetes.accounts[].skin", "Spinnaker has one provider for Kubernetes today"),
    unused("kubernetes.accounts[].type", "every account of an agent is of Kubernetes"),
    unused("kubernetes.dynamicAccountsOnly", "accounts come from the agent's own files in this version"),
    unused("local", "nobody ever said what it does"),
    unused("secrets", "secrets of vault cannot be read by this version; give values, files or variables"),
];

const fn unused(path: &'static str, because: &'static str) -> Unused {
    Unused { path, because }
}
