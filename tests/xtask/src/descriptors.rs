//! How many files and sockets a process may have open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Lets this process and all that it starts open as many as the system allows: a thousand fake BMCs and a client for each
/// need three thousand, and a login shell's soft limit is 1,024. It stays as it is where the system refuses.
pub(crate) fn raise() {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    // Nobody may raise the hard limit, and anybody the soft one as far as that.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
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
