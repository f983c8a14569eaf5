//! What an engineer who wants speed alone writes in a day: quick-xml, sixteen requests at once,
//! COPY, keys after the rows, a digest of each page. It deletes on trust, keeps no history, proves
//! nothing and cannot resume. Run it again to bring the database in line.

mod api;
mod table;
mod xml;

use api::{unpack, Api, Stream, STREAMS};
use postgres::{Client, NoTls};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;
use table::Table;
use xml::parse;
use xxhash_rust::xxh3::xxh3_128;

const WIDTH: usize = 16;
const WRITERS: usize = 2;

/// Appends rows, in the text form of COPY, to a table.
fn copy(t: &mut postgres::Transaction, table: &Table, rows: &[u8]) {
    let names = table.names().join(", ");
    let text = format!("COPY mirror.{} ({names}) FROM STDIN", table.name);
    let mut w = t.copy_in(&text).unwrap();
    w.write_all(rows).unwrap();
    w.finish().unwrap();
}

fn main() {
    let env = |n: &str| std::env::var(n).unwrap_or_default();
    let t0 = std::time::Instant::now();
    let api = Arc::new(Api::new(
        env("FIELDMIRROR_API_URL"),
        &env("FIELDMIRROR_API_TOKEN"),
    ));
    let database = env("DATABASE_URL");
    let mut db = Client::connect(&database, NoTls).expect("postgres");
    db.batch_execute(
        "SET client_min_messages = error; CREATE SCHEMA IF NOT EXISTS mirror;
         CREATE TABLE IF NOT EXISTS mirror.pages
         (stream int, page int, hash text, keys bigint[], PRIMARY KEY (stream, page))",
    )
    .unwrap();
    let mut old: HashMap<(usize, usize), (u128, Vec<i64>)> = HashMap::new();
    for r in db
        .query("SELECT stream, page, hash, keys FROM mirror.pages", &[])
        .unwrap()
    {
        old.insert(
            (r.get::<_, i32>(0) as usize, r.get::<_, i32>(1) as usize),
            (u128::from_str_radix(r.get(2), 16).unwrap(), r.get(3)),
        );
    }
    let first = old.is_empty();
    let old = Arc::new(old);
    // Layouts from the first page of each stream.
    let mut layouts: Vec<Vec<Table>> = vec![];
    for s in &STREAMS {
        let mut b = vec![];
        api.get(s, 1, &mut b);
        let u = unpack(&b);
        let root = parse(std::str::from_utf8(&u).unwrap());
        let skip: Vec<&[u8]> = s
            .children
            .iter()
            .map(|c| c.0.as_bytes())
            .chain([&b"children"[..], b"customer"])
            .collect();
        let mut list = vec![Table::new(
            s.path,
            if s.path == "jobs" {
                Some("customer_number")
            } else {
                None
            },
        )];
        for item in &root.kids {
            list[0].learn(item, &skip)
        }
        for (name, table) in s.children {
            let mut t = Table::new(
                table,
                Some(if *table == "job_employees" {
                    "job_number"
                } else {
                    "parent_number"
                }),
            );
            if *table == "job_employees" {
                t.at.insert(b"employee-id".to_vec(), 0);
                t.cols.push((b"employee-id".to_vec(), "bigint"))
            } else {
                for item in &root.kids {
                    for l in item.kids.iter().filter(|k| k.name == name.as_bytes()) {
                        for c in &l.kids {
                            t.learn(c, &[])
                        }
                    }
                }
            }
            list.push(t);
        }
        layouts.push(list);
    }
    let key_of = |s: &Stream, t: &Table| {
        if t.name == s.path {
            s.key.replace('-', "_")
        } else if t.name == "job_employees" {
            "job_number, employee_id".into()
        } else {
            "id".into()
        }
    };
    if first {
        for l in &layouts {
            for t in l {
                let mut d: Vec<String> = t.lead.iter().map(|l| format!("\"{l}\" bigint")).collect();
                d.extend(t.cols.iter().map(|c| {
                    format!(
                        "\"{}\" {}",
                        String::from_utf8(c.0.clone()).unwrap().replace('-', "_"),
                        c.1
                    )
                }));
                db.batch_execute(&format!(
                    "CREATE TABLE mirror.{} ({})",
                    t.name,
                    d.join(", ")
                ))
                .unwrap();
            }
        }
    }
    let layouts = Arc::new(layouts);
    let state = Arc::new(Mutex::new((0usize, 0usize, [usize::MAX; 4])));
    type Out = (usize, usize, Option<(u128, Vec<i64>, Vec<Vec<u8>>)>);
    let (tx, rx) = mpsc::sync_channel::<Out>(64);
    let mut threads = vec![];
    for _ in 0..WIDTH {
        let (api, state, tx, layouts, old) = (
            api.clone(),
            state.clone(),
            tx.clone(),
            layouts.clone(),
            old.clone(),
        );
        threads.push(thread::spawn(move || {
            let (mut buf, mut scratch) = (Vec::with_capacity(1 << 20), String::new());
            loop {
                let (si, page) = {
                    let mut g = state.lock().unwrap();
                    loop {
                        if g.0 == 4 {
                            return;
                        }
                        let s = &STREAMS[g.0];
                        let end = if s.paged { g.2[g.0] } else { 2 };
                        if g.1 + 1 >= end {
                            g.0 += 1;
                            g.1 = 0;
                            continue;
                        }
                        g.1 += 1;
                        break (g.0, g.1);
                    }
                };
                let s = &STREAMS[si];
                api.get(s, page, &mut buf);
                let h = xxh3_128(&buf);
                if let Some((was, _)) = old.get(&(si, page)) {
                    if *was == h {
                        tx.send((si, page, None)).unwrap();
                        continue;
                    }
                }
                let u = unpack(&buf);
                let root = parse(std::str::from_utf8(&u).expect("utf-8"));
                if root.kids.is_empty() {
                    let mut g = state.lock().unwrap();
                    if page < g.2[si] {
                        g.2[si] = page
                    }
                    continue;
                }
                let l = &layouts[si];
                let mut outs: Vec<Vec<u8>> =
                    l.iter().map(|_| Vec::with_capacity(1 << 16)).collect();
                let mut keys = vec![];
                for item in &root.kids {
                    let key = item
                        .kids
                        .iter()
                        .find(|k| k.name == s.key.as_bytes())
                        .expect("key")
                        .text
                        .clone();
                    let lead = if si == 0 {
                        item.kids
                            .iter()
                            .find(|k| k.name == b"customer")
                            .and_then(|c| c.kids.iter().find(|k| k.name == b"customer-number"))
                            .map(|k| k.text.as_ref())
                            .unwrap_or("\\N")
                    } else {
                        ""
                    };
                    l[0].row(lead, item, &mut outs[0], &mut scratch);
                    for (n, (name, table)) in s.children.iter().enumerate() {
                        if let Some(list) = item.kids.iter().find(|k| k.name == name.as_bytes()) {
                            for c in &list.kids {
                                if *table == "job_employees" {
                                    let id = &c.kids.iter().find(|k| k.name == b"id").unwrap().text;
                                    outs[n + 1]
                                        .extend_from_slice(format!("{key}\t{id}\n").as_bytes());
                                } else {
                                    l[n + 1].row(&key, c, &mut outs[n + 1], &mut scratch)
                                }
                            }
                        }
                    }
                    keys.push(key.parse().unwrap());
                }
                tx.send((si, page, Some((h, keys, outs)))).unwrap();
            }
        }));
    }
    drop(tx);
    // Each table belongs to one connection; what has gathered for a table goes in one COPY.
    let mut done_writers = vec![];
    let mut to: Vec<mpsc::SyncSender<(usize, usize, Vec<u8>)>> = vec![];
    if first {
        for _ in 0..WRITERS {
            let (wtx, wrx) = mpsc::sync_channel::<(usize, usize, Vec<u8>)>(256);
            to.push(wtx);
            let (layouts, database) = (layouts.clone(), database.clone());
            done_writers.push(thread::spawn(move || {
                let mut c = Client::connect(&database, NoTls).unwrap();
                let mut t = c.transaction().unwrap();
                let mut held: HashMap<(usize, usize), Vec<u8>> = HashMap::new();
                for (s, n, b) in wrx {
                    let h = held.entry((s, n)).or_default();
                    h.extend_from_slice(&b);
                    if h.len() > 4 << 20 {
                        copy(&mut t, &layouts[s][n], h);
                        h.clear()
                    }
                }
                for ((s, n), b) in &held {
                    if !b.is_empty() {
                        copy(&mut t, &layouts[*s][*n], b)
                    }
                }
                t.commit().unwrap();
                c
            }));
        }
    }
    let mut pages: Vec<(usize, usize, u128, Vec<i64>)> = vec![];
    let mut seen: [HashSet<i64>; 4] = Default::default();
    let mut changed: Vec<(usize, Vec<i64>, Vec<Vec<u8>>)> = vec![];
    let mut same: HashSet<(usize, usize)> = HashSet::new();
    for (si, page, what) in rx {
        match what {
            None => {
                seen[si].extend(&old[&(si, page)].1);
                same.insert((si, page));
            }
            Some((h, keys, outs)) => {
                seen[si].extend(&keys);
                if first {
                    for (n, b) in outs.into_iter().enumerate() {
                        if !b.is_empty() {
                            let w = if si == 0 && n == 0 { 0 } else { WRITERS - 1 };
                            to[w].send((si, n, b)).unwrap()
                        }
                    }
                } else {
                    changed.push((si, keys.clone(), outs))
                }
                pages.push((si, page, h, keys));
            }
        }
    }
    for t in threads {
        t.join().unwrap()
    }
    drop(to);
    if first {
        let clients: Vec<Client> = done_writers
            .into_iter()
            .map(|w| w.join().unwrap())
            .collect();
        // The keys of the tables, each connection its own.
        thread::scope(|scope| {
            for (w, mut c) in clients.into_iter().enumerate() {
                let layouts = &layouts;
                let key_of = &key_of;
                scope.spawn(move || {
                    for (si, l) in layouts.iter().enumerate() {
                        for (n, t) in l.iter().enumerate() {
                            let mine = if si == 0 && n == 0 { 0 } else { WRITERS - 1 };
                            if mine == w {
                                c.batch_execute(&format!(
                                    "ALTER TABLE mirror.{} ADD PRIMARY KEY ({})",
                                    t.name,
                                    key_of(&STREAMS[si], t)
                                ))
                                .unwrap()
                            }
                        }
                    }
                });
            }
        });
    }
    let mut t = db.transaction().unwrap();
    let mut touched = !pages.is_empty();
    if !first {
        for (si, keys, _) in &changed {
            for (n, table) in layouts[*si].iter().enumerate() {
                let col = if n == 0 {
                    STREAMS[*si].key.replace('-', "_")
                } else {
                    table.lead.unwrap().into()
                };
                t.execute(
                    &format!("DELETE FROM mirror.{} WHERE {} = ANY ($1)", table.name, col),
                    &[keys],
                )
                .unwrap();
            }
        }
        for (si, stream) in STREAMS.iter().enumerate() {
            let before: HashSet<i64> = old
                .iter()
                .filter(|(k, _)| k.0 == si)
                .flat_map(|(_, v)| v.1.iter().copied())
                .collect();
            let gone: Vec<i64> = before.difference(&seen[si]).copied().collect();
            if !gone.is_empty() {
                touched = true;
                for (n, table) in layouts[si].iter().enumerate() {
                    let col = if n == 0 {
                        stream.key.replace('-', "_")
                    } else {
                        table.lead.unwrap().into()
                    };
                    t.execute(
                        &format!("DELETE FROM mirror.{} WHERE {} = ANY ($1)", table.name, col),
                        &[&gone],
                    )
                    .unwrap();
                }
            }
        }
        for (si, _, outs) in &changed {
            for (n, b) in outs.iter().enumerate() {
                if !b.is_empty() {
                    copy(&mut t, &layouts[*si][n], b);
                }
            }
        }
    }
    if touched {
        let stale: Vec<_> = old.keys().filter(|k| !same.contains(k)).collect();
        for k in stale {
            t.execute(
                "DELETE FROM mirror.pages WHERE stream = $1 AND page = $2",
                &[&(k.0 as i32), &(k.1 as i32)],
            )
            .unwrap();
        }
        let mut w = t.copy_in("COPY mirror.pages FROM STDIN").unwrap();
        for (s, p, h, keys) in &pages {
            writeln!(
                w,
                "{s}\t{p}\t{h:x}\t{{{}}}",
                keys.iter()
                    .map(|k| k.to_string())
                    .collect::<Vec<_>>()
                    .join(",")
            )
            .unwrap()
        }
        w.finish().unwrap();
    }
    t.commit().unwrap();
    println!(
        "{{\"seconds\": {:.3}, \"pages\": {}, \"same\": {}, \"first\": {first}}}",
        t0.elapsed().as_secs_f64(),
        pages.len(),
        same.len()
    );
}
