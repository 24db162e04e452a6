# Descriptions of built-in kinds are upstream's sentences, which are not ours to repeat: their structure is compared.

[a kind]
kubectl explain rack | structure

[a kind's own description]
kubectl explain rack | sed '/^FIELDS/,$d'

[a field]
kubectl explain rack.spec.power

[a field of a list's elements]
kubectl explain rack.spec.power.amperes

[an enumeration]
kubectl explain rack.spec.cooling

[everything below a kind]
kubectl explain rack --recursive

[a host]
kubectl explain baremetalhost | structure

[everything below a host]
kubectl explain bmh --recursive | structure

[a host's BMC]
kubectl explain bmh.spec.bmc

[a cluster]
kubectl explain cluster.spec

[everything below a cluster]
kubectl explain cluster --recursive | structure

[a version named]
kubectl explain clusters --api-version=cluster.x-k8s.io/v1beta2 | structure

[a built-in kind]
kubectl explain configmap | structure

[everything below a built-in kind]
kubectl explain secret --recursive | structure

[an object's metadata]
kubectl explain namespace.metadata.ownerReferences | structure

[a lease]
kubectl explain lease.spec | structure

[a definition of kinds]
kubectl explain crd.spec.versions | structure

[a role]
kubectl explain role --recursive | structure

[a field that is not there]
kubectl explain rack.spec.colour

[a kind that is not there]
kubectl explain shelf

[the older schema]
kubectl explain rack.spec --output=plaintext-openapiv2
