[a host]
kubectl describe bmh r1-u1 -n hall

[a cluster]
kubectl describe cluster one -n hall

[a rack with events]
kubectl create -f files/events.yaml
kubectl describe rack r1 -n hall

[a config map]
kubectl describe cm settings -n hall

[a secret]
kubectl describe secret keys -n hall

[a namespace]
kubectl describe ns hall

[a service account]
kubectl describe sa watcher -n hall

[a lease]
kubectl describe lease lead -n hall

[by prefix]
kubectl describe bmh r1 -n hall | grep ^Name

[what is not there]
kubectl describe bmh none -n hall

[events]
kubectl events -n hall

[events of an object]
kubectl events -n hall --for rack/r1 --types=Warning

[events as a table]
kubectl get events -n hall --sort-by=.lastTimestamp
kubectl get events -n hall -o wide --sort-by=.lastTimestamp

[events by field]
kubectl get events -n hall --field-selector involvedObject.name=r1,reason=Hot -o name

[events of the other group]
kubectl get events.events.k8s.io r1.second -n hall -o yaml
