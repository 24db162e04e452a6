//! One field: what its type and our attributes say, in the words of serde and schemars.

use proc_macro2::TokenStream;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Attribute, Field, LitStr, Result, Token, Type};

use crate::attributes::{Bounds, List, Rule, Text};

/// Replaces our attributes of `field`.
pub(crate) fn rewrite(field: &mut Field) -> Result<()> {
    let (ours, mut kept): (Vec<Attribute>, Vec<Attribute>) =
        std::mem::take(&mut field.attrs).into_iter().partition(is_ours);
    let required = ours.iter().any(|attribute| attribute.path().is_ident("required"));
    kept.extend(absence(&field.ty, required));
    let mut words = TokenStream::new();
    for attribute in ours.iter().filter(|attribute| !attribute.path().is_ident("required")) {
        words.extend(translate(attribute)?);
    }
    if !words.is_empty() {
        kept.push(syn::parse_quote!(#[schemars(#words)]));
    }
    field.attrs = kept;
    Ok(())
}

fn is_ours(attribute: &Attribute) -> bool {
    ["required", "text", "number", "list", "words", "rule"].iter().any(|name| attribute.path().is_ident(name))
}

/// One attribute as items of `#[schemars(…)]`, each with a comma behind it.
fn translate(attribute: &Attribute) -> Result<TokenStream> {
    let path = attribute.path();
    if path.is_ident("text") {
        return Ok(attribute.parse_args::<Text>()?.tokens());
    }
    if path.is_ident("number") {
        let bounds = attribute.parse_args::<Bounds>()?.tokens();
        return Ok(quote!(range(#bounds),));
    }
    if path.is_ident("words") {
        let words = attribute.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)?;
        let words = words.iter();
        return Ok(quote!(extend("enum" = [#(#words),*]),));
    }
    if path.is_ident("rule") {
        return Ok(rule(&attribute.parse_args()?));
    }
    let list: List = attribute.parse_args()?;
    let keys = &list.keys;
    let kind = list.kind.iter().map(|kind| quote!(extend("x-kubernetes-list-type" = #kind),));
    let keys = (!keys.is_empty()).then(|| quote!(extend("x-kubernetes-list-map-keys" = [#(#keys),*]),));
    let bounds = list.bounds.iter().map(|bounds| {
        let bounds = bounds.tokens();
        quote!(length(#bounds),)
    });
    let each = list.each.iter().map(|each| {
        let each = each.tokens();
        quote!(inner(#each),)
    });
    Ok(quote!(#(#kind)* #keys #(#bounds)* #(#each)*))
}

/// A rule as an item of `#[schemars(…)]`.
pub(crate) fn rule(rule: &Rule) -> TokenStream {
    let Rule { rule, message } = rule;
    quote!(extend("x-kubernetes-validations" = [{ "rule": #rule, "message": #message }]),)
}

/// How a field that is not there is read and written.
fn absence(kind: &Type, required: bool) -> Option<Attribute> {
    let empty = match outer(kind)?.as_str() {
        "Option" => "Option::is_none",
        "Vec" if !required => "Vec::is_empty",
        "BTreeMap" if !required => "BTreeMap::is_empty",
        _ => return None,
    };
    Some(syn::parse_quote!(#[serde(default, skip_serializing_if = #empty)]))
}

/// `Option` of `Option<…>`.
fn outer(kind: &Type) -> Option<String> {
    let Type::Path(path) = kind else { return None };
    path.path.segments.last().map(|segment| segment.ident.to_string())
}
