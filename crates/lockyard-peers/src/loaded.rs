//! Locks from shared objects, such as a C compiler makes (`lockyard measure --lock FILE`).
//!
//! A shared object has the size of its lock and two functions:
//!
//! ```c
//! const size_t lockyard_lock_size = sizeof(struct lock);
//! void lockyard_lock(void *lock);
//! void lockyard_unlock(void *lock);
//! ```
//!
//! It may also have `lockyard_lock_align` (a `size_t`), `lockyard_lock_name` (an array of `char`),
//! `lockyard_lock_init` and `lockyard_lock_destroy` (functions as above). A loaded file stays
//! loaded until the process ends, because a stalled run leaves its threads behind.

use crate::peer::Peer;
use crate::table::PEERS;
use lockyard_scenarios::{ForeignLock, LoadedLock, LockFunction};
use std::alloc::Layout;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Largest size of a lock in bytes.
const MAX_SIZE: usize = 4096;
/// Alignment of a lock that states none: the alignment of `malloc`.
const USUAL_ALIGN: usize = 16;
/// Largest alignment of a lock: the alignment of the objects' lines.
const MAX_ALIGN: usize = 128;
/// Longest name of a lock.
const MAX_NAME: usize = 64;

/// Locks that were loaded, in the order of loading.
static LOADED: Mutex<Vec<&'static Peer>> = Mutex::new(Vec::new());

/// Returns the locks that were loaded.
pub fn loaded() -> Vec<&'static Peer> {
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Loads the lock of a shared object.
///
/// # Errors
///
/// One line, if the file is not there, is no shared object, or has no lock, or if a peer has the
/// lock's name.
pub fn load(path: &Path) -> Result<&'static Peer, String> {
    let described = describe(path).map_err(|what| format!("{}: {what}", path.display()))?;
    let Described { name, layout, functions } = described;
    let name: &'static str = name.leak();
    // SAFETY: the file states the layout, and its functions stay loaded. They exclude unless the
    // file is wrong; then runs find updates missing, as for the control `broken`.
    let lock = unsafe { ForeignLock::loaded(name, layout, functions) };
    let (size, align) = (layout.size(), layout.align());
    let peer: &'static Peer = Box::leak(Box::new(Peer {
        name,
        from: path.display().to_string().leak(),
        licence: "the file's",
        what: format!("a shared object's lock of {size} bytes, aligned to {align}").leak(),
        fifo: false,
        control: false,
        lock,
    }));
    LOADED.lock().unwrap_or_else(PoisonError::into_inner).push(peer);
    Ok(peer)
}

/// The lock of a file.
struct Described {
    name: String,
    layout: Layout,
    functions: LoadedLock,
}

fn describe(path: &Path) -> Result<Described, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("is not a file; allowed: a shared object".to_owned());
    }
    let object = system::SharedObject::open(path).map_err(|why| {
        format!("is not a shared object that can be loaded ({why}); build it by `cc -shared -fPIC`")
    })?;
    let needed = |symbol: &str| {
        object.symbol(symbol).ok_or_else(|| {
            format!(
                "has no `{symbol}`; needed are the functions `lockyard_lock` and \
                 `lockyard_unlock`, and `const size_t lockyard_lock_size`"
            )
        })
    };
    let (size, lock) = (needed("lockyard_lock_size")?, needed("lockyard_lock")?);
    let unlock = needed("lockyard_unlock")?;
    // SAFETY: the symbol is a `size_t`, as documented.
    let size = unsafe { system::number(size) };
    let align = object.symbol("lockyard_lock_align");
    // SAFETY: as above.
    let align = align.map_or(USUAL_ALIGN, |align| unsafe { system::number(align) });
    if !(1..=MAX_SIZE).contains(&size) {
        return Err(format!("`lockyard_lock_size` is {size}; allowed: 1 to {MAX_SIZE}"));
    }
    if !align.is_power_of_two() || align > MAX_ALIGN {
        return Err(format!(
            "`lockyard_lock_align` is {align}; allowed: a power of two, at most {MAX_ALIGN}"
        ));
    }
    let layout = Layout::from_size_align(size, align).map_err(|error| error.to_string())?;
    let optional = |symbol| {
        // SAFETY: the symbol is a function of this kind, as documented.
        object.symbol(symbol).map(|address| unsafe { system::function(address) })
    };
    let functions = LoadedLock {
        init: optional("lockyard_lock_init"),
        // SAFETY: as above.
        lock: unsafe { system::function(lock) },
        // SAFETY: as above.
        unlock: unsafe { system::function(unlock) },
        destroy: optional("lockyard_lock_destroy"),
    };
    let name = match object.symbol("lockyard_lock_name") {
        // SAFETY: the symbol is an array of `char` that ends with a 0, as documented.
        Some(name) => unsafe { system::text(name, MAX_NAME) },
        None => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let ok = |b: u8| b.is_ascii_alphanumeric() || b"-_.+".contains(&b);
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(ok) {
        return Err(format!(
            "`{}` is no name for a lock; allowed: 1 to {MAX_NAME} characters of a-z A-Z 0-9 - _ . \
             +, as `const char lockyard_lock_name[]` or as the name of the file",
            name.escape_debug()
        ));
    }
    // Results tell peers apart by their names.
    if PEERS.iter().any(|peer| peer.name == name) {
        return Err(format!(
            "a peer has the name `{name}`; give the lock another one by `const char \
             lockyard_lock_name[]`"
        ));
    }
    Ok(Described { name, layout, functions })
}

