//! Virtual media: slots and the images in them. Slots are made as the Redfish side finds them in its seed.

use std::collections::BTreeMap;

/// What is in one slot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inserted {
    /// URL of the image.
    pub image: String,
    /// Whether the machine may not write to it.
    pub write_protected: bool,
}

/// The slots of a controller, by a key of the caller's (the path of the resource).
#[derive(Debug, Clone, Default)]
pub struct Media {
    slots: BTreeMap<String, (Vec<String>, Option<Inserted>)>,
}

impl Media {
    /// Makes a slot known, with its `MediaTypes`.
    pub fn add_slot(&mut self, key: &str, types: &[String]) {
        self.slots.entry(key.to_owned()).or_insert_with(|| (types.to_vec(), None));
    }

    /// Puts an image in, or takes it out; false if there is no such slot.
    pub fn set(&mut self, key: &str, inserted: Option<Inserted>) -> bool {
        let slot = self.slots.get_mut(key);
        slot.map(|(_, held)| *held = inserted).is_some()
    }

    /// What the slot holds.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Inserted> {
        self.slots.get(key).and_then(|(_, held)| held.as_ref())
    }

    /// The image of the first slot that is of the type and holds one; `CD` takes `DVD` too, `USBStick` also `Floppy`.
    #[must_use]
    pub fn image(&self, media_type: &str) -> Option<String> {
        let alike: &[&str] = match media_type {
            "CD" => &["CD", "DVD"],
            _ => &["USBStick", "Floppy"],
        };
        let mut held = self.slots.values().filter(|(types, _)| types.iter().any(|of| alike.contains(&of.as_str())));
        held.find_map(|(_, held)| Some(held.as_ref()?.image.clone()))
    }
}
