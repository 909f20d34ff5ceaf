// SPDX-License-Identifier: Apache-2.0

// Command protobuf_objects writes objects of each served kind in JSON and in protobuf, as the types of Kubernetes encode
// them: an empty one, one with every field, and others with some. The tests compare both with this project's encoder.
//
// To make tests/data/recordings/protobuf-objects-1.36.2.jsonl.gz again, in a source tree of Kubernetes:
//
//	go run PATH/TO/protobuf_objects.go 3 | gzip -9n
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	discoveryv1 "k8s.io/api/discovery/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	nodev1 "k8s.io/api/node/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

type object interface {
	Marshal() ([]byte, error)
}

var chance *rand.Rand

func text() string {
	words := []string{"a", "some-name", "ünïcödé ☃", "with \"quotes\" <&>", "x/y", "0"}
	return words[chance.Intn(len(words))]
}

func fill(v reflect.Value, depth int, whole bool) {
	skip := !whole && chance.Intn(3) == 0
	switch t := v.Addr().Interface().(type) {
	case *metav1.Time:
		if !skip {
			*t = metav1.Time{Time: time.Unix(chance.Int63n(2_000_000_000)-100_000_000, 0).UTC()}
		}
		return
	case *metav1.MicroTime:
		if !skip {
			*t = metav1.MicroTime{Time: time.Unix(chance.Int63n(2_000_000_000), chance.Int63n(1_000_000)*1000).UTC()}
		}
		return
	case *resource.Quantity:
		q := []string{"100m", "1", "1500Mi", "2k", "-3", "0", "1e3"}
		*t = resource.MustParse(q[chance.Intn(len(q))])
		return
	case *intstr.IntOrString:
		if chance.Intn(2) == 0 {
			*t = intstr.FromInt32(int32(chance.Intn(1000) - 500))
		} else {
			*t = intstr.FromString(text())
		}
		return
	case *runtime.RawExtension:
		t.Raw = []byte(`{"apiVersion":"v1","kind":"Pod","list":[1,2.5,null,"é"],"map":{}}`)
		return
	case *metav1.FieldsV1:
		t.Raw = []byte(`{"f:metadata":{"f:labels":{".":{},"f:a":{}}}}`)
		return
	case *apiextensionsv1.JSON:
		raws := []string{`"x"`, `1`, `{"a":[true]}`, `false`, `[]`}
		t.Raw = []byte(raws[chance.Intn(len(raws))])
		return
	case *apiextensionsv1.JSONSchemaPropsOrBool:
		if chance.Intn(2) == 0 || depth > 6 {
			t.Allows = chance.Intn(2) == 0
		} else {
			t.Allows = true
			t.Schema = &apiextensionsv1.JSONSchemaProps{}
			fill(reflect.ValueOf(t.Schema).Elem(), depth+1, whole)
		}
		return
	case *apiextensionsv1.JSONSchemaPropsOrArray:
		if chance.Intn(2) == 0 || depth > 6 {
			t.JSONSchemas = []apiextensionsv1.JSONSchemaProps{{Type: "string"}, {Type: "integer"}}
		} else {
			t.Schema = &apiextensionsv1.JSONSchemaProps{}
			fill(reflect.ValueOf(t.Schema).Elem(), depth+1, whole)
		}
		return
	case *apiextensionsv1.JSONSchemaPropsOrStringArray:
		if chance.Intn(2) == 0 {
			t.Property = []string{"a", "b"}
		} else {
			t.Schema = &apiextensionsv1.JSONSchemaProps{Type: "object"}
		}
		return
	case *metav1.TypeMeta:
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			fill(v.Field(i), depth+1, whole)
		}
	case reflect.Pointer:
		if skip || (depth > 7 && v.Type().Elem().Kind() == reflect.Struct) {
			return
		}
		v.Set(reflect.New(v.Type().Elem()))
		switch v.Interface().(type) {
		case *metav1.Time, *metav1.MicroTime: // JSON has no form for a pointer to Go's zero time
			whole = true
		}
		fill(v.Elem(), depth+1, whole)
	case reflect.Slice:
		if skip || (depth > 7 && v.Type().Elem().Kind() == reflect.Struct) {
			return
		}
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte{0, 255, byte(chance.Intn(256)), 10})
			return
		}
		n := 1 + chance.Intn(2)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := 0; i < n; i++ {
			fill(v.Index(i), depth+1, whole)
		}
	case reflect.Map:
		if skip || (depth > 7 && v.Type().Elem().Kind() == reflect.Struct) {
			return
		}
		v.Set(reflect.MakeMap(v.Type()))
		for i := 0; i < 3; i++ {
			value := reflect.New(v.Type().Elem()).Elem()
			fill(value, depth+1, whole)
			key := []string{"b", "a", "Z/é"}[i]
			v.SetMapIndex(reflect.ValueOf(key).Convert(v.Type().Key()), value)
		}
	case reflect.String:
		if !skip {
			v.SetString(text())
		}
	case reflect.Bool:
		v.SetBool(whole || chance.Intn(2) == 0)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		if !skip {
			v.SetInt(int64(chance.Int31()) - 1<<30)
		}
	case reflect.Int64:
		if !skip {
			v.SetInt(chance.Int63() - 1<<61)
		}
	case reflect.Float64:
		v.SetFloat([]float64{1.5, -2, 1e300, 0.1}[chance.Intn(4)])
	default:
		panic(fmt.Sprint(v.Type()))
	}
}

