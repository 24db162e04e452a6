[one]
kubectl delete rack r2 -n hall

[one that is not there]
kubectl delete rack r2 -n hall
kubectl delete rack r2 -n hall --ignore-not-found

[only asked for]
kubectl delete rack r1 -n hall --dry-run=server
kubectl get rack r1 -n hall -o name

[by file]
kubectl delete -f files/host-2.yaml

[by label]
kubectl create cm doomed-1 -n hall
kubectl create cm doomed-2 -n hall
kubectl label cm doomed-1 doomed-2 -n hall doomed=yes
kubectl delete cm -n hall -l doomed=yes

[with a finalizer]
kubectl patch cm coming -n hall -p '{"metadata":{"finalizers":["test.example/keep"]}}'
kubectl delete cm coming -n hall --wait=false
kubectl get cm coming -n hall -o jsonpath='{.metadata.finalizers} {.metadata.deletionGracePeriodSeconds}{"\n"}'
kubectl delete cm coming -n hall --timeout=1s
kubectl patch cm coming -n hall -p '{"metadata":{"finalizers":["test.example/keep","test.example/new"]}}'
kubectl patch cm coming -n hall --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl get cm coming -n hall

[its dependents, in the background]
kubectl create cm owner -n hall
uid=$(kubectl get cm owner -n hall -o jsonpath='{.metadata.uid}')
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned, namespace: hall, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s}]}\n' "$uid" | kubectl create -f -
kubectl delete cm owner -n hall --cascade=background
kubectl wait --for=delete cm/owned -n hall --timeout=60s

[its dependents first]
kubectl create cm owner -n hall
uid=$(kubectl get cm owner -n hall -o jsonpath='{.metadata.uid}')
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned, namespace: hall, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s, blockOwnerDeletion: true}]}\n' "$uid" | kubectl create -f -
kubectl delete cm owner -n hall --cascade=foreground --timeout=60s
kubectl get cm owner owned -n hall

[its dependents orphaned]
kubectl create cm owner -n hall
uid=$(kubectl get cm owner -n hall -o jsonpath='{.metadata.uid}')
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned, namespace: hall, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: %s}]}\n' "$uid" | kubectl create -f -
kubectl delete cm owner -n hall --cascade=orphan --timeout=60s
kubectl get cm owned -n hall -o jsonpath='{.metadata.name} {.metadata.ownerReferences}{"\n"}'

[all of a kind]
kubectl delete secrets -n hall --all | sort

[now]
kubectl delete cm owned -n hall --now

[a namespace with all in it]
kubectl delete ns hall --timeout=90s
kubectl get cm,secret,bmh,cluster,racks -n hall

[a namespace that cannot be deleted]
kubectl delete ns default
kubectl delete ns kube-system

[a definition with its objects]
kubectl create -f files/rack.yaml -n default 2>&1 | sed 's/^error: //'
sed 's/namespace: hall/namespace: default/' files/rack.yaml | kubectl create -f -
kubectl delete crd racks.test.example --timeout=60s
kubectl get racks