#[cfg(unix)]
mod system {
    use super::LockFunction;
    use std::ffi::{CStr, CString, c_void};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr::NonNull;

    /// A file that the dynamic linker has loaded.
    pub(super) struct SharedObject(NonNull<c_void>);

    impl SharedObject {
        /// Loads a file. Its constructors run.
        pub(super) fn open(path: &Path) -> Result<SharedObject, String> {
            // A path with a slash: the linker looks up others among the system's libraries.
            let path = path.canonicalize().map_err(|error| error.to_string())?;
            let text = CString::new(path.as_os_str().as_bytes()).map_err(|e| e.to_string())?;
            // SAFETY: the text ends with a 0. The user names the file so that its code runs.
            let handle = unsafe { libc::dlopen(text.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            NonNull::new(handle).map(SharedObject).ok_or_else(|| reason(&path))
        }

        /// Returns the address of a symbol.
        pub(super) fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
            let name = CString::new(name).ok()?;
            // SAFETY: the file is never closed, and the name ends with a 0.
            NonNull::new(unsafe { libc::dlsym(self.0.as_ptr(), name.as_ptr()) })
        }
    }

    /// Returns the linker's reason for the last failure, without the path that it begins with.
    fn reason(path: &Path) -> String {
        // SAFETY: the function takes no arguments. It returns null or a text that ends with a 0 and
        // is valid until the thread's next call of the linker.
        let reason = unsafe {
            let reason = libc::dlerror();
            if reason.is_null() {
                return "no reason is known".to_owned();
            }
            CStr::from_ptr(reason).to_string_lossy().into_owned()
        };
        let own = format!("{}: ", path.display());
        let line = reason.lines().next().unwrap_or_default();
        line.strip_prefix(&own).unwrap_or(line).to_owned()
    }

    /// # Safety
    ///
    /// There must be a `size_t` at the address.
    pub(super) unsafe fn number(address: NonNull<c_void>) -> usize {
        // SAFETY: the caller promises that the object is there.
        unsafe { address.cast::<usize>().read_unaligned() }
    }

    /// # Safety
    ///
    /// At the address there must be a function that takes the address of a lock.
    pub(super) unsafe fn function(address: NonNull<c_void>) -> LockFunction {
        // SAFETY: the caller promises that the object is there. Addresses of code and of data have
        // the same size where there is `dlsym`.
        unsafe { std::mem::transmute::<*mut c_void, LockFunction>(address.as_ptr()) }
    }

    /// Returns the text at an address, at most one byte more than `most`.
    ///
    /// # Safety
    ///
    /// At the address there must be an array of `char` that ends with a 0.
    pub(super) unsafe fn text(address: NonNull<c_void>, most: usize) -> String {
        let mut bytes = Vec::new();
        for index in 0..=most {
            // SAFETY: no byte before this one is 0, so the array continues.
            match unsafe { address.cast::<u8>().add(index).read() } {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

#[cfg(not(unix))]
mod system {
    use super::LockFunction;
    use std::ffi::c_void;
    use std::path::Path;
    use std::ptr::NonNull;

    pub(super) struct SharedObject(());

    impl SharedObject {
        pub(super) fn open(_: &Path) -> Result<SharedObject, String> {
            Err("shared objects are loaded on Unix only".to_owned())
        }
        pub(super) fn symbol(&self, _: &str) -> Option<NonNull<c_void>> {
            None
        }
    }

    pub(super) unsafe fn number(_: NonNull<c_void>) -> usize {
        unreachable!("nothing is loaded here")
    }
    pub(super) unsafe fn function(_: NonNull<c_void>) -> LockFunction {
        unreachable!("nothing is loaded here")
    }
    pub(super) unsafe fn text(_: NonNull<c_void>, _: usize) -> String {
        unreachable!("nothing is loaded here")
    }
}
