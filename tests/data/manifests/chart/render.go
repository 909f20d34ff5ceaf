// SPDX-License-Identifier: Apache-2.0

// Renders a chart's templates with Go's text/template, and with the four functions of Helm that they use, written anew.
// It made the files beside it (Go 1.27.3, sigs.k8s.io/yaml 1.3.0), with the values of CHART_VALUES in tests/kit/manifests/bundles.py:
//
//	render CHART VALUES_AS_JSON hut huts > cabins-usual.yaml
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

func toYaml(v interface{}) string {
	data, err := yaml.Marshal(v)
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(string(data), "\n")
}

func empty(v interface{}) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == ""
	case bool:
		return !x
	case float64:
		return x == 0
	case map[string]interface{}:
		return len(x) == 0
	case []interface{}:
		return len(x) == 0
	}
	return false
}

func main() {
	dir, overlay, release, namespace := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	read := func(name string) map[string]interface{} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			panic(err)
		}
		out := map[string]interface{}{}
		if err := yaml.Unmarshal(data, &out); err != nil {
			panic(err)
		}
		return out
	}
	values := read("values.yaml")
	over := map[string]interface{}{}
	if err := json.Unmarshal([]byte(overlay), &over); err != nil {
		panic(err)
	}
	var merge func(a, b map[string]interface{})
	merge = func(a, b map[string]interface{}) {
		for k, v := range b {
			if m, ok := v.(map[string]interface{}); ok {
				if n, ok := a[k].(map[string]interface{}); ok {
					merge(n, m)
					continue
				}
			}
			a[k] = v
		}
	}
	merge(values, over)
	meta := read("Chart.yaml")
	data := map[string]interface{}{
		"Values":  values,
		"Release": map[string]interface{}{"Name": release, "Namespace": namespace, "Service": "Helm"},
		"Chart":   map[string]interface{}{"Name": meta["name"], "Version": meta["version"], "AppVersion": meta["appVersion"]},
	}
	funcs := template.FuncMap{
		"toYaml":  toYaml,
		"nindent": func(n int, s string) string { p := strings.Repeat(" ", n); return "\n" + p + strings.ReplaceAll(s, "\n", "\n"+p) },
		"default": func(d, v interface{}) interface{} {
			if empty(v) {
				return d
			}
			return v
		},
		"quote": func(v interface{}) string { return strconv.Quote(fmt.Sprint(v)) },
	}
	files, _ := filepath.Glob(filepath.Join(dir, "templates", "*.yaml"))
	sort.Strings(files)
	for _, f := range files {
		text, _ := os.ReadFile(f)
		t, err := template.New(filepath.Base(f)).Funcs(funcs).Option("missingkey=error").Parse(string(text))
		if err != nil {
			panic(err)
		}
		var out bytes.Buffer
		if err := t.Execute(&out, data); err != nil {
			panic(err)
		}
		fmt.Printf("# Source: %s\n%s\n", filepath.Base(f), strings.TrimRight(out.String(), "\n"))
	}
}
