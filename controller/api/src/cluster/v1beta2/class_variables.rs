//! Variables of a class, with the schemas that topologies' values must fit.

use bessemer_api_macros::api;
use serde_json::Value;

use super::TemplateMetadata;

/// One variable.
#[api]
pub struct ClassVariable {
    /// Its name.
    #[text(1..=256)]
    pub name: String,
    /// A topology must give it.
    pub required: bool,
    /// Metadata as v1beta1 had it; not used.
    #[serde(rename = "deprecatedV1Beta1Metadata")]
    pub deprecated_v1beta1_metadata: Option<TemplateMetadata>,
    /// What values must look like.
    pub schema: VariableSchema,
}

/// What a variable's values must look like.
#[api]
pub struct VariableSchema {
    /// As an OpenAPI v3 schema.
    #[serde(rename = "openAPIV3Schema")]
    pub open_api_v3_schema: VariableProperties,
}

/// A part of OpenAPI v3's schemas. What holds schemas itself is not checked by the CRD: a CRD cannot refer to itself.
#[api(some)]
pub struct VariableProperties {
    /// For people.
    #[text(1..=4096)]
    pub description: Option<String>,
    /// An example.
    pub example: Option<Value>,
    /// Type of the value.
    #[serde(rename = "type")]
    pub kind: Option<VariableType>,
    /// Fields of an object, by name.
    pub properties: Option<Value>,
    /// Schema of an object's other fields.
    pub additional_properties: Option<Value>,
    /// Most fields of an object.
    pub max_properties: Option<i64>,
    /// Fewest fields of an object.
    pub min_properties: Option<i64>,
    /// Fields that an object must have.
    #[list(atomic, 1..=1000, each(1..=256))]
    pub required: Vec<String>,
    /// Schema of a list's elements.
    pub items: Option<Value>,
    /// Most elements of a list.
    pub max_items: Option<i64>,
    /// Fewest elements of a list.
    pub min_items: Option<i64>,
    /// No two elements of a list are equal.
    pub unique_items: Option<bool>,
    /// Format of a text.
    #[text(1..=32)]
    pub format: Option<String>,
    /// Longest text.
    pub max_length: Option<i64>,
    /// Shortest text.
    pub min_length: Option<i64>,
    /// Pattern of a text.
    #[text(1..=512)]
    pub pattern: Option<String>,
    /// Greatest number.
    pub maximum: Option<i64>,
    /// It must be less than that.
    pub exclusive_maximum: Option<bool>,
    /// Least number.
    pub minimum: Option<i64>,
    /// It must be more than that.
    pub exclusive_minimum: Option<bool>,
    /// Unknown fields of an object are kept.
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub x_preserve_unknown_fields: Option<bool>,
    /// The only values.
    #[list(atomic, ..=100)]
    pub r#enum: Vec<Value>,
    /// Value if none is given.
    pub default: Option<Value>,
    /// CEL rules.
    #[serde(rename = "x-kubernetes-validations")]
    #[list(map(rule), 1..=100)]
    pub x_validations: Vec<VariableRule>,
    /// Labels and annotations that patches may read.
    #[serde(rename = "x-metadata")]
    pub x_metadata: Option<TemplateMetadata>,
    /// A number or a text.
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub x_int_or_string: Option<bool>,
    /// Schemas that must all be met.
    pub all_of: Option<Value>,
    /// Schemas of which one must be met, or more.
    pub any_of: Option<Value>,
    /// Schemas of which exactly one must be met.
    pub one_of: Option<Value>,
    /// A schema that must not be met.
    pub not: Option<Value>,
}

/// Type of a variable's value.
#[api]
pub enum VariableType {
    /// An object.
    #[serde(rename = "object")]
    Object,
    /// A list.
    #[serde(rename = "array")]
    Array,
    /// A text.
    #[serde(rename = "string")]
    String,
    /// A whole number.
    #[serde(rename = "integer")]
    Integer,
    /// A number.
    #[serde(rename = "number")]
    Number,
    /// `true` or `false`.
    #[serde(rename = "boolean")]
    Boolean,
}

/// A CEL rule for a variable's value.
#[api]
#[derive(Eq)]
pub struct VariableRule {
    /// What must hold.
    #[text(1..=4096)]
    pub rule: String,
    /// Said if it does not.
    #[text(1..=512)]
    pub message: Option<String>,
    /// Makes what is said if it does not.
    #[text(1..=1024)]
    pub message_expression: Option<String>,
    /// Sort of failure.
    #[schemars(extend("x-default" = "FieldValueInvalid"))]
    pub reason: Option<VariableRuleReason>,
    /// Field that the failure is about.
    #[text(1..=512)]
    pub field_path: Option<String>,
}

/// Sort of failure.
#[api]
pub enum VariableRuleReason {
    /// A wrong value.
    FieldValueInvalid,
    /// A value that may not be there.
    FieldValueForbidden,
    /// A value that is missing.
    FieldValueRequired,
    /// A value that is there twice.
    FieldValueDuplicate,
}

/// What is known of one variable.
#[api]
pub struct ClassVariableStatus {
    /// Its name.
    #[text(1..=256)]
    pub name: String,
    /// Its definitions differ.
    pub definitions_conflict: Option<bool>,
    /// By the class itself and by extensions.
    #[required]
    #[list(atomic, 1..=100)]
    pub definitions: Vec<ClassVariableDefinition>,
}

/// One definition of a variable.
#[api]
pub struct ClassVariableDefinition {
    /// `inline`, or the patch whose extension defines it.
    #[text(1..=256)]
    pub from: String,
    /// A topology must give it.
    pub required: bool,
    /// Metadata as v1beta1 had it; not used.
    #[serde(rename = "deprecatedV1Beta1Metadata")]
    pub deprecated_v1beta1_metadata: Option<TemplateMetadata>,
    /// What values must look like.
    pub schema: VariableSchema,
}
