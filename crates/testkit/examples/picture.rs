//! Draws a terminal as SVG: `tmux capture-pane -e -p | picture TITLE > terminal.svg` (`scripts/picture` does it all).
//!
//! Only the standard library, so that the script can build it by rustc alone.

use std::{
    fmt::Write as _,
    io::{Read, stdin},
};

/// The width of a character and the height of a line, in pixels, of the font below.
const CELL: (usize, usize) = (8, 18);
const MARGIN: usize = 16;
const TITLE_BAR: usize = 34;
const BACKGROUND: &str = "#11151c";
const FOREGROUND: &str = "#d5dae3";
/// The sixteen colours that programs name.
const PALETTE: [&str; 16] = [
    "#2b303b", "#f07178", "#a5d67a", "#ffcb6b", "#6cb6ff", "#c792ea", "#5fd7d7", "#c8d0de", "#5c6773",
    "#ff8b92", "#bbe491", "#ffd98c", "#8cc8ff", "#d9a8f5", "#86e8e8", "#ffffff",
];

/// Style of the characters from here on.
#[derive(Debug, Clone, Default, PartialEq)]
struct Style {
    foreground: Option<String>,
    background: Option<String>,
    bold: bool,
    dim: bool,
    reversed: bool,
}

/// Characters of one look.
#[derive(Debug)]
struct Run {
    column: usize,
    text: String,
    style: Style,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let title = std::env::args().nth(1).unwrap_or_default();
    let mut text = String::new();
    stdin().read_to_string(&mut text)?;
    let mut style = Style::default();
    let lines: Vec<_> = text.trim_end().lines().map(|line| runs(line, &mut style)).collect();
    println!("{}", draw(&title, &lines)?);
    Ok(())
}

/// Cuts a line where its look changes; the look goes on in the next line.
fn runs(line: &str, style: &mut Style) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let (mut column, mut rest) = (0, line);
    while let Some(character) = rest.chars().next() {
        if let Some(sequence) = rest.strip_prefix("\x1b[") {
            let end = sequence.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(sequence.len());
            let (codes, after) = sequence.split_at(end);
            if after.starts_with('m') {
                style.apply(codes);
            }
            rest = after.get(1..).unwrap_or_default();
            continue;
        }
        match runs.last_mut() {
            Some(run) if run.style == *style => run.text.push(character),
            _ => runs.push(Run { column, text: character.into(), style: style.clone() }),
        }
        column += 1;
        rest = &rest[character.len_utf8()..];
    }
    runs
}

fn draw(title: &str, lines: &[Vec<Run>]) -> Result<String, std::fmt::Error> {
    let ends = lines.iter().flatten().map(|run| run.column + run.text.chars().count());
    let width = ends.max().unwrap_or_default().max(60) * CELL.0 + 2 * MARGIN;
    let height = lines.len() * CELL.1 + TITLE_BAR + MARGIN;
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="13">
<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>
<circle cx="18" cy="17" r="5" fill="#f07178"/><circle cx="36" cy="17" r="5" fill="#ffcb6b"/><circle cx="54" cy="17" r="5" fill="#a5d67a"/>
<text x="50%" y="22" text-anchor="middle" fill="#8a93a3">{}</text>
"##,
        escape(title)
    );
    for (row, line) in lines.iter().enumerate() {
        let top = TITLE_BAR + row * CELL.1;
        for run in line {
            run.draw(&mut svg, top)?;
        }
    }
    svg.push_str("</svg>");
    Ok(svg)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

// === impl Run ===

impl Run {
    fn draw(&self, svg: &mut String, top: usize) -> std::fmt::Result {
        let Self { column, text, style } = self;
        let left = MARGIN + column * CELL.0;
        let width = text.chars().count() * CELL.0;
        let (mut ink, mut paper) =
            (style.foreground.as_deref().unwrap_or(FOREGROUND), style.background.as_deref());
        if style.reversed {
            (ink, paper) = (paper.unwrap_or(BACKGROUND), Some(ink));
        }
        if let Some(paper) = paper {
            writeln!(
                svg,
                r#"<rect x="{left}" y="{top}" width="{width}" height="{}" fill="{paper}"/>"#,
                CELL.1
            )?;
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        let weight = if style.bold { r#" font-weight="bold""# } else { "" };
        let opacity = if style.dim { r#" opacity="0.6""# } else { "" };
        let baseline = top + CELL.1 * 3 / 4;
        // The length is fixed, so that columns are aligned whatever font the reader has.
        writeln!(
            svg,
            r#"<text x="{left}" y="{baseline}" textLength="{width}" fill="{ink}"{weight}{opacity} xml:space="preserve">{}</text>"#,
            escape(text)
        )
    }
}

// === impl Style ===

impl Style {
    /// Takes the parameters of `ESC [ … m`.
    fn apply(&mut self, codes: &str) {
        let mut codes = codes.split([';', ':']).map(|code| code.parse().unwrap_or(0u16));
        while let Some(code) = codes.next() {
            match code {
                0 => *self = Self::default(),
                1 => self.bold = true,
                2 => self.dim = true,
                7 => self.reversed = true,
                22 => (self.bold, self.dim) = (false, false),
                27 => self.reversed = false,
                30..=37 => self.foreground = named(code - 30),
                90..=97 => self.foreground = named(code - 90 + 8),
                40..=47 => self.background = named(code - 40),
                100..=107 => self.background = named(code - 100 + 8),
                38 => self.foreground = extended(&mut codes),
                48 => self.background = extended(&mut codes),
                39 => self.foreground = None,
                49 => self.background = None,
                _ => {}
            }
        }
    }
}

fn named(index: u16) -> Option<String> {
    PALETTE.get(usize::from(index)).map(|&colour| colour.to_owned())
}

/// `5;n`, a colour of the 256, or `2;r;g;b`.
fn extended(codes: &mut impl Iterator<Item = u16>) -> Option<String> {
    match codes.next()? {
        2 => Some(format!("#{:02x}{:02x}{:02x}", codes.next()?, codes.next()?, codes.next()?)),
        5 => match codes.next()? {
            index @ 0..=15 => named(index),
            index @ 16..=231 => {
                let level = |part: u16| if part == 0 { 0 } else { 55 + 40 * part };
                let (red, green, blue) = ((index - 16) / 36, (index - 16) / 6 % 6, (index - 16) % 6);
                Some(format!("#{:02x}{:02x}{:02x}", level(red), level(green), level(blue)))
            }
            index => Some(format!("#{0:02x}{0:02x}{0:02x}", 8 + 10 * (index.min(255) - 232))),
        },
        _ => None,
    }
}
