//! Help for keys and columns.

use ratatui::{
    Frame,
    layout::{Constraint, Rect},
    widgets::{Clear, Paragraph},
};

use super::{Palette, frame_of};

const TEXT: &str = "\
↑ ↓ j k       move in the pane; PgUp, PgDn, Home and End too
tab           the other pane
enter         in Fleet: only changes of this account; again: of all
              in Changes: describe the object, esc closes it
/             only changes that contain a text; esc: all again
p, space      pause the changes; new ones are kept
q, ctrl-c     quit

+ ~ -         created, changed, deleted; red: failing, yellow: not ready

live          every kind is listed and watched
syncing 8/12  8 of 12 kinds are listed; the others follow
2 denied      2 more kinds are forbidden to the agent
stale         no agent caches it now: its objects may be outdated
SEEN          time since the last message of its agent";

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, palette: Palette) {
    let (width, height) = (72, 17);
    let place = area.centered(Constraint::Length(width), Constraint::Length(height));
    frame.render_widget(Clear, place);
    let block = frame_of("Help, any key closes it", true, palette);
    frame.render_widget(Paragraph::new(TEXT).block(block), place);
}
