//! What stands inside our attributes, parsed.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, LitInt, LitStr, Path, Result, Token, parenthesized, token};

/// `#[api(some, atomic, no_default, optional_spec)]`.
#[derive(Default)]
pub(crate) struct Options {
    pub(crate) some: bool,
    pub(crate) atomic: bool,
    pub(crate) no_default: bool,
    pub(crate) optional_spec: bool,
}

impl Parse for Options {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut options = Self::default();
        for word in Punctuated::<Ident, Token![,]>::parse_terminated(input)? {
            match word.to_string().as_str() {
                "some" => options.some = true,
                "atomic" => options.atomic = true,
                "no_default" => options.no_default = true,
                "optional_spec" => options.optional_spec = true,
                _ => return Err(syn::Error::new(word.span(), "use some, atomic, no_default or optional_spec")),
            }
        }
        Ok(options)
    }
}

/// `1..=253`, `1..` or `..=253`.
#[derive(Clone)]
pub(crate) struct Bounds {
    min: Option<LitInt>,
    max: Option<LitInt>,
}

impl Bounds {
    /// `min = 1, max = 253`.
    pub(crate) fn tokens(&self) -> TokenStream {
        let min = self.min.iter().map(|value| quote!(min = #value,));
        let max = self.max.iter().map(|value| quote!(max = #value,));
        quote!(#(#min)* #(#max)*)
    }

    fn starts(input: ParseStream<'_>) -> bool {
        input.peek(LitInt) || input.peek(Token![..=])
    }
}

impl Parse for Bounds {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let min = if input.peek(LitInt) { Some(input.parse()?) } else { None };
        let max = if input.peek(Token![..=]) {
            input.parse::<Token![..=]>()?;
            Some(input.parse()?)
        } else {
            input.parse::<Token![..]>()?;
            None
        };
        Ok(Self { min, max })
    }
}

/// `1..=253, PATTERN`: the pattern may go.
#[derive(Clone)]
pub(crate) struct Text {
    pub(crate) bounds: Bounds,
    pub(crate) pattern: Option<Path>,
}

impl Text {
    pub(crate) fn tokens(&self) -> TokenStream {
        let bounds = self.bounds.tokens();
        let pattern = self.pattern.iter().map(|path| quote!(regex(pattern = #path),));
        quote!(length(#bounds), #(#pattern)*)
    }
}

impl Parse for Text {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let bounds = input.parse()?;
        let pattern = if input.parse::<Option<Token![,]>>()?.is_some() { Some(input.parse()?) } else { None };
        Ok(Self { bounds, pattern })
    }
}

/// `map(key), 1..=32, each(1..=256)`: all but the first may go.
pub(crate) struct List {
    pub(crate) kind: Option<&'static str>,
    pub(crate) keys: Vec<String>,
    pub(crate) bounds: Option<Bounds>,
    pub(crate) each: Option<Text>,
}

impl Parse for List {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let word: Ident = input.parse()?;
        let (kind, mut keys) = match word.to_string().as_str() {
            "plain" => (None, Vec::new()),
            "atomic" => (Some("atomic"), Vec::new()),
            "set" => (Some("set"), Vec::new()),
            "map" => (Some("map"), Vec::new()),
            _ => return Err(syn::Error::new(word.span(), "use plain, atomic, set or map(keys)")),
        };
        if kind == Some("map") {
            let inside;
            parenthesized!(inside in input);
            let names = inside.parse_terminated(Ident::parse_any, Token![,])?;
            keys.extend(names.iter().map(ToString::to_string));
        }
        let (mut bounds, mut each) = (None, None);
        while input.parse::<Option<Token![,]>>()?.is_some() {
            if Bounds::starts(input) {
                bounds = Some(input.parse()?);
            } else {
                let word: Ident = input.parse()?;
                if word != "each" {
                    return Err(syn::Error::new(word.span(), "use bounds such as 1..=32, or each(…)"));
                }
                let inside;
                parenthesized!(inside in input);
                each = Some(inside.parse()?);
            }
        }
        Ok(Self { kind, keys, bounds, each })
    }
}

/// `"cel", "message"`.
pub(crate) struct Rule {
    pub(crate) rule: LitStr,
    pub(crate) message: LitStr,
}

impl Parse for Rule {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let rule = input.parse()?;
        input.parse::<Token![,]>()?;
        Ok(Self { rule, message: input.parse()? })
    }
}

/// `"Name", string, ".json.path", "description", 10`.
pub(crate) struct Column {
    name: LitStr,
    kind: Ident,
    path: LitStr,
    description: Option<LitStr>,
    priority: Option<LitInt>,
}

impl Column {
    /// As `#[kube(printcolumn = …)]` takes it: JSON.
    pub(crate) fn json(&self) -> String {
        let quoted = |text: &str| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let mut json = format!(
            "{{\"name\":{},\"type\":{},\"jsonPath\":{}",
            quoted(&self.name.value()),
            quoted(&self.kind.to_string()),
            quoted(&self.path.value())
        );
        if let Some(description) = &self.description {
            json += &format!(",\"description\":{}", quoted(&description.value()));
        }
        if let Some(priority) = &self.priority {
            json += &format!(",\"priority\":{}", priority.base10_digits());
        }
        json + "}"
    }
}

impl Parse for Column {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let name = input.parse()?;
        input.parse::<Token![,]>()?;
        let kind = input.call(Ident::parse_any)?;
        input.parse::<Token![,]>()?;
        let path = input.parse()?;
        let (mut description, mut priority) = (None, None);
        while input.parse::<Option<token::Comma>>()?.is_some() {
            if input.peek(LitStr) {
                description = Some(input.parse()?);
            } else {
                priority = Some(input.parse()?);
            }
        }
        Ok(Self { name, kind, path, description, priority })
    }
}
