//! The lists of the service, packed.

use std::borrow::Cow;
use std::io::Read;

pub struct Stream {
    pub path: &'static str,
    pub key: &'static str,
    pub include: &'static str,
    pub paged: bool,
    /// Element and table.
    pub children: &'static [(&'static str, &'static str)],
}
pub const STREAMS: [Stream; 4] = [
    Stream {
        path: "jobs",
        key: "job-number",
        include: "customer,employees,job_charges,time_entries,notes,job_type,job_status,tax_entity",
        paged: true,
        children: &[
            ("employees", "job_employees"),
            ("job-charges", "job_charges"),
            ("time-entries", "time_entries"),
            ("notes", "job_notes"),
        ],
    },
    Stream {
        path: "customers",
        key: "customer-number",
        include: "contacts,notes,tax_entity",
        paged: true,
        children: &[("notes", "customer_notes"), ("contacts", "contacts")],
    },
    Stream {
        path: "tasks",
        key: "id",
        include: "",
        paged: true,
        children: &[],
    },
    Stream {
        path: "employees",
        key: "employee-number",
        include: "",
        paged: false,
        children: &[],
    },
];

pub struct Api {
    agent: ureq::Agent,
    url: String,
    auth: String,
}
impl Api {
    pub fn new(url: String, token: &str) -> Self {
        let auth = format!("Basic {}", base64(&format!("{token}:{token}")));
        Api {
            agent: ureq::AgentBuilder::new()
                .max_idle_connections_per_host(64)
                .build(),
            url,
            auth,
        }
    }

    pub fn get(&self, s: &Stream, page: usize, buf: &mut Vec<u8>) {
        let mut q = vec![];
        if !s.include.is_empty() {
            q.push(format!("include={}", s.include))
        }
        if s.paged {
            q.push(format!("page={page}"))
        }
        let r = self
            .agent
            .get(&format!("{}/{}.xml?{}", self.url, s.path, q.join("&")))
            .set("authorization", &self.auth)
            .set("accept-encoding", "gzip");
        let a = r.call().expect("answer");
        buf.clear();
        a.into_reader().read_to_end(buf).expect("body");
    }
}
pub fn unpack(b: &[u8]) -> Cow<'_, [u8]> {
    if b.len() > 18 && b[0] == 0x1f && b[1] == 0x8b {
        let size = u32::from_le_bytes(b[b.len() - 4..].try_into().unwrap()) as usize;
        let mut out = vec![0; size];
        libdeflater::Decompressor::new()
            .gzip_decompress(b, &mut out)
            .expect("gzip");
        return Cow::Owned(out);
    }
    Cow::Borrowed(b)
}

fn base64(raw: &str) -> String {
    let set = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for c in raw.as_bytes().chunks(3) {
        let at = |i: usize| *c.get(i).unwrap_or(&0) as u32;
        let n = at(0) << 16 | at(1) << 8 | at(2);
        for i in 0..4 {
            out.push(if i <= c.len() {
                set[(n >> (18 - 6 * i) & 63) as usize] as char
            } else {
                '='
            })
        }
    }
    out
}
