// Command testenv is a real Kubernetes in one binary: etcd, the control plane,
// kubectl, kwok and an informer of client-go, chosen by the first argument. The
// testkit crate starts the parts on free loopback ports; nothing here is mocked.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// Only the chosen component's command may be constructed: the constructors
// register process-wide flags that clash with one another.
var components = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          run(apiserver.NewAPIServerCommand),
	"kube-controller-manager": run(controllermanager.NewControllerManagerCommand),
	"kube-scheduler":          run(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubectl":                 run(kubectl.NewDefaultKubectlCommand),
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
	fmt.Fprintln(os.Stderr, "usage: testenv etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|informer|fields|kwok|kwok-stages [flags]")
	os.Exit(64)
}
