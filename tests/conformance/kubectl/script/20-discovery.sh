# What the server says about itself.

[version]
kubectl version -o json | sed '/gitCommit\|buildDate\|gitTreeState\|goVersion\|compiler\|platform/d'

[api versions]
kubectl api-versions | grep -E '^v1$|apiextensions|authorization|coordination|events|metal3|cluster|bessemer|test.example'

[resources of our groups]
kubectl api-resources | grep -E 'metal3|cluster\.x-k8s|bessemer|test\.example'

[resources of our groups, wide]
kubectl api-resources -o wide | grep -E 'metal3|cluster\.x-k8s|bessemer|test\.example'

[built-in resources]
kubectl api-resources -o wide | grep -E '^(namespaces|secrets|configmaps|events|serviceaccounts|leases|customresourcedefinitions|roles|rolebindings|clusterroles|clusterrolebindings|validatingwebhookconfigurations|mutatingwebhookconfigurations|selfsubject[a-z]*|subjectaccessreviews|localsubjectaccessreviews|tokenreviews) '

[resources of a group by name]
kubectl api-resources --api-group=test.example -o name

[resources that have no namespace]
kubectl api-resources --namespaced=false | grep -E 'crd|namespaces|clusterroles'

[resources of a category]
kubectl api-resources --categories=furniture

[resources that can be watched, sorted by kind]
kubectl api-resources --verbs=watch --sort-by=kind --no-headers | grep -E 'metal3|test.example|Secret|ConfigMap'

[cluster-info]
kubectl cluster-info

[health]
kubectl get --raw /healthz; echo
kubectl get --raw /readyz; echo
kubectl get --raw /livez; echo

[health of a part]
kubectl get --raw /readyz/ping; echo

[a version of a group]
kubectl get --raw /apis/test.example/v1

[a group]
kubectl get --raw /apis/test.example

[the core version]
kubectl get --raw /api

[a path that is not there]
kubectl get --raw /apis/none.example/v1
kubectl get --raw /nowhere

[a kind that is not there]
kubectl get shelves

[a group that is not there]
kubectl get racks.none.example
