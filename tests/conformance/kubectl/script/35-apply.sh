[a host, its secret and its namespace]
kubectl apply -f files/host.yaml

[the same again]
kubectl apply -f files/host.yaml

[a second host]
kubectl apply -f files/host-2.yaml -o yaml

[a cluster]
kubectl apply -f files/cluster.yaml

[a changed host]
kubectl apply -f files/host-changed.yaml
kubectl get bmh r1-u1 -n hall -o yaml

[a changed host, asked only what would be done]
kubectl apply -f files/host.yaml --dry-run=server
kubectl apply -f files/host.yaml --dry-run=client

[a broken host]
kubectl apply -f files/host-broken.yaml

[a host with misspelt fields]
kubectl apply -f files/host-typo.yaml

[a host with misspelt fields, warned of]
kubectl apply -f files/host-typo.yaml --validate=warn
kubectl get bmh typo -n hall -o jsonpath='{.spec}{"\n"}'

[a host with misspelt fields, ignored]
kubectl apply -f files/host-typo.yaml --validate=ignore

[a folder]
mkdir -p folder
cp files/config.yaml files/rack.yaml folder/
kubectl apply -f folder/

[a folder with less in it, pruned]
kubectl apply -f files/rack.yaml -n hall --prune -l none=such --prune-allowlist=core/v1/ConfigMap

[a list of lists]
kubectl get cm settings -n hall -o json | kubectl apply -f -

[view-last-applied]
kubectl apply view-last-applied -f files/config.yaml

[a field taken out]
sed '/a: "1"/d' files/config.yaml | kubectl apply -f -
kubectl get cm settings -n hall -o jsonpath='{.data}{"\n"}'

[a rack's lists]
kubectl apply -f files/rack-changed.yaml
kubectl get rack r1 -n hall -o jsonpath='{.spec}{"\n"}'

[a rack that would move]
sed 's/row: a/row: b/' files/rack.yaml | kubectl apply -f -

[an immutable config map]
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed, namespace: hall}\nimmutable: true\ndata: {a: "1"}\n' | kubectl apply -f -
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed, namespace: hall}\nimmutable: true\ndata: {a: "2"}\n' | kubectl apply -f -

[a secret whose type changes]
printf 'apiVersion: v1\nkind: Secret\nmetadata: {name: keys, namespace: hall}\ntype: other\n' | kubectl apply -f -

[who manages what]
kubectl get bmh r1-u1 -n hall -o yaml --show-managed-fields
