[a namespace]
kubectl create namespace hall

[a namespace that is there]
kubectl create namespace hall

[a namespace with a wrong name]
kubectl create namespace Hall_1

[a config map]
kubectl create configmap plain -n hall --from-literal=a=1 --from-literal=b=2

[a config map from files]
kubectl create configmap files -n hall --from-file=files/status.json --from-file=other=files/status.json

[a config map, asked only what would be done]
kubectl create configmap dry -n hall --from-literal=a=1 --dry-run=server -o yaml
kubectl get configmap dry -n hall

[a config map with a wrong key]
kubectl create configmap wrong -n hall --from-literal='a b=1'

[a secret]
kubectl create secret generic keys -n hall --from-literal=user=me

[a TLS secret that is none]
kubectl create secret tls certificate -n hall --cert=files/status.json --key=files/status.json

[a secret for a registry]
kubectl create secret docker-registry registry -n hall --docker-username=u --docker-password=p --docker-server=registry.example

[a service account]
kubectl create serviceaccount watcher -n hall

[a token of a service account]
kubectl create token watcher -n hall | cut -c1-10

[a role]
kubectl create role writer -n hall --verb=create,update --resource=configmaps,secrets

[a role binding]
kubectl create rolebinding writer -n hall --role=writer --serviceaccount=hall:watcher

[a cluster role]
kubectl create clusterrole viewer --verb=get,list --resource=namespaces

[a cluster role binding]
kubectl create clusterrolebinding viewer --clusterrole=viewer --user=jane --group=staff

[roles as stored]
kubectl get role,rolebinding -n hall -o yaml

[roles as a table]
kubectl get role,rolebinding -n hall
kubectl get clusterrole viewer
kubectl get clusterrolebinding viewer -o wide

[roles described]
kubectl describe role writer -n hall
kubectl describe rolebinding writer -n hall
kubectl describe clusterrole viewer

[a role binding whose role changes]
kubectl get rolebinding writer -n hall -o yaml | sed 's/  name: writer$/  name: other/' | sed '/^metadata/,/^[a-z]/s/  name: other/  name: writer/' | kubectl replace -f -

[a rack]
kubectl create -f files/rack.yaml

[a rack again]
kubectl create -f files/rack.yaml

[a broken rack]
kubectl create -f files/rack-broken.yaml

[a rack that breaks a rule]
kubectl create -f files/rack-rule.yaml

[a broken rack, unchecked by kubectl]
kubectl create --validate=false -f files/rack-broken.yaml

[a generated name]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {generateName: generated-, namespace: hall}\nspec: {row: c}\n' | kubectl create -f - -o name

[a rack in a namespace that is not there]
sed 's/namespace: hall/namespace: nowhere/' files/rack.yaml | kubectl create -f -

[a rack without a name]
sed '/name: r1/d' files/rack.yaml | kubectl create -f -

[a rack with a wrong name]
sed 's/name: r1/name: R_1/' files/rack.yaml | kubectl create -f -

[a rack with wrong labels]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: labels, namespace: hall, labels: {"a b": "c d"}}\nspec: {row: c}\n' | kubectl create -f -

[a kind in a version that is not there]
sed 's|test.example/v1|test.example/v9|' files/rack.yaml | kubectl create -f -

[not YAML]
echo '{"kind":' | kubectl create -f -

[no kind]
echo 'metadata: {name: x}' | kubectl create -f -

[the rack as stored]
kubectl get rack r1 -n hall -o yaml

[the config maps as stored]
kubectl get cm plain files -n hall -o yaml --show-managed-fields
