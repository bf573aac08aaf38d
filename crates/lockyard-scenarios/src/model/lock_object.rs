//! The interface that hides kinds of locks from the interpreter.

/// A lock, as the interpreter of scripts uses it.
///
/// The trait hides the kind of lock. Each step is one indirect call, at the same place for every
/// kind.
pub(crate) trait LockObject {
    /// Runs `body` with the lock held.
    fn locked(&self, body: &mut dyn FnMut());
    /// Runs `body` as a reader. A lock without a shared mode is held.
    fn locked_shared(&self, body: &mut dyn FnMut()) {
        self.locked(body);
    }
    /// Returns `true` if a task holds the lock.
    fn is_held(&self) -> bool;
    /// Address of the lock.
    fn address(&self) -> usize;
}
