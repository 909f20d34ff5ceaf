#!/bin/sh
# run.sh APPLICATION-URL: k8s-sidecar of the clone SIDECAR, with the python of PYTHON. Outside of a pod it lacks the file
# that names its namespace, which it opens though NAMESPACE is set.
export LABEL=app FOLDER="$PWD/files" NAMESPACE=default RESOURCE=configmap METHOD=WATCH REQ_URL="$1/reload" REQ_METHOD=POST
export HEALTH_PORT=18080
cd "$SIDECAR/src" && exec "$PYTHON" -u -c '
import builtins, io, runpy, sys
sys.path.insert(0, ".")
real, pod = builtins.open, "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
builtins.open = lambda path, *more, **named: io.StringIO("default") if path == pod else real(path, *more, **named)
runpy.run_path("sidecar.py", run_name="__main__")'
