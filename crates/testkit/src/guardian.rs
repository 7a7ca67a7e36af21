//! The guardian: a small shell process that outlives the test process and cleans up after it.
//!
//! It reads a pipe of which the test process holds the only lasting write end. Success, panic, Ctrl-C or
//! SIGKILL: the kernel closes the pipe, the guardian kills every guarded process and removes the scratch
//! directory. It is a shell script because a death signal (`prctl`) would need unsafe code, and would not
//! remove directories.

use std::ffi::OsStr;
use std::io::{self, PipeWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;

use anyhow::Context;
use tempfile::TempDir;

const SCRIPT: &str = include_str!("guardian/guardian.sh");

/// Announces itself on the pipe (its stdin) before it becomes the program, so that there is no moment at which
/// a killed test process leaves a child that the guardian has not registered.
///
/// SIGXFSZ is ignored, so that a write beyond [`limit_file_size`](crate::Daemon::limit_file_size) fails instead of ending it.
const ANNOUNCE: &str = r#"trap '' XFSZ; echo "guard $$" >&0; exec "$@" </dev/null"#;

static GUARDIAN: LazyLock<Guardian> =
    LazyLock::new(|| Guardian::start().expect("`sh` is in PATH and the temp directory is writable"));

struct Guardian {
    pipe: PipeWriter,
    root: PathBuf,
    _shell: Child,
}

/// Makes a directory that goes away with the value, or with the test process at the latest.
pub fn scratch(prefix: &str) -> anyhow::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&format!("{prefix}-"))
        .tempdir_in(&GUARDIAN.root)
        .with_context(|| format!("create a directory in {}", GUARDIAN.root.display()))
}

/// Starts a command line whose process, and its whole process group, dies with the test process.
pub(crate) fn command(program: impl AsRef<OsStr>) -> anyhow::Result<Command> {
    let pipe = GUARDIAN.pipe.try_clone().context("share the guardian's pipe")?;
    let mut command = Command::new("sh");
    command.args(["-c", ANNOUNCE, "guarded"]).arg(program).stdin(pipe).process_group(0);
    Ok(command)
}

/// Takes a process off the guardian's list; to be called before its id can be given to a stranger.
pub(crate) fn forget(pid: u32) {
    // Without a guardian there is nothing to remove, and this runs in destructors.
    writeln!(&GUARDIAN.pipe, "forget {pid}").ok();
}

// === impl Guardian ===

impl Guardian {
    fn start() -> io::Result<Self> {
        // Database servers run as users of their own and must be able to pass through.
        let root = tempfile::Builder::new()
            .prefix("spindrift-test-")
            .permissions(std::fs::Permissions::from_mode(0o755))
            .tempdir()?
            .keep();
        let (read, pipe) = io::pipe()?;
        let shell = Command::new("sh")
            .args(["-c", SCRIPT, "spindrift-guardian"])
            .arg(&root)
            .stdin(read)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C goes to the foreground group; the guardian has to survive it.
            .process_group(0)
            .spawn()?;
        Ok(Self { pipe, root, _shell: shell })
    }
}
