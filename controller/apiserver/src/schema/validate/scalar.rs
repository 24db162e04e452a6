//! Strings and numbers against their bounds.

use serde_json::{Number, Value};

use super::super::format::Format;
use super::super::path::Path;
use super::super::{Kind, Schema};
use super::node::Run;
use crate::gotext::{float, quoted};
use crate::status::Cause;

impl Run<'_> {
    /// Length and pattern, of which the first fault is reported; then the format.
    pub(super) fn string(&mut self, schema: &Schema, text: &str, value: &Value, path: &Path<'_>) {
        let bounds = &schema.bounds;
        // Bytes are at least as many as characters: most strings need no counting.
        let longer = |max: u64| text.len() as u64 > max && text.chars().count() as u64 > max;
        let shorter = |min: u64| (text.chars().count() as u64) < min;
        if let Some(max) = bounds.max_length.filter(|max| longer(*max)) {
            self.push(Cause::too_long(&self.field(path), max));
        } else if let Some(min) = bounds.min_length.filter(|min| shorter(*min)) {
            let detail = format!("{} in body should be at least {min} chars long", path.dotted());
            self.push(Cause::invalid(&self.field(path), value, &detail));
        } else if let Some((pattern, _)) = schema.pattern.as_ref().filter(|(_, regex)| !regex.is_match(text)) {
            let detail = format!("{} in body should match '{pattern}'", path.dotted());
            self.push(Cause::invalid(&self.field(path), value, &detail));
        }
        if let Some((_, name)) = schema.format.as_ref().filter(|(format, _)| !format.fits(text)) {
            let detail = format!("{} in body must be of type {name}: {}", path.dotted(), quoted(text));
            self.push(Cause::type_invalid(&self.field(path), value, &detail));
        }
    }

    /// Range of the type, multiple, minimum and maximum. Whole numbers are compared as such.
    pub(super) fn number(&mut self, schema: &Schema, number: &Number, value: &Value, path: &Path<'_>) {
        if let Some(wanted) = out_of_range(schema, number) {
            self.push_bare(&format!("Checked value must be of type {wanted} in {}", path.dotted()));
        }
        let bounds = &schema.bounds;
        let whole = number.as_i64();
        let real = number.as_f64().unwrap_or_default();
        if let Some(step) = bounds.multiple_of {
            self.multiple(step, whole, real, value, path);
        }
        let mut fault = |words: &str, bound: f64| {
            let bound = whole.map_or_else(|| float(bound), |_| truncated(bound).to_string());
            let detail = format!("{} in body should be {words} {bound}", path.dotted());
            self.push(Cause::invalid(&self.field(path), value, &detail));
        };
        // -1, 0 or 1 for below, at or above a bound.
        let against = |bound: f64| match whole {
            Some(whole) => Some(whole.cmp(&truncated(bound))),
            None => real.partial_cmp(&bound),
        };
        if let Some(min) = bounds.minimum {
            let order = against(min);
            if bounds.exclusive_minimum {
                if order.is_some_and(std::cmp::Ordering::is_le) {
                    fault("greater than", min);
                }
            } else if order.is_some_and(std::cmp::Ordering::is_lt) {
                fault("greater than or equal to", min);
            }
        }
        if let Some(max) = bounds.maximum {
            let order = against(max);
            if bounds.exclusive_maximum {
                if order.is_some_and(std::cmp::Ordering::is_ge) {
                    fault("less than", max);
                }
            } else if order.is_some_and(std::cmp::Ordering::is_gt) {
                fault("less than or equal to", max);
            }
        }
    }

    fn multiple(&mut self, step: f64, whole: Option<i64>, real: f64, value: &Value, path: &Path<'_>) {
        let shown = whole.map_or_else(|| float(step), |_| truncated(step).to_string());
        let usable = whole.map_or(step > 0.0, |_| truncated(step) > 0);
        if !usable {
            let detail = format!("factor MultipleOf declared for {} must be positive: {shown}", path.dotted());
            let factor = whole.map_or_else(|| Value::from(step), |_| truncated(step).into());
            self.push(Cause::invalid(&self.field(path), &factor, &detail));
            return;
        }
        let fits = match whole {
            Some(whole) => whole.checked_rem(truncated(step)) == Some(0),
            None if step < 1.0 => is_whole(1.0 / step * real),
            None => is_whole(real / step),
        };
        if !fits {
            let detail = format!("{} in body should be a multiple of {shown}", path.dotted());
            self.push(Cause::invalid(&self.field(path), value, &detail));
        }
    }
}

/// Whether a float is a whole number, within what floats can tell.
fn is_whole(value: f64) -> bool {
    const CLOSE: f64 = 1e-9;
    let nearest = value.round();
    value.is_finite() && (value == nearest || (value - nearest).abs() <= CLOSE * nearest.abs().max(1.0))
}

/// A bound as whole numbers are compared to it: Go cuts the fraction off.
#[expect(clippy::cast_possible_truncation, reason = "cutting is what upstream does; Rust saturates")]
fn truncated(bound: f64) -> i64 {
    bound as i64
}

/// The type that a number does not fit into, in upstream's words.
fn out_of_range(schema: &Schema, number: &Number) -> Option<String> {
    let kind = schema.kind.filter(|_| !schema.int_or_string)?;
    let format = schema.format.as_ref();
    let whole = number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        let within = float.fract() == 0.0 && float.abs() < 9.3e18;
        within.then(|| truncated(float))
    });
    let fits = match (kind, format.map(|(format, _)| *format)) {
        (Kind::Integer, Some(Format::Int32)) => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
        (Kind::Integer, _) => whole.is_some(),
        (Kind::Number, Some(Format::Float)) => {
            number.as_f64().is_some_and(|float| !float.is_finite() || float.abs() <= f64::from(f32::MAX))
        }
        _ => true,
    };
    let name = kind.name();
    (!fits).then(|| match format {
        Some((_, format)) => format!("{name} with format {format}"),
        None => format!("{name} (default format)"),
    })
}
