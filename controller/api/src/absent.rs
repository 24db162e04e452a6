//! Fields of plain types that are left out when they say nothing.

/// For `#[serde(skip_serializing_if = …)]`.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
