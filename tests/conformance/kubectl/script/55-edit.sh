[edit]
KUBE_EDITOR="sed -i s/cooling:.air/cooling:.water/" kubectl edit rack r1 -n hall
kubectl get rack r1 -n hall -o jsonpath='{.spec.cooling}{"\n"}'

[edit that changes nothing]
KUBE_EDITOR=true kubectl edit rack r1 -n hall

[edit that is refused]
KUBE_EDITOR="sed -i s/cooling:.water/cooling:.ice/" kubectl edit rack r1 -n hall 2>&1 | sed 's|/kubectl-edit-.*yaml|/FILE|'

[edit of a host]
KUBE_EDITOR="sed -i s/192.0.2.111/192.0.2.11/" kubectl edit bmh r1-u1 -n hall

[edit of the status]
KUBE_EDITOR="sed -i s/both.feeds/all.feeds/" kubectl edit rack r1 -n hall --subresource=status
kubectl get rack r1 -n hall -o jsonpath='{.status.conditions}{"\n"}'

[edit of a built-in kind]
KUBE_EDITOR="sed -i s/two/three/" kubectl edit cm settings -n hall

[replace]
kubectl get rack r1 -n hall -o yaml | sed 's/cooling: water/cooling: air/' | kubectl replace -f -

[replace with an old version]
kubectl get rack r1 -n hall -o yaml | sed 's/resourceVersion: .*/resourceVersion: "1"/' | kubectl replace -f -

[replace without a version]
kubectl get cluster one -n hall -o yaml | sed '/resourceVersion: /d' | kubectl replace -f -

[replace what is not there]
sed 's/name: r1/name: none/' files/rack.yaml | kubectl replace -f -

[replace by force]
kubectl replace --force -f files/config.yaml

[replace the status]
kubectl get rack r1 -n hall -o yaml | sed 's/all feeds/no feeds/' | kubectl replace --subresource=status -f -
kubectl get rack r1 -n hall -o jsonpath='{.status.conditions}{"\n"}'

[set last applied]
kubectl apply set-last-applied -f files/rack.yaml
