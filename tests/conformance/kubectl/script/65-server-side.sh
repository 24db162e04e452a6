[apply]
sed 's/name: r1/name: r2/' files/rack.yaml | kubectl apply --server-side -f -
kubectl get rack r2 -n hall -o yaml --show-managed-fields

[apply the same]
sed 's/name: r1/name: r2/' files/rack.yaml | kubectl apply --server-side -f -

[apply a change]
sed 's/name: r1/name: r2/' files/rack-changed.yaml | kubectl apply --server-side -f -
kubectl get rack r2 -n hall -o jsonpath='{.spec}{"\n"}'

[a second manager]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nspec: {row: a, note: mine, power: [{name: top, amperes: 8}]}\n' | kubectl apply --server-side --field-manager=second -f -
kubectl get rack r2 -n hall -o yaml
managers rack r2

[a conflict]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nspec: {row: a, power: [{name: left, amperes: 63}], doors: [none]}\n' | kubectl apply --server-side --field-manager=third -f -

[a conflict forced]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nspec: {row: a, power: [{name: left, amperes: 63}], doors: [none]}\n' | kubectl apply --server-side --field-manager=third --force-conflicts -f -
kubectl get rack r2 -n hall -o yaml
managers rack r2

[fields given up]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nspec: {row: a}\n' | kubectl apply --server-side --field-manager=second -f -
kubectl get rack r2 -n hall -o jsonpath='{.spec}{"\n"}'

[a conflict with an update]
kubectl patch rack r2 -n hall --type=merge -p '{"spec":{"cooling":"water"}}' --field-manager=hand
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nspec: {row: a, cooling: air}\n' | kubectl apply --server-side --field-manager=second -f -

[what is refused]
sed 's/name: r9/name: r7/' files/rack-broken.yaml | kubectl apply --server-side -f -

[duplicate keys]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nspec: {row: a, power: [{name: x}, {name: x}]}\n' | kubectl apply --server-side -f -

[an unknown field]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nspec: {row: a, colour: red}\n' | kubectl apply --server-side -f -

[from client side to server side]
kubectl apply --server-side -f files/host-2.yaml
kubectl get bmh r1-u2 -n hall -o yaml
managers bmh r1-u2

[of a built-in kind]
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa, namespace: hall}\ndata: {a: "1", b: "2"}\n' | kubectl apply --server-side --field-manager=one -f -
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa, namespace: hall}\ndata: {a: "3", c: "4"}\n' | kubectl apply --server-side --field-manager=two -f -
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa, namespace: hall}\ndata: {c: "4"}\n' | kubectl apply --server-side --field-manager=two -f -
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ssa, namespace: hall}\ndata: {a: "1"}\n' | kubectl apply --server-side --field-manager=one -f -
kubectl get cm ssa -n hall -o yaml
managers cm ssa

[only asked for]
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dry, namespace: hall}\ndata: {a: "1"}\n' | kubectl apply --server-side --dry-run=server -f - -o yaml
kubectl get cm dry -n hall

[of the status]
printf 'apiVersion: test.example/v1\nkind: Rack\nmetadata: {name: r2, namespace: hall}\nstatus: {conditions: [{type: Ready, status: "False", reason: Dark}]}\n' | kubectl apply --server-side --subresource=status --field-manager=status -f -
kubectl get rack r2 -n hall -o yaml
managers rack r2

[a cluster]
kubectl apply --server-side --force-conflicts -f files/cluster.yaml

[a definition]
kubectl apply --server-side -f files/definition.yaml
kubectl apply --server-side --force-conflicts -f files/definition.yaml
