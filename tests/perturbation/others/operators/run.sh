#!/usr/bin/env bash
# Perturbs each operator of this folder by its story: run.sh PYTHON [SAMPLE_CONTROLLER]
# PYTHON is that of an environment with kopf, kubernetes, lightkube and kr8s; this project runs with `python`.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
others=$1
perturb() {  # STORY COMMAND…
    local story=$1
    shift
    echo "== $story"
    python -m controller_runtime.testing.perturb --budget 600 --story "$here/$story" -- "$@"
}
perturb claims_story.yaml "$others" -m kopf run --standalone --all-namespaces "$here/claims_kopf.py"
perturb services_story.yaml "$others" "$here/services_informer.py"
perturb jobs_story.yaml "$others" "$here/jobs_lightkube.py"
perturb queues_story.yaml "$others" "$here/queues_kr8s.py"
perturb topics_story.yaml "$others" -m kopf run --standalone --all-namespaces "$here/topics_kopf.py"
if [ $# -gt 1 ]; then
    perturb foos_story.yaml "$2" --kubeconfig '{kubeconfig}'
fi
