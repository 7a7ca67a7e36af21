package main

import (
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// newInformerCommand makes what every controller in Go is built upon: a shared
// informer of client-go. It prints a line per add, update and delete, and
// "synced N" once its cache holds all N objects.
func newInformerCommand() *cobra.Command {
	var kubeconfig, resource, namespace string
	command := &cobra.Command{
		Use:          "informer",
		Short:        "Follows the objects of one resource until it is killed",
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return fmt.Errorf("read the kubeconfig: %w", err)
			}
			client, err := dynamic.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("make a client: %w", err)
			}
			factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
			informer := factory.ForResource(parseResource(resource)).Informer()
			handler, err := informer.AddEventHandler(printer{})
			if err != nil {
				return fmt.Errorf("add a handler: %w", err)
			}
			stop := command.Context().Done()
			factory.Start(stop)
			if cache.WaitForCacheSync(stop, handler.HasSynced) {
				fmt.Printf("synced %d\n", len(informer.GetStore().ListKeys()))
			}
			<-stop
			return nil
		},
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "how to reach the API server")
	flags.StringVar(&resource, "resource", "pods", "what to follow: pods, or deployments.v1.apps")
	flags.StringVar(&namespace, "namespace", "", "where; everywhere if empty")
	return command
}

// parseResource reads "resource.version.group"; without dots it is of the core group.
func parseResource(text string) schema.GroupVersionResource {
	if full, _ := schema.ParseResourceArg(text); full != nil {
		return *full
	}
	return schema.GroupVersionResource{Version: "v1", Resource: text}
}

// printer prints one line per change that an informer sees.
type printer struct{}

func (p printer) OnAdd(object any, _ bool) { p.line("add", object) }
func (p printer) OnUpdate(_, object any)   { p.line("update", object) }
func (p printer) OnDelete(object any) {
	// What was deleted while the informer was cut off comes wrapped.
	if gone, wrapped := object.(cache.DeletedFinalStateUnknown); wrapped {
		object = gone.Obj
	}
	p.line("delete", object)
}

func (p printer) line(change string, object any) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		fmt.Printf("error %v\n", err)
		return
	}
	fmt.Printf("%s %s/%s %s\n", change, accessor.GetNamespace(), accessor.GetName(), accessor.GetResourceVersion())
}
