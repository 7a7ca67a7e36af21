//! Where lines go.

use std::io::{self, Write};

use tracing_subscriber::fmt::MakeWriter;

use super::rotation::RotatingFile;
use super::{LoggingConfig, LoggingError};

/// Standard output, a file, or both.
#[derive(Debug)]
pub(super) struct Output {
    stdout: bool,
    file: Option<RotatingFile>,
}

// === impl Output ===

impl Output {
    pub(super) fn open(config: &LoggingConfig) -> Result<Self, LoggingError> {
        let file =
            config.file.as_ref().map(|path| RotatingFile::open(path, config.rotation())).transpose()?;
        Ok(Self { stdout: file.is_none() || config.multi_write, file })
    }
}

impl<'o> MakeWriter<'o> for Output {
    type Writer = &'o Self;

    fn make_writer(&'o self) -> &'o Self {
        self
    }
}

impl Write for &Output {
    /// Takes one whole line, since that is how the subscriber writes.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Some(file) = &self.file {
            file.append(line)?;
        }
        if self.stdout {
            io::stdout().lock().write_all(line)?;
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.stdout { io::stdout().lock().flush() } else { Ok(()) }
    }
}
