//! The iPXE scripts: rendered from templates with values that were checked, so that no value becomes a command.
//!
//! Knows iPXE, not who is asking: which script a machine gets is decided elsewhere.

mod custom;
mod kernel_line;
mod urls;
mod value;

use minijinja::{Environment, ErrorKind, UndefinedBehavior, Value, context};

use crate::identity::BootId;

pub use custom::CustomScript;
pub use value::InvalidValue;

pub(crate) use kernel_line::KernelLine;
pub(crate) use urls::{Urls, paths};

/// Steps of the template engine for a site's own script: no loop without end.
const CUSTOM_FUEL: u64 = 100_000;
/// The address iPXE booted from, as PXELINUX has always passed it on and dracut, Debian and our agent read it. iPXE fills
/// it in: which card it was is known to nobody else.
const BOOTIF: &str = "BOOTIF=01-${netX/mac:hexhyp}";
const SHOULD_BE_OFF: &str = "this host should be off";

/// Why there is no script to serve. Nothing else is served instead: a wrong script may cost a disk.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ScriptError {
    #[error(transparent)]
    Value(#[from] InvalidValue),
    #[error("the custom script cannot be rendered: {0}")]
    Custom(#[source] minijinja::Error),
    #[error(transparent)]
    Template(#[from] minijinja::Error),
}

/// The scripts of one server.
pub(crate) struct Scripts {
    templates: Environment<'static>,
}

/// What a host starts with.
#[derive(Debug, Clone)]
pub(crate) struct Start<'a> {
    pub(crate) boot_id: BootId,
    /// The boot server's URL.
    pub(crate) server: &'a str,
    pub(crate) kernel: String,
    pub(crate) initrd: String,
    /// The site's kernel arguments.
    pub(crate) kernel_line: &'a KernelLine,
    /// This boot's own ones.
    pub(crate) kernel_args: &'a str,
    /// The operator's own script for this host.
    pub(crate) custom: Option<&'a str>,
}

impl Scripts {
    /// Compiles the templates; fails only if one of this crate's own is broken.
    pub(crate) fn new() -> Result<Self, minijinja::Error> {
        let mut templates = Environment::new();
        templates.set_undefined_behavior(UndefinedBehavior::Strict);
        templates.add_template("again", include_str!("templates/again.ipxe"))?;
        templates.add_template("ramdisk", include_str!("templates/ramdisk.ipxe"))?;
        templates.add_template("local", include_str!("templates/local.ipxe"))?;
        templates.add_template("hold", include_str!("templates/hold.ipxe"))?;
        templates.add_template("refused", include_str!("templates/refused.ipxe"))?;
        templates.add_template("live", include_str!("templates/live.ipxe"))?;
        templates.add_template("custom", include_str!("templates/custom.ipxe"))?;
        Ok(Self { templates })
    }

    /// Kernel, ramdisk, go; or what the operator wants in the place of that.
    pub(crate) fn ramdisk(&self, start: &Start<'_>) -> Result<String, ScriptError> {
        let kernel_line = start.kernel_line.with(&KernelLine::parse(start.kernel_args)?);
        let values = context! {
            boot_id => start.boot_id.to_string(),
            server => start.server,
            kernel => &start.kernel,
            initrd => &start.initrd,
            kernel_args => format!("{BOOTIF} {kernel_line}").trim_end(),
        };
        match start.custom.map(str::parse).transpose()? {
            None => self.render("ramdisk", values),
            Some(CustomScript::Url(url)) => self.render("custom", context! { url, ..values }),
            Some(CustomScript::Text(text)) => custom_text(&text, values),
        }
    }

    /// On to the next boot entry.
    pub(crate) fn local(&self) -> Result<String, ScriptError> {
        self.render("local", context! {})
    }

    /// Off, or else stay here and ask again.
    pub(crate) fn hold(&self, reason: Option<&str>) -> Result<String, ScriptError> {
        let reason = reason.unwrap_or(SHOULD_BE_OFF);
        value::check_words("the reason", reason)?;
        self.render("hold", context! { reason })
    }

    /// Nothing to boot yet: stay here and ask again.
    pub(crate) fn refused(&self, reason: &str) -> Result<String, ScriptError> {
        value::check_words("the reason", reason)?;
        self.render("refused", context! { reason })
    }

    /// Somebody else's ISO.
    pub(crate) fn live(&self, iso: &str) -> Result<String, ScriptError> {
        value::check_url(iso)?;
        self.render("live", context! { url => iso })
    }

    fn render(&self, name: &str, values: Value) -> Result<String, ScriptError> {
        // The template engine takes the last line break away.
        Ok(self.templates.get_template(name)?.render(values)? + "\n")
    }
}

fn custom_text(text: &str, values: Value) -> Result<String, ScriptError> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(CUSTOM_FUEL));
    let rendered = environment.render_str(text, values).map_err(ScriptError::Custom)?;
    // Only a template that cuts its own first line away ends here.
    if !rendered.starts_with("#!ipxe\n") {
        let error = minijinja::Error::new(ErrorKind::InvalidOperation, "it does not begin with #!ipxe any more");
        return Err(ScriptError::Custom(error));
    }
    Ok(rendered + "\n")
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
