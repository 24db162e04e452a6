[label]
kubectl label bmh r1-u1 -n hall tier=front

[label what has it]
kubectl label bmh r1-u1 -n hall tier=back
kubectl label bmh r1-u1 -n hall tier=back --overwrite
kubectl label bmh r1-u1 -n hall tier=back

[label all]
kubectl label bmh -n hall --all seen=yes

[take a label off]
kubectl label bmh r1-u1 -n hall tier-

[a wrong label]
kubectl label bmh r1-u1 -n hall tier='no spaces allowed'

[list labels]
kubectl label bmh r1-u1 -n hall --list | sort

[annotate]
kubectl annotate bmh r1-u1 -n hall note='any text, really'

[annotate by selector]
kubectl annotate bmh -n hall -l rack=r1 baremetalhost.metal3.io/paused=

[take an annotation off]
kubectl annotate bmh -n hall --all baremetalhost.metal3.io/paused-

[a wrong annotation]
kubectl annotate bmh r1-u1 -n hall 'a b=c'

[label a namespace]
kubectl label ns hall floor=1
kubectl get ns hall -o yaml

[who manages what]
kubectl get bmh r1-u1 -n hall -o yaml
managers bmh r1-u1

[scale]
kubectl scale rack r1 -n hall --replicas=24
kubectl get rack r1 -n hall

[scale from a wrong size]
kubectl scale rack r1 -n hall --current-replicas=3 --replicas=24

[scale too far]
kubectl scale rack r1 -n hall --replicas=99

[scale what has no scale]
kubectl scale bmh r1-u1 -n hall --replicas=2
kubectl scale cm plain -n hall --replicas=2
