//! Terminal in raw mode; restored on every exit.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ratatui::{
    DefaultTerminal, Frame,
    crossterm::event::{self, Event, KeyEvent, KeyEventKind},
};
use tokio::{sync::mpsc, task::JoinSet};

/// Input of the user.
#[derive(Debug)]
pub(super) enum Input {
    Key(KeyEvent),
    Resized,
}

/// Terminal in raw mode; dropping it restores the previous screen.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    closed: Arc<AtomicBool>,
    _reader: JoinSet<()>,
}

/// Capacity for keys that are typed ahead of a slow screen; further ones wait in the terminal.
const TYPED_AHEAD: usize = 16;

/// Interval in which the reader checks whether the screen is closed.
const CLOSING: Duration = Duration::from_millis(100);

// === impl Screen ===

impl Screen {
    /// Enters raw mode; a panic restores the terminal too.
    pub(super) fn open() -> io::Result<(Self, mpsc::Receiver<Input>)> {
        let terminal = ratatui::try_init()?;
        let closed = Arc::new(AtomicBool::new(false));
        let (input_tx, input_rx) = mpsc::channel(TYPED_AHEAD);
        let mut reader = JoinSet::new();
        let until = Arc::clone(&closed);
        reader.spawn_blocking(move || read(&input_tx, &until));
        Ok((Self { terminal, closed, _reader: reader }, input_rx))
    }

    pub(super) fn draw(&mut self, render: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(render).map(drop)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Relaxed);
        ratatui::restore();
    }
}

/// Reads until the screen or the terminal is closed.
fn read(input_tx: &mpsc::Sender<Input>, closed: &AtomicBool) {
    while !closed.load(Ordering::Relaxed) {
        let input = match event::poll(CLOSING) {
            Ok(false) => continue,
            Ok(true) => event::read(),
            Err(error) => Err(error),
        };
        let input = match input {
            Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => Input::Key(key),
            Ok(Event::Resize(..)) => Input::Resized,
            Ok(_) => continue,
            Err(_) => return,
        };
        if input_tx.blocking_send(input).is_err() {
            return;
        }
    }
}
