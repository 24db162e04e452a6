//! How many files and sockets this process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process open as many as the system allows: a thousand BMCs with a connection each are more than the 1,024 that
/// many systems set as soft limit, for the sake of programs that use `select`. It stays as it is where the system refuses.
pub(crate) fn raise() {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    if current != maximum
        && let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum })
    {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_soft_limit_is_raised_to_the_hard_one() {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        // Enough for the tests beside this one.
        setrlimit(Resource::Nofile, Rlimit { current: Some(512), maximum }).unwrap();
        raise();
        assert_eq!(getrlimit(Resource::Nofile).current, maximum);
    }
}
