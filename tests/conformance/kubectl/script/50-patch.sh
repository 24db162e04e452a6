[merge]
kubectl patch bmh r1-u1 -n hall --type=merge -p '{"spec":{"online":true,"image":{"url":"http://192.0.2.1/i.raw","checksum":"aa"}}}'
kubectl get bmh r1-u1 -n hall -o jsonpath='{.spec.online} {.spec.image}{"\n"}'

[merge that changes nothing]
kubectl patch bmh r1-u1 -n hall --type=merge -p '{"spec":{"online":true}}'

[merge that takes out]
kubectl patch bmh r1-u1 -n hall --type=merge -p '{"spec":{"image":null}}'
kubectl get bmh r1-u1 -n hall -o jsonpath='{.spec}{"\n"}'

[JSON]
kubectl patch rack r1 -n hall --type=json -p '[{"op":"test","path":"/spec/row","value":"a"},{"op":"replace","path":"/spec/tags","value":["x"]},{"op":"add","path":"/spec/doors/-","value":"side"},{"op":"remove","path":"/spec/power/0"}]'
kubectl get rack r1 -n hall -o jsonpath='{.spec}{"\n"}'

[JSON whose test fails]
kubectl patch rack r1 -n hall --type=json -p '[{"op":"test","path":"/spec/row","value":"z"}]'

[JSON with a wrong path]
kubectl patch rack r1 -n hall --type=json -p '[{"op":"remove","path":"/spec/none"}]'

[JSON with a wrong operation]
kubectl patch rack r1 -n hall --type=json -p '[{"op":"hide","path":"/spec/row"}]'

[no JSON]
kubectl patch rack r1 -n hall --type=merge -p '{"spec":'

[strategic, of a built-in kind]
kubectl patch cm plain -n hall -p '{"data":{"a":"9","c":"3"}}'
kubectl get cm plain -n hall -o jsonpath='{.data}{"\n"}'

[strategic, of a list with keys]
kubectl patch sa watcher -n hall -p '{"secrets":[{"name":"one"},{"name":"two"}]}'
kubectl patch sa watcher -n hall -p '{"secrets":[{"name":"two","$patch":"delete"},{"name":"three"}]}'
kubectl get sa watcher -n hall -o jsonpath='{.secrets}{"\n"}'

[strategic, of finalizers]
kubectl patch cm plain -n hall -p '{"metadata":{"finalizers":["test.example/keep"]}}'
kubectl patch cm plain -n hall -p '{"metadata":{"$deleteFromPrimitiveList/finalizers":["test.example/keep"]}}'
kubectl get cm plain -n hall -o jsonpath='{.metadata.finalizers}{"\n"}'

[strategic, of a custom kind]
kubectl patch rack r1 -n hall -p '{"spec":{"note":"n"}}'

[a patch that is refused]
kubectl patch rack r1 -n hall --type=merge -p '{"spec":{"units":99,"cooling":"ice"}}'

[a patch that breaks a rule]
kubectl patch rack r1 -n hall --type=merge -p '{"spec":{"note":"a"}}'
kubectl patch rack r1 -n hall --type=merge -p '{"spec":{"row":"b"}}'

[a patch of an unknown field]
kubectl patch rack r1 -n hall --type=merge -p '{"spec":{"colour":"red"}}'

[a patch of the name]
kubectl patch rack r1 -n hall --type=merge -p '{"metadata":{"name":"other"}}'

[a patch of the uid]
kubectl patch rack r1 -n hall --type=merge -p '{"metadata":{"uid":"00000000-0000-0000-0000-000000000000"}}'

[a patch with an old version]
kubectl patch rack r1 -n hall --type=merge -p '{"metadata":{"resourceVersion":"1"},"spec":{"note":"late"}}'

[a patch of the status]
kubectl patch rack r1 -n hall --subresource=status --type=merge --patch-file files/status.json
kubectl get rack r1 -n hall

[a patch of the status beside it]
kubectl patch rack r1 -n hall --type=merge -p '{"status":{"units":1}}'
kubectl get rack r1 -n hall -o jsonpath='{.status.units}{"\n"}'

[generation]
kubectl get rack r1 -n hall -o jsonpath='{.metadata.generation}{"\n"}'
kubectl patch rack r1 -n hall --type=merge -p '{"spec":{"units":40}}'
kubectl label rack r1 -n hall changed=yes
kubectl get rack r1 -n hall -o jsonpath='{.metadata.generation}{"\n"}'

[a patch of what is not there]
kubectl patch rack none -n hall --type=merge -p '{}'

[a patch by file]
kubectl patch -f files/rack.yaml --type=merge -p '{"spec":{"note":"by file"}}'

[a patch only asked for]
kubectl patch rack r1 -n hall --type=merge -p '{"spec":{"note":"dry"}}' --dry-run=server -o jsonpath='{.spec.note}{"\n"}'
kubectl get rack r1 -n hall -o jsonpath='{.spec.note}{"\n"}'
