// The search of a page. It runs in a browser, from a disk as well: the index comes as a script, because a page from a disk may
// not fetch a file. It is loaded when a person begins to search.

import MiniSearch from 'minisearch';
import {searchOptions} from './search-options.ts';

const mostFound = 12;
const around = 70;
const {root} = document.currentScript.dataset;
const form = document.querySelector('form.search');
const input = form.querySelector('input');
const found = document.querySelector('#found');
let index = null;

form.hidden = false;
form.addEventListener('submit', (event) => {
  event.preventDefault();
  found.querySelector('a')?.click();
});
input.addEventListener('focus', load, {once: true});
input.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') close();
  if (event.key === '/' && event.target.closest('input') === null) {
    event.preventDefault();
    input.focus();
  }
});

function load() {
  const script = document.createElement('script');
  script.src = `${root}/search-index.js`;
  script.addEventListener('load', () => {
    index = MiniSearch.loadJS(globalThis.fieldmirrorIndex, searchOptions);
    show();
  });
  document.head.append(script);
}

function close() {
  input.value = '';
  show();
}

function show() {
  const asked = input.value.trim();
  found.hidden = asked === '' || index === null;
  if (found.hidden) return;
  const hits = index.search(asked);
  const count = hits.length === 0 ? 'Nothing is found' : `${hits.length} found`;
  found.replaceChildren(
    make('p', 'quiet', `${count} for “${asked}”`),
    drawHits(hits.slice(0, mostFound)),
  );
}

function drawHits(hits) {
  const list = make('ol', 'list', '');
  for (const {id, title, page, text, terms} of hits) {
    const item = document.createElement('li');
    const link = make('a', '', title === page ? title : `${page}: ${title}`);
    link.href = `${root}/${id}`;
    // A link to this very page loads nothing: the results would stay in the way.
    link.addEventListener('click', close);
    item.append(link, make('small', 'quiet', cut(text, terms)));
    list.append(item);
  }
  return list;
}

/** The text around the first word that was found in it. */
function cut(text, terms) {
  const lower = text.toLowerCase();
  const at = Math.min(
    ...terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0),
    lower.length,
  );
  const from = at === lower.length ? 0 : Math.max(0, at - around);
  const end = Math.min(text.length, from + 3 * around);
  return `${from > 0 ? '…' : ''}${text.slice(from, end)}${end < text.length ? '…' : ''}`;
}

function make(name, className, text) {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}
