[whoami]
kubectl auth whoami

[may I do all]
kubectl auth can-i '*' '*'

[may I create hosts]
kubectl auth can-i create baremetalhosts -n hall

[may I do what is not there]
kubectl auth can-i get shelves

[what may I do]
kubectl auth can-i --list -n hall

[may another]
kubectl auth can-i list configmaps -n hall --as=system:serviceaccount:hall:watcher
kubectl auth can-i create configmaps -n hall --as=system:serviceaccount:hall:watcher
kubectl auth can-i delete configmaps -n hall --as=system:serviceaccount:hall:watcher
kubectl auth can-i get namespaces --as=jane
kubectl auth can-i delete namespaces --as=jane

[what may another do]
kubectl auth can-i --list -n hall --as=system:serviceaccount:hall:watcher

[as another]
kubectl get cm -n hall --as=jane
kubectl get ns hall -o name --as=jane
kubectl delete cm plain -n hall --as=system:serviceaccount:hall:watcher

[as another, of a group]
kubectl auth whoami --as=joe --as-group=staff --as-group=other
kubectl get ns hall -o name --as=joe --as-group=staff

[reconciled roles]
kubectl auth reconcile -f files/roles.yaml
kubectl auth reconcile -f files/roles.yaml

[a wrong token]
server=$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')
kubectl --kubeconfig=/dev/null --server="$server" --insecure-skip-tls-verify --token=wrong get ns

[nobody]
server=$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')
kubectl --kubeconfig=/dev/null --server="$server" --insecure-skip-tls-verify get --raw /version >/dev/null && echo version
kubectl --kubeconfig=/dev/null --server="$server" --insecure-skip-tls-verify get --raw /api/v1/namespaces

[a service account's token]
server=$(kubectl config view -o jsonpath='{.clusters[0].cluster.server}')
token=$(kubectl create token watcher -n hall)
kubectl --kubeconfig=/dev/null --server="$server" --insecure-skip-tls-verify --token="$token" auth whoami
kubectl --kubeconfig=/dev/null --server="$server" --insecure-skip-tls-verify --token="$token" get cm plain -n hall -o name
kubectl --kubeconfig=/dev/null --server="$server" --insecure-skip-tls-verify --token="$token" get secrets -n hall
