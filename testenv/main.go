// Command testenv is a real Kubernetes in one binary: etcd, the control plane,
// kubelet, kube-proxy, kubectl, kwok and an informer of client-go, chosen by the
// first argument. The testkit crate starts the parts on free loopback ports, or
// all of them in namespaces of their own; nothing here is mocked.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// Only the chosen component's command may be constructed: the constructors
// register process-wide flags that clash with one another.
var components = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          run(apiserver.NewAPIServerCommand),
	"kube-controller-manager": run(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kube-proxy":              run(proxy.NewProxyCommand),
	"kubectl":                 run(kubectl.NewDefaultKubectlCommand),
	"kubelet":                 run(func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) }),
	"fields":                  printFields,
	"informer":                run(newInformerCommand),
	"kwok":                    runKwok,
	"kwok-stages":             printKwokStages,
}

func run(newCommand func() *cobra.Command) func() int {
	return func() int { return cli.Run(newCommand()) }
}

func main() {
	if len(os.Args) > 1 {
		if component, known := components[os.Args[1]]; known {
			// Every component expects its own name in front of its flags.
			os.Args = os.Args[1:]
			os.Exit(component())
		}
	}
	fmt.Fprintln(os.Stderr, "usage: testenv etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kube-proxy|kubectl|kubelet|informer|fields|kwok|kwok-stages [flags]")
	os.Exit(64)
}
