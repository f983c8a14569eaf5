//! The columns of a table, as the first page has them, and its rows as lines for COPY.

use crate::xml::{json, El};
use std::collections::HashMap;

fn escape(text: &str, out: &mut Vec<u8>) {
    let b = text.as_bytes();
    let mut from = 0;
    for (i, c) in b.iter().enumerate() {
        if *c > b'\r' && *c != b'\\' {
            continue;
        }
        let r: &[u8] = match c {
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\t' => b"\\t",
            b'\r' => b"\\r",
            _ => continue,
        };
        out.extend_from_slice(&b[from..i]);
        out.extend_from_slice(r);
        from = i + 1;
    }
    out.extend_from_slice(&b[from..]);
}

#[derive(Default)]
pub struct Table {
    pub name: String,
    /// The column before those of the record.
    pub lead: Option<&'static str>,
    /// Element and type.
    pub cols: Vec<(Vec<u8>, &'static str)>,
    pub at: HashMap<Vec<u8>, usize>,
}
impl Table {
    pub fn new(name: &str, lead: Option<&'static str>) -> Self {
        Table {
            name: name.into(),
            lead,
            ..Default::default()
        }
    }
    pub fn learn(&mut self, e: &El, skip: &[&[u8]]) {
        for c in &e.kids {
            if skip.contains(&c.name) || self.at.contains_key(c.name) {
                continue;
            }
            let sql = if !c.kids.is_empty() {
                "jsonb"
            } else {
                match c.kind {
                    None => "text",
                    Some(b"integer") => "bigint",
                    Some(b"decimal") => "numeric",
                    Some(b"float") => "double precision",
                    Some(b"boolean") => "boolean",
                    Some(b"dateTime") => "timestamptz",
                    _ => "jsonb",
                }
            };
            self.at.insert(c.name.to_vec(), self.cols.len());
            self.cols.push((c.name.to_vec(), sql));
        }
    }
    pub fn names(&self) -> Vec<String> {
        self.lead
            .iter()
            .map(|l| l.to_string())
            .chain(
                self.cols
                    .iter()
                    .map(|c| String::from_utf8(c.0.clone()).unwrap().replace('-', "_")),
            )
            .map(|c| format!("\"{c}\""))
            .collect()
    }
    pub fn row(&self, lead: &str, e: &El, out: &mut Vec<u8>, scratch: &mut String) {
        if self.lead.is_some() {
            out.extend_from_slice(lead.as_bytes());
            out.push(b'\t')
        }
        let mut vals: Vec<Option<&El>> = vec![None; self.cols.len()];
        let mut guess = 0;
        for c in &e.kids {
            let at = if guess < self.cols.len() && self.cols[guess].0 == c.name {
                guess
            } else {
                match self.at.get(c.name) {
                    Some(a) => *a,
                    None => continue,
                }
            };
            vals[at] = Some(c);
            guess = at + 1;
        }
        for (i, v) in vals.iter().enumerate() {
            if i > 0 {
                out.push(b'\t')
            }
            match v {
                None => out.extend_from_slice(b"\\N"),
                Some(c) if c.nil => out.extend_from_slice(b"\\N"),
                Some(c) if !c.kids.is_empty() || c.kind == Some(b"array") => {
                    scratch.clear();
                    json(c, scratch);
                    escape(scratch, out)
                }
                Some(c) => {
                    if c.text.is_empty() && c.kind.is_some() {
                        out.extend_from_slice(b"\\N")
                    } else if self.cols[i].1 == "jsonb" {
                        scratch.clear();
                        json(c, scratch);
                        escape(scratch, out)
                    } else {
                        escape(&c.text, out)
                    }
                }
            }
        }
        out.push(b'\n');
    }
}
