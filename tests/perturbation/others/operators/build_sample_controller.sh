#!/usr/bin/env bash
# Builds Kubernetes' sample-controller from its public source into a folder: build_sample_controller.sh FOLDER [SOURCE]
# Needs Go. Without SOURCE the module proxy is asked; SOURCE is a checkout with its dependencies in vendor/.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)
if [ $# -gt 1 ]; then
    cd "$2" && CGO_ENABLED=0 GOFLAGS=-mod=vendor go build -o "$folder/sample-controller" .
else
    CGO_ENABLED=0 GOBIN=$folder go install k8s.io/sample-controller@v0.36.2
fi
