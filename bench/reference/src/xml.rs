//! A page as a tree whose texts stand in the page itself.

use quick_xml::{events::Event, Reader};
use std::borrow::Cow;

pub struct El<'a> {
    pub name: &'a [u8],
    pub kind: Option<&'a [u8]>,
    pub nil: bool,
    pub text: Cow<'a, str>,
    pub kids: Vec<El<'a>>,
}

fn start<'a>(e: &quick_xml::events::BytesStart<'a>) -> El<'a> {
    // The name lives as long as the page that the event borrows from.
    let raw: &'a [u8] =
        unsafe { std::slice::from_raw_parts(e.name().as_ref().as_ptr(), e.name().as_ref().len()) };
    let (mut kind, mut nil) = (None, false);
    if e.len() != raw.len() {
        for a in e.attributes().with_checks(false).flatten() {
            match a.key.as_ref() {
                b"type" => {
                    kind = Some(match a.value.as_ref() {
                        b"integer" => &b"integer"[..],
                        b"decimal" => b"decimal",
                        b"float" => b"float",
                        b"boolean" => b"boolean",
                        b"dateTime" => b"dateTime",
                        b"array" => b"array",
                        _ => b"other",
                    })
                }
                b"nil" => nil = a.value.as_ref() == b"true",
                _ => {}
            }
        }
    }
    El {
        name: raw,
        kind,
        nil,
        text: Cow::Borrowed(""),
        kids: Vec::new(),
    }
}

pub fn parse(src: &str) -> El<'_> {
    let mut r = Reader::from_str(src);
    r.config_mut().check_end_names = true;
    let mut stack: Vec<El> = vec![El {
        name: b"",
        kind: None,
        nil: false,
        text: "".into(),
        kids: vec![],
    }];
    loop {
        match r.read_event().expect("xml") {
            Event::Start(e) => stack.push(start(&e)),
            Event::Empty(e) => {
                let el = start(&e);
                stack.last_mut().unwrap().kids.push(el)
            }
            Event::End(_) => {
                let el = stack.pop().unwrap();
                stack.last_mut().unwrap().kids.push(el)
            }
            Event::Text(t) => {
                let top = stack.last_mut().unwrap();
                if top.kids.is_empty() {
                    let text = t.unescape().expect("text");
                    // The bytes live as long as src.
                    let text: Cow<str> = unsafe { std::mem::transmute(text) };
                    if top.text.is_empty() {
                        top.text = text
                    } else {
                        top.text.to_mut().push_str(&text)
                    }
                }
            }
            Event::CData(c) => {
                let s = String::from_utf8(c.into_inner().to_vec()).unwrap();
                stack.last_mut().unwrap().text.to_mut().push_str(&s)
            }
            Event::Eof => break,
            _ => {}
        }
    }
    let mut root = stack.pop().unwrap();
    root.kids.pop().expect("root")
}

pub fn json(e: &El, out: &mut String) {
    if e.nil {
        return out.push_str("null");
    }
    if e.kind == Some(b"array") {
        out.push('[');
        for (i, k) in e.kids.iter().enumerate() {
            if i > 0 {
                out.push(',')
            }
            json(k, out)
        }
        return out.push(']');
    }
    if !e.kids.is_empty() {
        out.push('{');
        for (i, k) in e.kids.iter().enumerate() {
            if i > 0 {
                out.push(',')
            }
            out.push('"');
            out.push_str(&std::str::from_utf8(k.name).unwrap().replace('-', "_"));
            out.push_str("\":");
            json(k, out)
        }
        return out.push('}');
    }
    out.push('"');
    for c in e.text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 32 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}
