# The definitions of our own kinds, and one whose every feature is used below.

[our definitions]
kubectl get crd -o name

[they are established]
kubectl wait --for=condition=Established crd --all --timeout=60s | sort

[another definition]
kubectl apply -f files/definition.yaml
kubectl wait --for=condition=Established crd/racks.test.example --timeout=60s

[the same again]
kubectl apply -f files/definition.yaml

[the definition as stored]
kubectl get crd racks.test.example -o yaml

[definitions as a table]
kubectl get crd

[a definition described]
kubectl describe crd racks.test.example

[a definition with a wrong name]
sed 's/name: racks.test.example/name: rack.test.example/' files/definition.yaml | kubectl create -f -

[a definition with a wrong schema]
sed 's/type: object/type: thing/' files/definition.yaml | sed 's/racks/shelves/' | kubectl create -f -

[what is served becomes known]
until kubectl get racks -A >/dev/null 2>&1 && kubectl get baremetalhosts,clusters -A >/dev/null 2>&1; do :; done
kubectl get racks -A
