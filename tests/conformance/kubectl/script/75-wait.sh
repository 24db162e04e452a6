[for a condition]
kubectl patch rack r2 -n hall --subresource=status --type=merge --patch-file files/status.json
kubectl wait --for=condition=Ready rack/r2 -n hall --timeout=30s

[for a condition's other value]
kubectl wait --for=condition=Ready=false rack/r2 -n hall --timeout=1s

[for a value]
kubectl wait --for=jsonpath='{.spec.row}'=a rack/r1 rack/r2 -n hall --timeout=30s

[for a value that comes]
kubectl wait --for=jsonpath='{.spec.note}'=come rack/r2 -n hall --timeout=30s &
kubectl patch rack r2 -n hall --type=merge -p '{"spec":{"note":"come"}}' >/dev/null
wait $!

[for an end]
kubectl create cm short -n hall >/dev/null
: >log
kubectl wait --for=delete cm/short -n hall --timeout=30s -v=6 >waited 2>>log &
waiting=$!
until grep -q 'watch=true' log; do sleep 0.1; done
kubectl delete cm short -n hall >/dev/null
wait $waiting
cat waited

[for a creation]
kubectl wait --for=create cm/coming -n hall --timeout=30s &
waiting=$!
kubectl create cm coming -n hall >/dev/null
wait $waiting

[for what does not come]
kubectl wait --for=condition=Gone rack/r2 -n hall --timeout=1s

[for what is not there]
kubectl wait --for=condition=Ready rack/none -n hall --timeout=1s

[changes as they come]
follow kubectl get racks -n hall -w
take 4
kubectl patch rack r2 -n hall --type=merge -p '{"spec":{"units":7}}'
take 1
sed 's/name: r1/name: r6/' files/rack.yaml | kubectl create -f -
take 1
kubectl delete rack r6 -n hall
take 1
unfollow

[only changes, by label, as names]
follow kubectl get cm -n hall --watch-only -l watched -o name
until [ -n "$seen" ]; do
  kubectl delete cm watched -n hall --ignore-not-found >/dev/null
  kubectl create cm watched -n hall >/dev/null
  kubectl label cm watched -n hall watched=yes >/dev/null
  read -r seen <&3
done
echo "$seen"
unfollow

[changes with their kinds]
follow kubectl get cm plain -n hall -w --output-watch-events
take 2
kubectl label cm plain -n hall step=1 >/dev/null
take 1
kubectl label cm plain -n hall step=2 --overwrite >/dev/null
take 1
unfollow

[one object as JSON]
follow kubectl get cm plain -n hall -w -o jsonpath='{.metadata.labels.step}{"\n"}'
take 1
kubectl label cm plain -n hall step=3 --overwrite >/dev/null
take 1
unfollow
