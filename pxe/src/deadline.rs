//! Questions to the directory end in time, whatever it does.

use crate::config::Config;
use crate::directory::DirectoryError;

/// The directory took too long.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {:?}", Config::DIRECTORY_DEADLINE)]
struct Late;

/// The answer, or an error after [`Config::DIRECTORY_DEADLINE`].
pub(crate) async fn ask<T>(answer: impl Future<Output = Result<T, DirectoryError>>) -> Result<T, DirectoryError> {
    match tokio::time::timeout(Config::DIRECTORY_DEADLINE, answer).await {
        Ok(answer) => answer,
        Err(_) => Err(DirectoryError::new(Late)),
    }
}
