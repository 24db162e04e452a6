[a table]
kubectl get bmh -n hall

[a wide table]
kubectl get bmh -n hall -o wide

[a table of all namespaces]
kubectl get bmh,cluster,racks -A

[a table with labels]
kubectl get bmh -n hall --show-labels
kubectl get bmh -n hall -L rack

[a table without heads]
kubectl get bmh -n hall --no-headers

[a table of built-in kinds]
kubectl get cm,secret,sa,role,rolebinding -n hall

[a table of namespaces]
kubectl get ns
kubectl get ns hall -o wide

[a table of secrets]
kubectl get secrets -n hall

[a table of leases]
printf 'apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: lead, namespace: hall}\nspec: {holderIdentity: me, leaseDurationSeconds: 15}\n' | kubectl create -f -
kubectl get leases -n hall

[YAML]
kubectl get cluster one -n hall -o yaml

[JSON]
kubectl get cm plain -n hall -o json

[a list as JSON]
kubectl get bmh -n hall -o json

[a list as YAML]
kubectl get cm plain files -n hall -o yaml

[names]
kubectl get bmh,cm -n hall -o name

[jsonpath]
kubectl get bmh -n hall -o jsonpath='{range .items[*]}{.metadata.name}={.spec.bmc.address}{"\n"}{end}'

[custom columns]
kubectl get bmh -n hall -o custom-columns='NAME:.metadata.name,MAC:.spec.bootMACAddress,NONE:.spec.none'

[a template]
kubectl get bmh -n hall -o go-template='{{range .items}}{{.metadata.name}} {{end}}{{"\n"}}'

[sorted]
kubectl get bmh -n hall --sort-by=.spec.bmc.address

[by label]
kubectl get bmh -n hall -l row=a -o name
kubectl get bmh -n hall -l 'row notin (a),rack' -o name
kubectl get bmh -n hall -l '!row' -o name

[by a wrong label selector]
kubectl get bmh -n hall -l 'a b'

[by name field]
kubectl get bmh -n hall --field-selector metadata.name=r1-u2 -o name
kubectl get cm -A --field-selector metadata.namespace=hall,metadata.name!=plain -o name

[by a declared field]
kubectl get racks -n hall --field-selector spec.row=a -o name
kubectl get racks -n hall --field-selector spec.row!=a -o name

[by a field that cannot be selected]
kubectl get bmh -n hall --field-selector spec.online=true

[by type of secret]
kubectl get secrets -n hall --field-selector type=Opaque -o name

[in pieces]
kubectl get cm -n hall --chunk-size=1 -o name

[what is not there]
kubectl get bmh none -n hall
kubectl get bmh none -n hall --ignore-not-found
kubectl get bmh -n empty

[some are there]
kubectl get bmh r1-u1 none -n hall -o name

[by file]
kubectl get -f files/host.yaml -o name

[a category]
kubectl get furniture -n hall

[raw]
kubectl get --raw /api/v1/namespaces/hall/configmaps/plain

[the status part]
kubectl get rack r1 -n hall --subresource=status

[the scale part]
kubectl get rack r1 -n hall --subresource=scale -o yaml

[a part that is not there]
kubectl get cm plain -n hall --subresource=status

[all]
kubectl get all -n hall
