//! `bmc media`.

use bessemer_bmc::{Bmc, Credentials, MediaKind, Medium};

use super::exit::Failure;
use super::options::{InsertOptions, Kind};
use super::outcome::Outcome;
use super::output::{Format, show};
use super::password;
use super::table::Table;

pub(super) async fn list(bmc: &dyn Bmc, format: Format) -> Result<(), Failure> {
    let slots = bmc.media().await?;
    show(format, &slots, |slots| {
        let mut table = Table::new(["SLOT", "KINDS", "INSERTED", "IMAGE"]);
        for slot in slots {
            let kinds: Vec<String> = slot.kinds.iter().map(ToString::to_string).collect();
            let inserted = if slot.inserted { "yes" } else { "no" };
            table.row([Some(slot.id.clone()), Some(kinds.join(", ")), Some(inserted.to_owned()), slot.image.clone()]);
        }
        table.render()
    })
}

pub(super) async fn insert(bmc: &dyn Bmc, options: &InsertOptions, format: Format) -> Result<(), Failure> {
    let login = match (&options.media_username, &options.media_password_file) {
        (Some(user), Some(file)) => {
            let password = password::from_file(file, "--media-password-file")?;
            Some(Credentials::new(user, password.as_str()))
        }
        _ => None,
    };
    let medium = Medium { url: options.url.clone(), kind: options.kind.into(), login };
    let inserted = bmc.insert_media(&medium).await?;
    let outcome = Outcome::new(format!("insert {medium}"), inserted.read_back).at(inserted.slot);
    show(format, &outcome, Outcome::line)
}

pub(super) async fn eject(bmc: &dyn Bmc, kind: Kind, format: Format) -> Result<(), Failure> {
    let kind = MediaKind::from(kind);
    let read_back = bmc.eject_media(kind).await?;
    show(format, &Outcome::new(format!("eject {kind}"), read_back), Outcome::line)
}
