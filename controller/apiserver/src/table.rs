//! Tables: what `kubectl get` asks for and prints. Turns objects and a resource's columns into `meta.k8s.io/v1 Table`.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::registry::{Cell, Column, Resource};

/// How much of each object goes along with its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

/// How a table is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) include: Include,
    /// The version of the table and of what it includes: `v1`, or `v1beta1` for old clients.
    pub(crate) version: &'static str,
}

impl Style {
    pub(crate) fn api_version(self) -> String {
        format!("meta.k8s.io/{}", self.version)
    }
}

/// A table of the given served objects. `definitions` is false for all but the first event of a watch.
pub(crate) fn table<'a>(
    resource: &Resource,
    objects: impl Iterator<Item = &'a Value>,
    metadata: Value,
    style: Style,
    definitions: bool,
) -> Value {
    let rows: Vec<Value> = objects.map(|object| row(resource, object, style)).collect();
    let columns = if definitions { column_definitions(resource) } else { Value::Null };
    json!({
        "kind": "Table", "apiVersion": style.api_version(), "metadata": metadata, "columnDefinitions": columns,
        "rows": rows,
    })
}

/// The names and types of a table's columns.
pub(crate) fn column_definitions(resource: &Resource) -> Value {
    let name = json!({
        "name": "Name", "type": "string", "format": "name", "description": "Name of the object", "priority": 0,
    });
    let others = resource.columns.iter().map(|c| {
        json!({
            "name": c.name, "type": c.kind, "format": c.format, "description": c.description, "priority": c.priority,
        })
    });
    resource.is_listed_by_name().then_some(name).into_iter().chain(others).collect()
}

/// An object's row.
pub(crate) fn row(resource: &Resource, object: &Value, style: Style) -> Value {
    let name = resource.is_listed_by_name().then(|| Value::from(crate::object::name(object)));
    let cells: Vec<Value> = name.into_iter().chain(resource.columns.iter().map(|c| cell(c, object))).collect();
    let mut row = Map::new();
    row.insert("cells".to_owned(), cells.into());
    match style.include {
        Include::Nothing => {
            row.insert("object".to_owned(), Value::Null);
        }
        Include::Metadata => {
            let mut metadata = partial(object);
            crate::object::set_field(&mut metadata, "apiVersion", style.api_version().into());
            row.insert("object".to_owned(), metadata);
        }
        Include::Object => {
            row.insert("object".to_owned(), object.clone());
        }
    }
    Value::Object(row)
}

/// Only the metadata of an object.
pub(crate) fn partial(object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
        "metadata": object.get("metadata").cloned().unwrap_or_default(),
    })
}

fn cell(column: &Column, object: &Value) -> Value {
    let found = match &column.cell {
        Cell::Computed(compute) => return compute(object),
        Cell::Path(path) => path.find(object),
    };
    let value = match found.as_slice() {
        [] => return Value::Null,
        [one] => *one,
        many => return many.iter().map(|v| plain(v)).collect::<Vec<_>>().join(" ").into(),
    };
    match (column.kind.as_str(), value) {
        (_, Value::Null) => Value::Null,
        ("integer", Value::Number(_)) | ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => value.clone(),
        ("date", Value::String(time)) => age(time),
        _ => plain(value).into(),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A string at a JSON pointer, empty when there is none.
pub(crate) fn text_at<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// How long ago a time was, in kubectl's words.
pub(crate) fn age(time: &str) -> Value {
    match time.parse::<Timestamp>() {
        Ok(then) => duration(Timestamp::now().as_second().saturating_sub(then.as_second())).into(),
        Err(_) => "<unknown>".into(),
    }
}

/// Kubernetes' `duration.HumanDuration`: at most two units, fewer the longer ago.
fn duration(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    let pair = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{small_unit}") }
    };
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        _ if minutes < 10 => pair(minutes, "m", seconds % 60, "s"),
        _ if minutes < 180 => format!("{minutes}m"),
        _ if hours < 8 => pair(hours, "h", minutes % 60, "m"),
        _ if hours < 48 => format!("{hours}h"),
        _ if days < 8 => pair(days, "d", hours % 24, "h"),
        _ if days < 730 => format!("{days}d"),
        _ if days < 2920 => pair(days / 365, "y", days % 365, "d"),
        _ => format!("{}y", days / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_like_kubectl() {
        const HOUR: i64 = 3600;
        const DAY: i64 = 24 * HOUR;
        let cases = [
            (-2, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (11 * 60 + 5, "11m"),
            (3 * HOUR, "3h"),
            (3 * HOUR + 60, "3h1m"),
            (9 * HOUR + 60, "9h"),
            (3 * DAY + HOUR, "3d1h"),
            (400 * DAY, "400d"),
            (800 * DAY, "2y70d"),
            (4000 * DAY, "10y"),
        ];
        for (seconds, wanted) in cases {
            assert_eq!(duration(seconds), wanted);
        }
    }
}
