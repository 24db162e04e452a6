//! Taints of a machine's Node.

use bessemer_api_macros::api;

use crate::patterns::{TAINT_KEY, TAINT_VALUE};

/// One taint that a machine brings to its Node.
#[api(no_default)]
#[derive(Eq)]
pub struct MachineTaint {
    /// Key.
    #[text(1..=317, TAINT_KEY)]
    pub key: String,
    /// Value.
    #[text(1..=63, TAINT_VALUE)]
    pub value: Option<String>,
    /// What it does to pods that do not tolerate it.
    pub effect: TaintEffect,
    /// When it is put on the Node.
    pub propagation: TaintPropagation,
}

/// What a taint does to pods that do not tolerate it.
#[api]
pub enum TaintEffect {
    /// They are not placed there.
    NoSchedule,
    /// They are placed elsewhere if possible.
    PreferNoSchedule,
    /// They are evicted.
    NoExecute,
}

/// When a taint is put on the Node.
#[api]
pub enum TaintPropagation {
    /// Kept there for as long as the machine has it.
    Always,
    /// Put there once, when the Node joins.
    OnInitialization,
}
