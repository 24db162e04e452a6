[a kind]
kubectl explain rack

[a field]
kubectl explain rack.spec.power

[a field of a list's elements]
kubectl explain rack.spec.power.amperes

[an enumeration]
kubectl explain rack.spec.cooling

[everything below a kind]
kubectl explain rack --recursive

[a host]
kubectl explain baremetalhost

[everything below a host]
kubectl explain bmh --recursive

[a host's BMC]
kubectl explain bmh.spec.bmc

[a cluster]
kubectl explain cluster.spec

[everything below a cluster]
kubectl explain cluster --recursive

[a version named]
kubectl explain clusters --api-version=cluster.x-k8s.io/v1beta2

[a built-in kind]
kubectl explain configmap

[everything below a built-in kind]
kubectl explain secret --recursive

[an object's metadata]
kubectl explain namespace.metadata.ownerReferences

[a lease]
kubectl explain lease.spec

[a definition of kinds]
kubectl explain crd.spec.versions

[a field that is not there]
kubectl explain rack.spec.colour

[a kind that is not there]
kubectl explain shelf

[the older schema]
kubectl explain rack.spec --output=plaintext-openapiv2
