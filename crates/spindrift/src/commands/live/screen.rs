//! The terminal: taken when the view opens, given back however it ends.

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

/// What a person does.
#[derive(Debug)]
pub(super) enum Input {
    Key(KeyEvent),
    Resized,
}

/// The terminal in its raw state; dropping it restores what was there.
pub(super) struct Screen {
    terminal: DefaultTerminal,
    closed: Arc<AtomicBool>,
    _reader: JoinSet<()>,
}

/// Keys typed ahead of a slow screen; further ones wait in the terminal.
const TYPED_AHEAD: usize = 16;

/// How soon the reader sees that the screen is closed.
const CLOSING: Duration = Duration::from_millis(100);

// === impl Screen ===

impl Screen {
    /// Takes the terminal; a panic gives it back too.
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

/// Reads until the screen is closed or the terminal is gone.
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
