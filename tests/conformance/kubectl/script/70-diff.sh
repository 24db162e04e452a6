# `diff` compares files whose folders are named at random.

[nothing differs]
kubectl diff -f files/rack.yaml >/dev/null 2>&1
kubectl apply -f files/rack.yaml >/dev/null
kubectl diff -f files/rack.yaml

[something differs]
kubectl diff -f files/host-changed.yaml

[something would be new]
sed 's/name: r1/name: r5/' files/rack.yaml | kubectl diff -f -

[something differs, by the server]
kubectl diff --server-side -f files/rack-changed.yaml

[what would be refused]
kubectl diff -f files/rack-broken.yaml
