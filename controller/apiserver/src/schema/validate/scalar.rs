//! Strings and numbers against their bounds.

use std::cmp::Ordering;

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
        self.in_range(schema, number, "Checked", path);
        let bounds = &schema.bounds;
        let real = number.as_f64().unwrap_or_default();
        // A bound that the type cannot hold is a fault of its own; then all is compared as floats.
        let mut whole_for = |bound: f64, what: &str| {
            let fits = Number::from_f64(bound).is_none_or(|bound| self.in_range(schema, &bound, what, path));
            number.as_i64().filter(|_| fits)
        };
        let of_step = bounds.multiple_of.map(|step| (step, whole_for(step, "MultipleOf")));
        let of_min = bounds.minimum.map(|min| (min, whole_for(min, "Minimum boundary")));
        let of_max = bounds.maximum.map(|max| (max, whole_for(max, "Maximum boundary")));
        if let Some((step, whole)) = of_step {
            self.multiple(step, whole, real, value, path);
        }
        if let Some((min, whole)) = of_min {
            let order = against(whole, real, min);
            if bounds.exclusive_minimum && order.is_le() {
                self.beyond("greater than", min, whole, value, path);
            } else if order.is_lt() {
                self.beyond("greater than or equal to", min, whole, value, path);
            }
        }
        if let Some((max, whole)) = of_max {
            let order = against(whole, real, max);
            if bounds.exclusive_maximum && order.is_ge() {
                self.beyond("less than", max, whole, value, path);
            } else if order.is_gt() {
                self.beyond("less than or equal to", max, whole, value, path);
            }
        }
    }

    fn beyond(&mut self, words: &str, bound: f64, whole: Option<i64>, value: &Value, path: &Path<'_>) {
        let bound = whole.map_or_else(|| float(bound), |_| truncated(bound).to_string());
        let detail = format!("{} in body should be {words} {bound}", path.dotted());
        self.push(Cause::invalid(&self.field(path), value, &detail));
    }

    fn in_range(&mut self, schema: &Schema, number: &Number, what: &str, path: &Path<'_>) -> bool {
        let wanted = out_of_range(schema, number);
        if let Some(wanted) = &wanted {
            self.push_bare(&format!("{what} value must be of type {wanted} in {}", path.dotted()));
        }
        wanted.is_none()
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

fn against(whole: Option<i64>, real: f64, bound: f64) -> Ordering {
    whole.map_or_else(|| real.partial_cmp(&bound).unwrap_or(Ordering::Equal), |whole| whole.cmp(&truncated(bound)))
}

/// Whether a float is a whole number that JSON can hold, within what floats can tell.
pub(super) fn is_whole(value: f64) -> bool {
    const CLOSE: f64 = 1e-9;
    const LARGEST: f64 = 9_007_199_254_740_991.0;
    let nearest = value.trunc();
    let off = (value - nearest).abs();
    value.abs() <= LARGEST && (off == 0.0 || (nearest != 0.0 && off / (value.abs() + nearest.abs()) < CLOSE))
}

/// One more than the largest whole number.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// A float as Go makes a whole number of it: the fraction is cut off, and what does not fit is the smallest number.
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
pub(super) fn truncated(value: f64) -> i64 {
    if (-BEYOND..BEYOND).contains(&value) { value as i64 } else { i64::MIN }
}

/// The type that a number does not fit into, in upstream's words.
fn out_of_range(schema: &Schema, number: &Number) -> Option<String> {
    let kind = schema.kind.filter(|_| !schema.int_or_string)?;
    let format = schema.format.as_ref();
    let whole = number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        let within = float.fract() == 0.0 && (-BEYOND..BEYOND).contains(&float);
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
