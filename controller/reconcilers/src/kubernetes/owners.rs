//! Owner references, finalizers, deletion.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::{Resource, ResourceExt};

/// Anything of a statically known kind.
pub(crate) trait Ownable: Resource<DynamicType = ()> + ResourceExt {}
impl<K: Resource<DynamicType = ()> + ResourceExt> Ownable for K {}

/// Whether the object is on its way out.
pub(crate) fn is_deleting(object: &impl ResourceExt) -> bool {
    object.meta().deletion_timestamp.is_some()
}

/// The owner that controls the object, if it is of `kind`.
pub(crate) fn controller_of<'a>(object: &'a impl ResourceExt, kind: &str) -> Option<&'a OwnerReference> {
    object.owner_references().iter().find(|owner| owner.controller == Some(true) && owner.kind == kind)
}

/// The name of an owner of `kind`, controlling or not.
pub(crate) fn owner_named(object: &impl ResourceExt, kind: &str) -> Option<String> {
    object.owner_references().iter().find(|owner| owner.kind == kind).map(|owner| owner.name.clone())
}

/// Makes `owner` own the object; replaces an older reference to the same object, and takes control over from another
/// kind's controller when it controls.
pub(crate) fn own(meta: &mut ObjectMeta, owner: &impl Ownable, controls: bool) {
    let reference = if controls { owner.controller_owner_ref(&()) } else { owner.owner_ref(&()) };
    let Some(reference) = reference else { return };
    let owners = meta.owner_references.get_or_insert_default();
    if owners.contains(&reference) {
        return;
    }
    owners.retain(|other| {
        let same = other.kind == reference.kind && other.name == reference.name;
        !(same || controls && other.controller == Some(true))
    });
    owners.push(reference);
}
