// SPDX-License-Identifier: Apache-2.0

// Initial sync of the nodes into a client-go informer: KUBECONFIG COUNT streamed|paged.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for _, line := range strings.Split(string(status), "\n") {
		if strings.HasPrefix(line, "VmHWM:") {
			kib, _ := strconv.ParseFloat(strings.Fields(line)[1], 64)
			return kib / 1024
		}
	}
	return 0
}

func main() {
	wall, before := time.Now(), cpu()
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	if len(os.Args) > 4 && os.Args[4] == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	factory := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(config), 0)
	informer := factory.Core().V1().Nodes().Informer()
	factory.Start(context.Background().Done())
	if !cache.WaitForCacheSync(context.Background().Done(), informer.HasSynced) {
		panic("not synced")
	}
	if strconv.Itoa(len(informer.GetStore().ListKeys())) != os.Args[2] {
		panic(fmt.Sprint(len(informer.GetStore().ListKeys()), " nodes"))
	}
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"wall_s": time.Since(wall).Seconds(), "cpu_s": cpu() - before, "peak_mib": peakMiB(),
	})
}
