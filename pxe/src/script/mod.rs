//! The iPXE scripts, and the URLs that DHCP answers and scripts name. Every URL made here is served by `http`.

use std::net::SocketAddrV4;

use minijinja::{Environment, context};

use crate::identity::BootId;

/// Paths under the boot listener's root.
pub(crate) mod paths {
    pub(crate) const IPXE_EFI: &str = "/ipxe.efi";
    pub(crate) const LOCAL: &str = "/local.ipxe";
    pub(crate) const HOLD: &str = "/hold.ipxe";
    /// Never served: HTTP boot firmware is sent here when it shall go on to its disk.
    pub(crate) const ABSENT: &str = "/boot-from-disk.efi";
    pub(crate) const SCRIPT: &str = "boot.ipxe";
    pub(crate) const KERNEL: &str = "kernel";
    pub(crate) const INITRD: &str = "initrd";
}

/// The URLs of the boot listener, address literals so that firmware needs no name server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Urls(pub(crate) SocketAddrV4);

impl Urls {
    pub(crate) fn ipxe_efi(self) -> String {
        self.at(paths::IPXE_EFI)
    }

    pub(crate) fn local_script(self) -> String {
        self.at(paths::LOCAL)
    }

    pub(crate) fn hold_script(self) -> String {
        self.at(paths::HOLD)
    }

    pub(crate) fn absent(self) -> String {
        self.at(paths::ABSENT)
    }

    pub(crate) fn ramdisk_script(self, boot_id: BootId) -> String {
        self.of_boot(boot_id, paths::SCRIPT)
    }

    fn of_boot(self, boot_id: BootId, file: &str) -> String {
        self.at(&format!("/b/{boot_id}/{file}"))
    }

    fn at(self, path: &str) -> String {
        format!("http://{}{path}", self.0)
    }
}

/// The scripts of one server.
pub(crate) struct Scripts {
    templates: Environment<'static>,
    urls: Urls,
    kernel_args: String,
}

impl Scripts {
    /// Compiles the templates; fails only if one of this crate's own is broken.
    pub(crate) fn new(urls: Urls, kernel_args: String) -> Result<Self, minijinja::Error> {
        let mut templates = Environment::new();
        templates.set_undefined_behavior(minijinja::UndefinedBehavior::Strict);
        templates.add_template("again", include_str!("again.ipxe"))?;
        templates.add_template("ramdisk", include_str!("ramdisk.ipxe"))?;
        templates.add_template("local", include_str!("local.ipxe"))?;
        templates.add_template("hold", include_str!("hold.ipxe"))?;
        Ok(Self { templates, urls, kernel_args })
    }

    /// Kernel, ramdisk, go.
    pub(crate) fn ramdisk(&self, boot_id: BootId) -> Result<String, minijinja::Error> {
        self.render(
            "ramdisk",
            context! {
                boot_id => boot_id.to_string(),
                kernel => self.urls.of_boot(boot_id, paths::KERNEL),
                initrd => self.urls.of_boot(boot_id, paths::INITRD),
                kernel_args => &self.kernel_args,
            },
        )
    }

    /// On to the next boot entry.
    pub(crate) fn local(&self) -> Result<String, minijinja::Error> {
        self.render("local", context! {})
    }

    /// Stay here, ask again.
    pub(crate) fn hold(&self) -> Result<String, minijinja::Error> {
        self.render("hold", context! {})
    }

    fn render(&self, name: &str, values: minijinja::Value) -> Result<String, minijinja::Error> {
        // The template engine takes the last line break away.
        Ok(self.templates.get_template(name)?.render(values)? + "\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scripts() -> Scripts {
        Scripts::new(Urls("10.77.0.1:8080".parse().unwrap()), "console=ttyS0 panic=10".into()).unwrap()
    }

    #[test]
    fn the_ramdisk_script_is_as_firmware_ran_it() {
        let script = scripts().ramdisk(BootId(0xabc)).unwrap();
        assert_eq!(script, include_str!("ramdisk.golden"));
    }

    #[test]
    fn scripts_without_a_boot_never_name_one() {
        for script in [scripts().local().unwrap(), scripts().hold().unwrap()] {
            assert!(script.starts_with("#!ipxe\n") && !script.contains("/b/"), "{script}");
        }
    }
}
