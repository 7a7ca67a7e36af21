//! Notifications of the operating system that something happened in a directory.

use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::path::Path;

use nix::errno::Errno;
use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use tokio::io::unix::AsyncFd;

/// Directories that are listened to. Not the files: kubelet replaces those of a ConfigMap by swapping the symlink
/// `..data` beside them, and editors by renaming another file over them.
#[derive(Debug)]
pub(super) struct Hints(AsyncFd<Descriptor>);

#[derive(Debug)]
struct Descriptor(Inotify);

// === impl Hints ===

impl Hints {
    #[expect(
        deprecated,
        reason = "sound for a descriptor that is owned and never replaced; what came after it is unsafe"
    )]
    pub(super) fn new() -> io::Result<Self> {
        let inotify = Inotify::init(InitFlags::IN_NONBLOCK | InitFlags::IN_CLOEXEC)?;
        AsyncFd::new(Descriptor(inotify)).map(Self)
    }

    /// Listens to a directory, if it is there.
    pub(super) fn watch(&self, directory: &Path) {
        use AddWatchFlags as On;
        // Except opening and reading, which this process does itself.
        let changes =
            On::IN_CLOSE_WRITE | On::IN_MODIFY | On::IN_ATTRIB | On::IN_CREATE | On::IN_DELETE | On::IN_MOVE;
        let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
        // One that is missing, or may not be read, is found by the poll when it is there.
        self.0.get_ref().0.add_watch(directory, changes | On::IN_ONLYDIR).ok();
    }

    /// Waits until something has happened.
    pub(super) async fn next(&self) {
        loop {
            let Ok(mut ready) = self.0.readable().await else { return std::future::pending().await };
            match ready.get_inner().0.read_events() {
                Ok(_) => return,
                Err(Errno::EAGAIN) => ready.clear_ready(),
                Err(_) => return std::future::pending().await,
            }
        }
    }
}

// === impl Descriptor ===

impl AsRawFd for Descriptor {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_fd().as_raw_fd()
    }
}