func main() {
	kinds := []struct {
		version, kind string
		make          func() object
	}{
		{"v1", "ConfigMap", func() object { return &corev1.ConfigMap{} }},
		{"v1", "Endpoints", func() object { return &corev1.Endpoints{} }},
		{"v1", "Event", func() object { return &corev1.Event{} }},
		{"v1", "LimitRange", func() object { return &corev1.LimitRange{} }},
		{"v1", "Namespace", func() object { return &corev1.Namespace{} }},
		{"v1", "Node", func() object { return &corev1.Node{} }},
		{"v1", "PersistentVolumeClaim", func() object { return &corev1.PersistentVolumeClaim{} }},
		{"v1", "PersistentVolume", func() object { return &corev1.PersistentVolume{} }},
		{"v1", "Pod", func() object { return &corev1.Pod{} }},
		{"v1", "PodTemplate", func() object { return &corev1.PodTemplate{} }},
		{"v1", "ReplicationController", func() object { return &corev1.ReplicationController{} }},
		{"v1", "ResourceQuota", func() object { return &corev1.ResourceQuota{} }},
		{"v1", "Secret", func() object { return &corev1.Secret{} }},
		{"v1", "ServiceAccount", func() object { return &corev1.ServiceAccount{} }},
		{"v1", "Service", func() object { return &corev1.Service{} }},
		{"v1", "Binding", func() object { return &corev1.Binding{} }},
		{"apps/v1", "ControllerRevision", func() object { return &appsv1.ControllerRevision{} }},
		{"apps/v1", "DaemonSet", func() object { return &appsv1.DaemonSet{} }},
		{"apps/v1", "Deployment", func() object { return &appsv1.Deployment{} }},
		{"apps/v1", "ReplicaSet", func() object { return &appsv1.ReplicaSet{} }},
		{"apps/v1", "StatefulSet", func() object { return &appsv1.StatefulSet{} }},
		{"events.k8s.io/v1", "Event", func() object { return &eventsv1.Event{} }},
		{"authentication.k8s.io/v1", "SelfSubjectReview", func() object { return &authenticationv1.SelfSubjectReview{} }},
		{"authorization.k8s.io/v1", "LocalSubjectAccessReview", func() object { return &authorizationv1.LocalSubjectAccessReview{} }},
		{"authorization.k8s.io/v1", "SelfSubjectAccessReview", func() object { return &authorizationv1.SelfSubjectAccessReview{} }},
		{"authorization.k8s.io/v1", "SelfSubjectRulesReview", func() object { return &authorizationv1.SelfSubjectRulesReview{} }},
		{"authorization.k8s.io/v1", "SubjectAccessReview", func() object { return &authorizationv1.SubjectAccessReview{} }},
		{"autoscaling/v1", "Scale", func() object { return &autoscalingv1.Scale{} }},
		{"batch/v1", "CronJob", func() object { return &batchv1.CronJob{} }},
		{"batch/v1", "Job", func() object { return &batchv1.Job{} }},
		{"networking.k8s.io/v1", "Ingress", func() object { return &networkingv1.Ingress{} }},
		{"policy/v1", "PodDisruptionBudget", func() object { return &policyv1.PodDisruptionBudget{} }},
		{"policy/v1", "Eviction", func() object { return &policyv1.Eviction{} }},
		{"rbac.authorization.k8s.io/v1", "ClusterRoleBinding", func() object { return &rbacv1.ClusterRoleBinding{} }},
		{"rbac.authorization.k8s.io/v1", "ClusterRole", func() object { return &rbacv1.ClusterRole{} }},
		{"rbac.authorization.k8s.io/v1", "RoleBinding", func() object { return &rbacv1.RoleBinding{} }},
		{"rbac.authorization.k8s.io/v1", "Role", func() object { return &rbacv1.Role{} }},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition", func() object { return &apiextensionsv1.CustomResourceDefinition{} }},
		{"coordination.k8s.io/v1", "Lease", func() object { return &coordinationv1.Lease{} }},
		{"coordination.k8s.io/v1beta1", "LeaseCandidate", func() object { return &coordinationv1beta1.LeaseCandidate{} }},
		{"v1", "Status", func() object { return &metav1.Status{} }},
		{"v1", "APIResourceList", func() object { return &metav1.APIResourceList{} }},
		{"v1", "APIGroupList", func() object { return &metav1.APIGroupList{} }},
		{"v1", "APIGroup", func() object { return &metav1.APIGroup{} }},
		{"v1", "APIVersions", func() object { return &metav1.APIVersions{} }},
		{"v1", "DeleteOptions", func() object { return &metav1.DeleteOptions{} }},
		{"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy", func() object { return &admissionregistrationv1.MutatingAdmissionPolicy{} }},
		{"admissionregistration.k8s.io/v1", "MutatingAdmissionPolicyBinding", func() object { return &admissionregistrationv1.MutatingAdmissionPolicyBinding{} }},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", func() object { return &admissionregistrationv1.ValidatingAdmissionPolicy{} }},
		{"admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", func() object { return &admissionregistrationv1.ValidatingAdmissionPolicyBinding{} }},
		{"admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", func() object { return &admissionregistrationv1.MutatingWebhookConfiguration{} }},
		{"admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", func() object { return &admissionregistrationv1.ValidatingWebhookConfiguration{} }},
		{"v1", "ComponentStatus", func() object { return &corev1.ComponentStatus{} }},
		{"apiregistration.k8s.io/v1", "APIService", func() object { return &apiregistrationv1.APIService{} }},
		{"autoscaling/v2", "HorizontalPodAutoscaler", func() object { return &autoscalingv2.HorizontalPodAutoscaler{} }},
		{"autoscaling/v1", "HorizontalPodAutoscaler", func() object { return &autoscalingv1.HorizontalPodAutoscaler{} }},
		{"certificates.k8s.io/v1", "CertificateSigningRequest", func() object { return &certificatesv1.CertificateSigningRequest{} }},
		{"networking.k8s.io/v1", "IngressClass", func() object { return &networkingv1.IngressClass{} }},
		{"networking.k8s.io/v1", "IPAddress", func() object { return &networkingv1.IPAddress{} }},
		{"networking.k8s.io/v1", "NetworkPolicy", func() object { return &networkingv1.NetworkPolicy{} }},
		{"networking.k8s.io/v1", "ServiceCIDR", func() object { return &networkingv1.ServiceCIDR{} }},
		{"storage.k8s.io/v1", "CSIDriver", func() object { return &storagev1.CSIDriver{} }},
		{"storage.k8s.io/v1", "CSINode", func() object { return &storagev1.CSINode{} }},
		{"storage.k8s.io/v1", "CSIStorageCapacity", func() object { return &storagev1.CSIStorageCapacity{} }},
		{"storage.k8s.io/v1", "StorageClass", func() object { return &storagev1.StorageClass{} }},
		{"storage.k8s.io/v1", "VolumeAttachment", func() object { return &storagev1.VolumeAttachment{} }},
		{"storage.k8s.io/v1", "VolumeAttributesClass", func() object { return &storagev1.VolumeAttributesClass{} }},
		{"scheduling.k8s.io/v1", "PriorityClass", func() object { return &schedulingv1.PriorityClass{} }},
		{"coordination.k8s.io/v1alpha2", "LeaseCandidate", func() object { return &coordinationv1alpha2.LeaseCandidate{} }},
		{"node.k8s.io/v1", "RuntimeClass", func() object { return &nodev1.RuntimeClass{} }},
		{"discovery.k8s.io/v1", "EndpointSlice", func() object { return &discoveryv1.EndpointSlice{} }},
		{"resource.k8s.io/v1", "DeviceClass", func() object { return &resourcev1.DeviceClass{} }},
		{"resource.k8s.io/v1", "ResourceClaim", func() object { return &resourcev1.ResourceClaim{} }},
		{"resource.k8s.io/v1", "ResourceClaimTemplate", func() object { return &resourcev1.ResourceClaimTemplate{} }},
		{"resource.k8s.io/v1", "ResourceSlice", func() object { return &resourcev1.ResourceSlice{} }},
		{"flowcontrol.apiserver.k8s.io/v1", "FlowSchema", func() object { return &flowcontrolv1.FlowSchema{} }},
		{"flowcontrol.apiserver.k8s.io/v1", "PriorityLevelConfiguration", func() object { return &flowcontrolv1.PriorityLevelConfiguration{} }},
		{"authentication.k8s.io/v1", "TokenReview", func() object { return &authenticationv1.TokenReview{} }},
		{"authentication.k8s.io/v1", "TokenRequest", func() object { return &authenticationv1.TokenRequest{} }},
	}
	seeds := 3
	if len(os.Args) > 1 {
		fmt.Sscan(os.Args[1], &seeds)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for i, kind := range kinds {
		for seed := 0; seed < seeds; seed++ {
			chance = rand.New(rand.NewSource(int64(1000*i + seed)))
			obj := kind.make()
			if seed > 0 { // the first object is empty, the second whole, the others in parts
				fill(reflect.ValueOf(obj).Elem(), 0, seed == 1)
			}
			raw, err := obj.Marshal()
			if err != nil {
				panic(err)
			}
			if err := out.Encode(map[string]any{"apiVersion": kind.version, "kind": kind.kind, "object": obj, "message": base64.StdEncoding.EncodeToString(raw)}); err != nil {
				panic(err)
			}
		}
	}
}
