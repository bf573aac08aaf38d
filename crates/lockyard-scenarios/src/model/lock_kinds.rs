//! The kinds of locks that scripts can name: the library's, and those of a user's crate.

use super::named_kinds::LockKind;
use super::own_lock::OwnLock;
use lockyard_support::{InputError, printable};

/// Maximum number of own locks, so that a script can have a variant with each.
const MAX_OWN: usize = 32;

/// Characters and lengths that [`is_name`] allows.
pub(crate) const NAME_RULE: &str = "1 to 64 characters of a-z A-Z 0-9 - _ . + / @";

/// Returns `true` if a text can be a name in a script.
pub(crate) fn is_name(text: &str) -> bool {
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.+/@".contains(&b);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(ok)
}

/// The kinds of locks that scripts can name: the library's, and a user's own. By default there are
/// no own locks.
#[derive(Clone, Debug, Default)]
pub struct LockKinds {
    own: Vec<OwnLock>,
}

impl LockKinds {
    /// Returns the library's kinds and these own locks.
    ///
    /// # Errors
    ///
    /// If a name is malformed, or stands for another lock already, or if there are too many.
    pub fn with_own(own: &[OwnLock]) -> Result<LockKinds, InputError> {
        if own.len() > MAX_OWN {
            let message = format!("{} locks of your own; at most {MAX_OWN} are allowed", own.len());
            return Err(InputError(message));
        }
        let second = || LockKind::SECOND_NAMES.iter().map(|&(name, _)| name);
        for (index, lock) in own.iter().enumerate() {
            let name = lock.name();
            let mut of_library = LockKind::ALL.iter().map(|kind| kind.name()).chain(second());
            let reason = if !is_name(name) {
                format!("its name must be {NAME_RULE}")
            } else if of_library.any(|taken| taken == name) {
                "the library has a lock of this name; choose another".to_owned()
            } else if own[..index].contains(lock) {
                "two of your locks have this name; choose another".to_owned()
            } else {
                continue;
            };
            return Err(InputError(format!("your own lock `{}`: {reason}", printable(name))));
        }
        Ok(LockKinds { own: own.to_vec() })
    }

    /// Own locks.
    pub fn own(&self) -> &[OwnLock] {
        &self.own
    }

    /// All kinds, the library's first.
    pub fn all(&self) -> impl Iterator<Item = LockKind> {
        let own = self.own.iter().copied().map(LockKind::Own);
        LockKind::ALL.iter().copied().chain(own)
    }
}
