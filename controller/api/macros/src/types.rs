//! A whole struct or enum.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Expr, ExprLit, Fields, Lit, LitStr, Meta, MetaNameValue, Result,
    parse_quote,
};

use crate::attributes::{Column, Options};
use crate::fields;

/// The item with everything it needs.
pub(crate) fn expand(options: &Options, mut input: DeriveInput) -> Result<TokenStream> {
    match &mut input.data {
        Data::Struct(data) => {
            for field in &mut data.fields {
                fields::rewrite(field)?;
            }
            let attributes = struct_attributes(options, std::mem::take(&mut input.attrs))?;
            input.attrs = attributes;
            Ok(quote!(#input))
        }
        Data::Enum(data) => {
            let words = words(&input.ident, data)?;
            let default =
                data.variants.iter().any(|variant| variant.attrs.iter().any(|a| a.path().is_ident("default")));
            input.attrs.push(parse_quote!(
                #[derive(
                    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, ::serde::Serialize, ::serde::Deserialize,
                    ::schemars::JsonSchema
                )]
            ));
            if default {
                input.attrs.push(parse_quote!(#[derive(Default)]));
            }
            Ok(quote!(#input #words))
        }
        Data::Union(data) => Err(syn::Error::new(data.union_token.span, "a union is no API type")),
    }
}

fn struct_attributes(options: &Options, given: Vec<Attribute>) -> Result<Vec<Attribute>> {
    let is_kind = given.iter().any(|attribute| attribute.path().is_ident("kube"));
    let mut attributes: Vec<Attribute> = Vec::new();
    if is_kind {
        attributes.push(parse_quote!(#[derive(::kube::CustomResource)]));
        attributes.push(parse_quote!(#[kube(derive = "PartialEq")]));
        if !options.no_default {
            attributes.push(parse_quote!(#[kube(derive = "Default")]));
        }
        if options.optional_spec {
            // no plain `serde` attribute is let through to the root
            let absent = "cfg_attr(all(), serde(default), schemars(extend(\"required\" = null)))";
            attributes.push(parse_quote!(#[kube(attr = #absent)]));
        }
        let doc = documentation(&given);
        attributes.push(parse_quote!(#[kube(doc = #doc)]));
    }
    attributes.push(parse_quote!(
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize, ::schemars::JsonSchema)]
    ));
    if !options.no_default {
        attributes.push(parse_quote!(#[derive(Default)]));
    }
    attributes.push(parse_quote!(#[serde(rename_all = "camelCase")]));
    if options.some {
        attributes.push(parse_quote!(#[schemars(extend("minProperties" = 1))]));
    }
    if options.atomic {
        attributes.push(parse_quote!(#[schemars(extend("x-kubernetes-map-type" = "atomic"))]));
    }
    for attribute in given {
        if attribute.path().is_ident("column") {
            let json = attribute.parse_args::<Column>()?.json();
            attributes.push(parse_quote!(#[kube(printcolumn = #json)]));
        } else if attribute.path().is_ident("rule") {
            let rule = fields::rule(&attribute.parse_args()?);
            attributes.push(parse_quote!(#[schemars(#rule)]));
        } else {
            attributes.push(attribute);
        }
    }
    Ok(attributes)
}

/// The doc comment, which `kubectl explain` shows of the kind.
fn documentation(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(MetaNameValue { value: Expr::Lit(ExprLit { lit: Lit::Str(line), .. }), .. }) =
            &attribute.meta
        {
            lines.push(line.value().trim().to_owned());
        }
    }
    lines.join(" ")
}

/// `as_str`, `from_word` and `Display`.
fn words(name: &syn::Ident, data: &DataEnum) -> Result<TokenStream> {
    let (mut arms, mut back) = (Vec::new(), Vec::new());
    for variant in &data.variants {
        if !matches!(variant.fields, Fields::Unit) {
            return Err(syn::Error::new_spanned(variant, "an API enum is a list of words"));
        }
        let ident = &variant.ident;
        let word = renamed(&variant.attrs)?.unwrap_or_else(|| ident.to_string());
        back.push(quote!(#word => Some(Self::#ident)));
        arms.push(quote!(Self::#ident => #word));
    }
    Ok(quote! {
        impl #name {
            /// As the API writes it.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { #(#arms),* }
            }

            /// The variant that the API writes so.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word {
                    #(#back,)*
                    _ => None,
                }
            }
        }

        impl ::std::fmt::Display for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
    })
}

/// The word of `#[serde(rename = "word")]`.
fn renamed(attributes: &[Attribute]) -> Result<Option<String>> {
    let mut word = None;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
        attribute.parse_nested_meta(|meta| {
            if meta.path.is_ident("rename") {
                word = Some(meta.value()?.parse::<LitStr>()?.value());
            }
            Ok(())
        })?;
    }
    Ok(word)
}
