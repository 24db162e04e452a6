//! `bessemer-agent write-image`: an image onto a disk or file and nothing else, for people and for measurements.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bessemer_protocol::{Digest, Image, ImageFormat};

use super::disk::Target;
use super::error::DeployError;
use super::pipeline::{Wanted, from_source};
use super::source::Http;

/// Longer than any image takes.
const DEADLINE: Duration = Duration::from_secs(24 * 3600);

const USAGE: &str = "usage: bessemer-agent write-image URL DIGEST DISK\n\
     Overwrites DISK, a block device or an existing file of the wanted size, with the image at URL (raw, qcow2, gzip, xz, zstd), whose\n\
     DIGEST is md5, sha256 or sha512 in hexadecimal. No seed is written and no partition changed.";

/// Carries out the arguments after the command.
pub(crate) fn write_by_hand(arguments: &[String]) -> ExitCode {
    let [url, digest, disk] = arguments else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    let Some(digest) = Digest::parse(digest, None) else {
        eprintln!("{digest:?} is no digest\n{USAGE}");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = runtime
        .map_err(|error| DeployError::Internal(error.to_string()))
        .and_then(|runtime| runtime.block_on(write(url, digest, Path::new(disk))));
    match result {
        Ok(words) => {
            println!("{words}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn write(url: &str, digest: Digest, disk: &Path) -> Result<String, DeployError> {
    let name = disk.display().to_string();
    let target = Target::open(&name).map_err(|error| DeployError::disk(&name, "open", &error))?;
    let target = Arc::new(target);
    let started = Instant::now();
    let http =
        Http::new("", tokio::time::Instant::now() + DEADLINE).map_err(|error| DeployError::Fetch(error.to_string()))?;
    let image = Image { format: ImageFormat::Auto, checksum: digest.into() };
    let wanted = Wanted { image: &image, seed_label: "", is_system: false };
    let written = match Box::pin(from_source(&http, url, &wanted, &target, |_, _| ())).await {
        Ok(written) => written,
        Err(error) => return Err(super::scrubbed(target, error).await),
    };
    let failed = |error| DeployError::disk(target.name(), "write the first MiB", &error);
    let head_length = usize::try_from(written.image.length).unwrap_or(usize::MAX).min(written.image.head.len());
    target.write_first(written.image.head.get(..head_length).unwrap_or_default()).map_err(failed)?;
    let seconds = started.elapsed().as_secs_f64().max(0.001);
    Ok(format!(
        "{}: {} bytes fetched, {} bytes on {} in {seconds:.3} s",
        written.format,
        written.fetched,
        written.image.length,
        target.name()
    ))
}
