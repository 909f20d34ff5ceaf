// SPDX-License-Identifier: Apache-2.0

// Renewals of one lease with client-go, one after another: KUBECONFIG COUNT json|protobuf.
package main

import (
	"context"
	"encoding/json"
	"os"
	"strconv"
	"syscall"
	"time"

	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func cpu() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	config.QPS = -1
	if len(os.Args) > 3 && os.Args[3] == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	count, _ := strconv.Atoi(os.Args[2])
	leases := kubernetes.NewForConfigOrDie(config).CoordinationV1().Leases("default")
	holder, seconds, now := "bench", int32(40), meta.NowMicro()
	lease, err := leases.Create(context.Background(), &coordination.Lease{
		ObjectMeta: meta.ObjectMeta{GenerateName: "go-"},
		Spec:       coordination.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, meta.CreateOptions{})
	if err != nil {
		panic(err)
	}
	renew := func() {
		now := meta.NowMicro()
		lease.Spec.RenewTime = &now
		if lease, err = leases.Update(context.Background(), lease, meta.UpdateOptions{}); err != nil {
			panic(err)
		}
	}
	for range 50 {
		renew()
	}
	wall, before := time.Now(), cpu()
	for range count {
		renew()
	}
	json.NewEncoder(os.Stdout).Encode(map[string]float64{
		"cpu_us":  (cpu() - before) / float64(count) * 1e6,
		"wall_us": time.Since(wall).Seconds() / float64(count) * 1e6,
	})
}
