package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	"sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
)

func runKwok() int {
	// Kubernetes registers a process-wide string flag "version" that kwok's own
	// flag set would collide with.
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ContinueOnError)
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ContinueOnError)

	flags := pflag.NewFlagSet("global", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.Usage = func() {}
	ctx, logger := log.InitFlags(context.Background(), flags)
	ctx, err := config.InitFlags(ctx, flags)
	if err != nil {
		fmt.Fprintln(os.Stderr, "kwok: init config:", err)
		return 1
	}
	command := cmd.NewCommand(ctx)
	command.PersistentFlags().AddFlagSet(flags)
	if err := command.ExecuteContext(ctx); err != nil {
		logger.Error("run kwok", "err", err)
		return 1
	}
	return 0
}

// printKwokStages writes the configuration without which kwok does nothing:
// nodes become ready, pods run, finish and go away.
func printKwokStages() int {
	for _, stage := range []string{
		nodefast.DefaultNodeInit,
		podfast.DefaultPodReady,
		podfast.DefaultPodComplete,
		podfast.DefaultPodDelete,
	} {
		fmt.Println(stage)
		fmt.Println("---")
	}
	return 0
}
